#include "compare/not_known.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/json.h"
#include "base/text.h"
#include "compare/early_end.h"
#include "query/unseen_ops.h"
#include "trace/dump_index.h"

namespace tensortap {

std::string not_known_text(const DumpComparison& comparison) {
  const ComparisonSummary& summary = comparison.summary();
  std::vector<std::string> reasons;
  const auto add = [&](uint64_t count, std::string_view what, std::string_view why) {
    if (count > 0) reasons.push_back(concat(count, " of ", counted(summary.records, "record"), " ", what, " (", why, ")"));
  };
  if (summary.judged() == 0) reasons.push_back(concat("no pair of values could be compared; the first: ", summary.first_reason));
  if (summary.has_open_ends()) reasons.emplace_back("results have no partner");
  for (const auto& [side, dump] : {std::pair("A", &comparison.a()), std::pair("B", &comparison.b())}) {
    if (const Json end = early_end_json(*dump); !end.is_null()) reasons.push_back(concat(side, " ended early: ", early_end_text(end)));
    const Json manifest = manifest_json(*dump);
    for (const std::string& unseen : unseen_values(unseen_ops_json(manifest), count_hidden_ops(manifest))) {
      reasons.push_back(concat("in ", side, " ", unseen));
    }
  }
  if (summary.judged() > 0) add(summary.uncompared, "could not be compared", summary.first_uncompared);
  add(summary.unreadable, "could not be read", summary.first_unreadable);
  return join(reasons, "; ");
}

}  // namespace tensortap
