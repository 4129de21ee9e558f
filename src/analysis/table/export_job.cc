#include "table/export_job.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/spans.h"
#include "base/text.h"
#include "read/open_dump.h"
#include "table/job_dumps.h"
#include "table/job_ops.h"
#include "table/op_tables.h"
#include "table/record_columns.h"

namespace tensortap {
namespace {

constexpr int64_t kStepsOfFile = 1000;
constexpr size_t kMostProblems = 1000;

// The folder that becomes the target; gone again unless it did.
class StagedFolder {
 public:
  static Result<StagedFolder> make(const std::string& target) {
    const std::string whole = target.ends_with('/') && target.size() > 1 ? target.substr(0, target.size() - 1) : target;
    if (path_exists(whole)) {
      const auto names = list_directory(whole);
      if (!names.ok() || !names->empty()) {
        return invalid_argument(concat(whole, ": there already; give a folder that does not exist, or an empty one"));
      }
    }
    StagedFolder folder(whole, concat(whole, ".partial-", ::getpid()));
    TENSORTAP_RETURN_IF_ERROR(make_directories(folder.path()));
    return folder;
  }
  StagedFolder(StagedFolder&& other) noexcept : target_(std::move(other.target_)), path_(std::exchange(other.path_, "")) {}
  StagedFolder& operator=(StagedFolder&&) = delete;
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;
  ~StagedFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  // A failure, with the name that people know the folder by.
  [[nodiscard]] Status named(const Status& failure) const {
    std::string message = failure.message();
    const size_t place = message.find(path_);
    if (failure.ok() || place == std::string::npos) return failure;
    message.replace(place, path_.size(), target_);
    return Status(failure.code(), std::move(message)).with_system_error(failure.system_error());
  }
  Status settle() {
    if (::rename(path_.c_str(), target_.c_str()) != 0) return errno_status(target_, errno);
    path_.clear();
    return {};
  }

 private:
  StagedFolder(std::string target, std::string path) : target_(std::move(target)), path_(std::move(path)) {}
  std::string target_;
  std::string path_;
};

struct OrderedRow {
  int32_t rank;
  uint32_t job_op;  // UINT32_MAX for none
  int64_t step;
  uint32_t row;
  [[nodiscard]] auto key() const { return std::tuple(rank, step, job_op, row); }
};

std::vector<OrderedRow> ordered_rows(const DumpIndex& dump, const RowFilter& filter, std::span<const uint32_t> job_ops) {
  std::vector<OrderedRow> rows;
  const std::span<const RecordRow> all = dump.rows();
  rows.reserve(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    const RecordRow& row = all[i];
    if (!filter.keeps(row)) continue;
    const uint32_t job_op = row.op < job_ops.size() ? job_ops[row.op] : kNoOp;
    rows.push_back({row.rank, job_op, row.step, static_cast<uint32_t>(i)});
  }
  std::ranges::sort(rows, {}, &OrderedRow::key);
  return rows;
}

// The steps of a file; the first and the last one end where numbers do.
int64_t first_step_of_file(int64_t step) {
  const int64_t rest = step % kStepsOfFile;
  const int64_t behind = rest < 0 ? rest + kStepsOfFile : rest;
  return step < std::numeric_limits<int64_t>::min() + behind ? std::numeric_limits<int64_t>::min() : step - behind;
}

int64_t last_step_of_file(int64_t first) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  return first > most - kStepsOfFile ? most : first + kStepsOfFile - 1;
}

std::string six_digits(int64_t number) {
  const std::string digits = to_text(number < 0 ? 0 - static_cast<uint64_t>(number) : static_cast<uint64_t>(number));
  return concat(number < 0 ? "-" : "", std::string(digits.size() < 6 ? 6 - digits.size() : 0, '0'), digits);
}

class Export {
 public:
  Export(const ExportRequest& request, const ExportProgress& progress, std::string folder)
      : request_(request), progress_(progress), folder_(std::move(folder)) {}

