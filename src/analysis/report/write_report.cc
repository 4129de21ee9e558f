#include "report/write_report.h"

#include <utility>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "query/chosen_dump.h"
#include "report/make_report.h"
#include "report/page_target.h"

namespace tensortap {
namespace {

constexpr std::string_view kRecords = "/api/records";

// Which ops have chosen records, and how many records those are.
struct ChosenOps {
  std::vector<bool> ops;
  size_t records = 0;
};

Result<ChosenOps> chosen_ops(const DumpIndex& dump, const RowQuery& query) {
  TENSORTAP_ASSIGN_OR_RETURN(const RowFilter filter, RowFilter::make(query, dump));
  ChosenOps chosen{std::vector<bool>(dump.ops().size(), false)};
  for (const RecordRow& row : dump.rows()) {
    if (!filter.keeps(row)) continue;
    ++chosen.records;
    if (row.op < chosen.ops.size()) chosen.ops[row.op] = true;
  }
  return chosen;
}

Result<ReportChoice> choice_of(const WebAnswers& answers, const RowQuery& query) {
  ReportChoice choice;
  if (!is_selection(query)) return choice;
  const auto dumps = answers.dumps();
  TENSORTAP_RETURN_IF_ERROR(check_choice(dumps.front()->index(), query));
  std::vector<std::string> counts;
  for (const auto& dump : dumps) {
    TENSORTAP_ASSIGN_OR_RETURN(ChosenOps chosen, chosen_ops(dump->index(), query));
    counts.push_back(concat(chosen.records, " of ", dump->rows().size()));
    choice.ops.push_back(std::move(chosen.ops));
  }
  choice.note = concat("Tables, tensors and curves are of chosen records: ", join(counts, ", and "),
                       ". The sentences and the graph are about the whole dump.");
  return choice;
}

// A list of all records becomes one of those that are chosen; one of an op, which a sentence leads to, stays.
std::string chosen_target(std::string_view target, const RowQuery& query) {
  if (!target.starts_with(kRecords)) return std::string(target);
  for (const std::string_view own : {"?op=", "&op=", "?type=", "&type=", "?step=", "&step="}) {
    if (target.find(own) != std::string_view::npos) return std::string(target);
  }
  const std::string added = page_target("", {{"op", query.op},
                                             {"type", query.type},
                                             {"module", query.module},
                                             {"step", query.step},
                                             {"last", query.last == 0 ? std::string() : to_text(query.last)}});
  if (added.empty()) return std::string(target);
  return concat(target, target.find('?') == std::string_view::npos ? "?" : "&", std::string_view(added).substr(1));
}

}  // namespace

Status check_report_path(const std::string& path) {
  constexpr size_t kMostNameBytes = 200;  // of 255: its temporary name is longer
  if (const size_t size = file_name(path).size(); size > kMostNameBytes) {
    return invalid_argument(concat("a name of ", size, " bytes; at most ", kMostNameBytes, " are possible"));
  }
  if (is_directory(path)) return invalid_argument(concat(path, ": a folder; name a file, such as report.html"));
  const std::string folder = parent_path(path);
  return is_directory(folder) ? Status() : not_found(concat(folder, ": no such folder"));
}

Result<Json> write_report(const WebAnswers& answers, const std::string& path, const ReportProgress& progress, const RowQuery& query) {
  TENSORTAP_ASSIGN_OR_RETURN(const ReportChoice choice, choice_of(answers, query));
  const auto ask = [&](std::string_view target) { return answers.get(chosen_target(target, query)); };
  TENSORTAP_ASSIGN_OR_RETURN(const Report report, make_report(ask, "Made by tensortap " TENSORTAP_VERSION ".", progress, choice));
  TENSORTAP_RETURN_IF_ERROR(write_file_atomically(path, report.page, Access::kShared));
  return Json{{"report", path},
              {"bytes", report.page.size()},
              {"answers", report.answers},
              {"left_out", report.left_out},
              {"sources", report.sources}};
}

}  // namespace tensortap
