// What `find --trends` says, as JSON: the same for the command line and Python.

#ifndef TENSORTAP_FIND_TRENDS_JSON_H_
#define TENSORTAP_FIND_TRENDS_JSON_H_

#include <cstddef>

#include "base/json_fwd.h"
#include "find/trends.h"

namespace tensortap {

// {"steps", "series", "judged", "unknown", "not_known": text or null, "nonfinite", "counts": {"exploding": count, ...}, "trends": [{"kind",
// "record", "op", "type", "slot", "step", "rank", "since", "steps", "measure", "slope", "doubling", "from", "to", "evidence",
// "steps_to_limit", "dtype", "source", "module", "phase", "forward"}], "depth": {"step", "modules", "slope", "first", "last", "from", "to"}
// or null}, at most `limit` of each kind. "slope" is in doublings a step, "doubling" the steps of one doubling or halving; both are null
// for kinds without, as is "steps_to_limit" where it is not known. "not_known" says why an answer without a trend is no all-clear.
Json trends_json(const DumpIndex& dump, const TrendReport& report, size_t limit);

// {"record", "slot", "measure", "since", "steps", "slope", "doubling", "from", "to"} of the trend towards a non-finite value.
Json lead_json(const DumpIndex& dump, const Trend& lead);

// Whether what trends_json() says is a finding.
bool finds_trend(const Json& report);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_TRENDS_JSON_H_