  Status run() {
    TENSORTAP_ASSIGN_OR_RETURN(dumps_, find_job_dumps(request_.sources));
    read_ops();
    if (report_.dumps == 0) return corrupt(concat(report_.failed.front().dump, ": ", report_.failed.front().reason));
    sources_ = Json::array();
    for (const JobDump& dump : dumps_) TENSORTAP_RETURN_IF_ERROR(write_dump(dump));
    TENSORTAP_RETURN_IF_ERROR(write_table(join_path(folder_, file_name("job_ops")), job_op_specs(), job_op_columns(job_ops_.ops())));
    report_.job_ops = job_ops_.ops().size();
    const int64_t most = report_.ranks.empty() ? 0 : std::min<int64_t>(report_.ranks.back(), int64_t{1} << 20);
    for (int64_t rank = 0; rank < most; ++rank) {
      if (!std::ranges::binary_search(report_.ranks, rank)) report_.missing_ranks.push_back(rank);
    }
    return write_file_atomically(join_path(folder_, "_tensortap.json"), to_json_text(description(), 1) + "\n");
  }
  ExportReport take_report() { return std::move(report_); }

 private:
  // Numbers the ops of all dumps. Those that cannot be read are left out from here on.
  void read_ops() {
    std::erase_if(dumps_, [this](const JobDump& place) {
      const auto dump = open_dump(place.path);
      if (!dump.ok()) {
        report_.failed.push_back({place.path, dump.status().message()});
        return true;
      }
      for (const std::string& problem : (*dump)->problems()) {
        if (report_.problems.size() < kMostProblems) report_.problems.push_back(problem);
      }
      report_.states.push_back({place.path, (*dump)->completeness()});
      job_ops_.add((*dump)->ops());
      total_ += (*dump)->rows().size();
      ++report_.dumps;
      return false;
    });
    job_ops_.finish();
  }

  Status write_dump(const JobDump& place) {
    TENSORTAP_ASSIGN_OR_RETURN(const auto dump, open_dump(place.path));
    const std::span<const uint32_t> job_ops = job_ops_.numbers(next_++);
    if (dump->ops().size() != job_ops.size()) return corrupt(concat(place.path, ": changed while it was exported"));
    const auto filter = RowFilter::make(request_.query, *dump);
    if (!filter.ok()) return filter.status().with_context("selection");
    note_unmatched(*dump);
    const std::vector<OrderedRow> rows = ordered_rows(*dump, *filter, job_ops);
    const std::vector<RecordColumn> columns = export_columns(job_ops, place.path);
    std::set<int64_t> ranks;
    for (size_t first = 0; first < rows.size();) {
      const int64_t steps = first_step_of_file(rows[first].step);
      size_t last = first + 1;
      while (last < rows.size() && rows[last].rank == rows[first].rank && first_step_of_file(rows[last].step) == steps) ++last;
      ranks.insert(rows[first].rank);
      TENSORTAP_RETURN_IF_ERROR(write_records(*dump, columns, part_of(std::span(rows), first, last - first).value()));
      first = last;
    }
    if (ranks.empty()) ranks.insert(rank_of(place, *dump));
    for (const int64_t rank : ranks) {
      const std::string folder = join_path(folder_, concat("ops/rank=", rank));
      TENSORTAP_RETURN_IF_ERROR(make_directories(folder));
      TENSORTAP_RETURN_IF_ERROR(
          write_table(join_path(folder, file_name(concat("ops", part_mark(rank)))), op_specs(), op_columns(*dump, job_ops, place.path)));
    }
    for (const int64_t rank : ranks) {
      if (parts_[rank]++ == 0) report_.ranks.insert(std::ranges::upper_bound(report_.ranks, rank), rank);
    }
    add_source(place, *dump, rows, ranks);
    return {};
  }

  void note_unmatched(const DumpIndex& dump) {
    const DumpIndex* const dumps[] = {&dump};
    std::vector<std::string> unmatched = unmatched_names(dumps, request_.query);
    report_.chooses |= unmatched.empty();
    if (report_.unmatched.empty()) report_.unmatched = std::move(unmatched);
  }

