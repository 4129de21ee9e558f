#include "find/chosen_records.h"

#include "base/json.h"
#include "find/trends.h"
#include "find/trends_json.h"
#include "query/chosen_dump.h"

namespace tensortap {

Result<Json> chosen_trends_json(const DumpIndex& dump, const RowQuery& query, size_t limit) {
  TENSORTAP_RETURN_IF_ERROR(check_choice(dump, query));
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
  TENSORTAP_RETURN_IF_ERROR(check_choice(
      dump, {.op = question.ops, .type = question.types, .module = question.modules, .step = question.steps, .last = question.last}));
  return watch_json(dump, question, limit);
}

}  // namespace tensortap
