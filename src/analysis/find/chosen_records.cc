#include "find/chosen_records.h"

#include <string>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "find/trends.h"
#include "find/trends_json.h"

namespace tensortap {
namespace {

Status check_chosen(const DumpIndex& dump, const RowQuery& query) {
  if (!is_selection(query)) return {};
  RowQuery first = query;
  first.limit = 1;
  const auto rows = select_rows(dump, first);
  if (!rows.ok()) return rows.status();
  if (!rows->empty()) return {};
  const DumpIndex* const dumps[] = {&dump};
  const std::vector<std::string> reasons = unmatched_names(dumps, query);
  return not_found(reasons.empty() ? std::string("the selection chooses no record") : join(reasons, "; "));
}

}  // namespace

Result<Json> chosen_trends_json(const DumpIndex& dump, const RowQuery& query, size_t limit) {
  TENSORTAP_RETURN_IF_ERROR(check_chosen(dump, query));
  TrendReport report = find_trends(dump, query.last);
  if (chooses_ops(query)) {
    const auto filter = RowFilter::make({.op = query.op, .type = query.type, .module = query.module}, dump);
    if (!filter.ok()) return filter.status();
    std::erase_if(report.trends, [&](const Trend& trend) { return !filter->keeps(dump.rows()[trend.row]); });
    report.depth.reset();
  }
  return trends_json(dump, report, limit);
}

Result<Json> chosen_watch_json(const DumpIndex& dump, const WatchQuestion& question, size_t limit) {
  TENSORTAP_RETURN_IF_ERROR(check_chosen(
      dump, {.op = question.ops, .type = question.types, .module = question.modules, .step = question.steps, .last = question.last}));
  return watch_json(dump, question, limit);
}

}  // namespace tensortap
