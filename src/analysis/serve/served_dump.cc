#include "serve/served_dump.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "find/find_report.h"
#include "read/open_dump.h"

namespace tensortap {
namespace {

constexpr size_t kFindLimit = 10;         // as `find` has it
constexpr size_t kMostWatchedFiles = 64;  // of trees with a file for each tensor, the first

}  // namespace

ServedDump::ServedDump(std::string path, std::string folder, std::unique_ptr<DumpIndex> index)
    : path_(std::move(path)), folder_(std::move(folder)), index_(std::move(index)), files_(look()) {
  manifest_ = manifest_json(*index_);
}

Result<std::shared_ptr<const ServedDump>> ServedDump::open(const std::string& path, bool is_live, const SourceFiles& sources) {
  TENSORTAP_ASSIGN_OR_RETURN(auto index, open_dump(path));
  return opened(path, std::move(index), is_live, sources);
}

std::shared_ptr<const ServedDump> ServedDump::opened(const std::string& path, std::unique_ptr<DumpIndex> index, bool is_live,
                                                     const SourceFiles& sources) {
  const auto found = locate_dump(path);
  std::shared_ptr<ServedDump> dump(new ServedDump(path, found.ok() ? found->folder : path, std::move(index)));
  dump->is_live_ = is_live;
  dump->sources_ = sources;
  return dump;
}

std::shared_ptr<const ServedDump> ServedDump::of(std::string name, std::unique_ptr<DumpIndex> index) {
  return std::shared_ptr<const ServedDump>(new ServedDump(std::move(name), "", std::move(index)));
}

std::vector<ServedDump::FileState> ServedDump::look() const {
  std::vector<FileState> states;
  if (folder_.empty()) return states;
  std::vector<std::string> paths = {folder_};
  if (const auto names = list_directory(folder_); names.ok()) {
    for (const std::string& name : *names) {
      if (paths.size() < kMostWatchedFiles) paths.push_back(join_path(folder_, name));
    }
  }
  for (const std::string& path : paths) {
    struct stat seen = {};
    if (stat(path.c_str(), &seen) != 0) continue;
    if (S_ISDIR(seen.st_mode)) {
      states.push_back({path, seen.st_dev, seen.st_ino, 0, 0});
      continue;
    }
    states.push_back({path, seen.st_dev, seen.st_ino, static_cast<uint64_t>(seen.st_size),
                      int64_t{seen.st_mtim.tv_sec} * 1'000'000'000 + seen.st_mtim.tv_nsec});
  }
  return states;
}

int64_t ServedDump::written_before_ns() const {
  int64_t last = 0;
  for (const FileState& file : files_) last = std::max(last, file.changed_ns);
  return last;
}

Json ServedDump::source_lines(const OpInfo& op) const {
  return sources_.lines_json(op.source_location, op.source_text, written_before_ns());
}

bool ServedDump::changed() const { return look() != files_; }

ServedDump::RowsByOp ServedDump::sort_rows() const {
  RowsByOp sorted;
  const size_t ops = index_->ops().size();
  sorted.begins.assign(ops + 1, 0);
  for (const RecordRow& row : rows()) {
    if (row.op < ops) ++sorted.begins[row.op + 1];
  }
  for (size_t op = 0; op < ops; ++op) sorted.begins[op + 1] += sorted.begins[op];
  std::vector<uint32_t> next(sorted.begins.begin(), sorted.begins.end() - 1);
  sorted.rows.resize(sorted.begins.back());
  for (size_t row = 0; row < rows().size(); ++row) {
    const OpId op = rows()[row].op;
    if (op < ops) sorted.rows[next[op]++] = static_cast<uint32_t>(row);
  }
  return sorted;
}

Result<RecordData> ServedDump::data(size_t row) const {
  return recent_.get(row, [&] { return index_->data(row); });
}

std::span<const uint32_t> ServedDump::rows_of(OpId op) const {
  const RowsByOp& sorted = by_op_.get([this] { return sort_rows(); });
  if (op + size_t{1} >= sorted.begins.size()) return {};
  return std::span(sorted.rows).subspan(sorted.begins[op], sorted.begins[op + 1] - sorted.begins[op]);
}

ServedDump::RowCounts ServedDump::count_rows() const {
  RowCounts counts;
  std::vector<int64_t>& steps = counts.steps;
  const RecordRow* before = nullptr;
  for (const RecordRow& row : rows()) {
    // Rows of one rank, phase or step mostly lie together.
    if (before == nullptr || before->rank != row.rank) counts.ranks.insert(row.rank);
    if (before == nullptr || before->phase != row.phase) counts.phases.insert(row.phase);
    if (row.phase != static_cast<uint8_t>(Phase::kLoad) && (steps.empty() || steps.back() != row.step)) steps.push_back(row.step);
    before = &row;
    if ((row.flags & kRecordHasData) == 0) continue;
    counts.has_data = true;
    counts.data_bytes += row.data_bytes != 0 ? row.data_bytes : row.bytes;
  }
  std::ranges::sort(steps);
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return counts;
}

const ServedDump::RowCounts& ServedDump::counts() const {
  return counts_.get([this] { return count_rows(); });
}

const OpFactsTable& ServedDump::facts() const {
  return facts_.get([this] { return OpFactsTable(*index_); });
}

const RecordLookup& ServedDump::lookup() const {
  return lookup_.get([this] { return RecordLookup(*index_, facts()); });
}

const Json& ServedDump::find_report() const {
  return find_.get([this] { return tensortap::find_report(*index_, kFindLimit); });
}

const TrendReport& ServedDump::trends() const {
  return trends_.get([this] { return find_trends(*index_); });
}

const NonFiniteFindings& ServedDump::nonfinite() const {
  return nonfinite_.get([this] { return find_nonfinite(*index_); });
}

const GraphModel& ServedDump::graph() const {
  return *graph_.get([this] { return std::make_unique<const GraphModel>(*index_); });
}

const NameSearch& ServedDump::names() const {
  return *names_.get([this] { return std::make_unique<const NameSearch>(*index_, graph()); });
}

std::optional<OpId> ServedDump::op_named(std::string_view name) const {
  const auto& ids = op_ids_.get([this] {
    std::unordered_map<std::string_view, OpId> made;
    for (OpId id = 0; id < index_->ops().size(); ++id) made.emplace(index_->ops()[id].name, id);
    return made;
  });
  const auto found = ids.find(name);
  return found == ids.end() ? std::nullopt : std::optional(found->second);
}

Result<OpId> parse_op(const ServedDump& dump, const std::string& text) {
  uint64_t number = 0;
  if (!parse_unsigned(text, number)) return invalid_argument(concat("op ", quote(text), ": not a number"));
  if (number >= dump.index().ops().size()) {
    return not_found(concat("op ", number, ": the dump has ", dump.index().ops().size(), ", numbered from 0"));
  }
  return static_cast<OpId>(number);
}

}  // namespace tensortap