  // The records of one rank and of the steps of one file.
  Status write_records(const DumpIndex& dump, std::span<const RecordColumn> columns, std::span<const OrderedRow> rows) {
    const int64_t rank = rows.front().rank;
    const int64_t first = first_step_of_file(rows.front().step);
    const std::string folder = join_path(folder_, concat("records/rank=", rank));
    TENSORTAP_RETURN_IF_ERROR(make_directories(folder));
    const std::string steps = concat("steps=", six_digits(first), "-", six_digits(last_step_of_file(first)), part_mark(rank));
    std::vector<ColumnSpec> specs;
    for (const RecordColumn& column : columns) specs.push_back(column.spec);
    TENSORTAP_ASSIGN_OR_RETURN(const auto file,
                               TableFile::create(request_.form, join_path(folder, file_name(steps)), std::move(specs), kSortedBy));
    for (size_t done = 0; done < rows.size(); done += request_.group_rows) {
      std::vector<uint32_t> numbers;
      for (const OrderedRow& row : first_of(after(rows, done), request_.group_rows)) numbers.push_back(row.row);
      TENSORTAP_RETURN_IF_ERROR(file->add(make_columns(columns, {dump, numbers})));
      report_.records += numbers.size();
      if (progress_) progress_(report_.records, total_);
    }
    return finish(*file);
  }

  Status write_table(const std::string& path, std::vector<ColumnSpec> specs, std::vector<Column> columns) {
    TENSORTAP_ASSIGN_OR_RETURN(const auto file, TableFile::create(request_.form, path, std::move(specs), 1));
    TENSORTAP_RETURN_IF_ERROR(file->add(std::move(columns)));
    return finish(*file);
  }

  Status finish(TableFile& file) {
    TENSORTAP_RETURN_IF_ERROR(file.finish());
    ++report_.files;
    report_.bytes += file.bytes();
    return {};
  }

  [[nodiscard]] std::string file_name(std::string_view name) const { return concat(name, ".", form_name(request_.form)); }
  // Distinguishes the files of several dumps of one rank.
  [[nodiscard]] std::string part_mark(int64_t rank) const {
    const auto found = parts_.find(rank);
    return found == parts_.end() ? "" : concat("-", found->second + 1);
  }

  void add_source(const JobDump& place, const DumpIndex& dump, std::span<const OrderedRow> rows, const std::set<int64_t>& ranks) {
    Json steps = nullptr;
    if (!rows.empty()) {
      const auto [least, most] = std::ranges::minmax(rows, {}, &OrderedRow::step);
      steps = Json::array({least.step, most.step});
    }
    sources_.push_back({{"dump", place.path},
                        {"layout", std::string(dump.layout())},
                        {"ranks", ranks},
                        {"records", rows.size()},
                        {"ops", dump.ops().size()},
                        {"steps", std::move(steps)}});
  }

  [[nodiscard]] Json description() const {
    Json failed = Json::array();
    for (const ExportFailure& failure : report_.failed) failed.push_back({{"dump", failure.dump}, {"reason", failure.reason}});
    return {{"version", 1},
            {"tensortap", TENSORTAP_VERSION},
            {"form", std::string(form_name(request_.form))},
            {"records", report_.records},
            {"ranks", report_.ranks},
            {"missing_ranks", report_.missing_ranks},
            {"dumps", sources_},
            {"problems", report_.problems},
            {"failed", std::move(failed)}};
  }

  static constexpr size_t kSortedBy = 2;  // step, job_op
  const ExportRequest& request_;
  const ExportProgress& progress_;
  std::string folder_;
  std::vector<JobDump> dumps_;
  JobOps job_ops_;
  size_t next_ = 0;
  uint64_t total_ = 0;                 // records of all dumps
  std::map<int64_t, uint64_t> parts_;  // dumps that a rank has had
  Json sources_;
  ExportReport report_;
};

}  // namespace

Result<ExportReport> export_job(const ExportRequest& request, const ExportProgress& progress) {
  if (auto dumps = find_job_dumps(request.sources); !dumps.ok()) return dumps.status();
  TENSORTAP_ASSIGN_OR_RETURN(StagedFolder folder, StagedFolder::make(request.target));
  Export work(request, progress, folder.path());
  TENSORTAP_RETURN_IF_ERROR(folder.named(work.run()));
  TENSORTAP_RETURN_IF_ERROR(folder.settle());
  return work.take_report();
}

}  // namespace tensortap
