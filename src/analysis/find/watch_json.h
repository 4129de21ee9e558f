// What `find --watch` says, as JSON: the same for the command line and Python.

#ifndef TENSORTAP_FIND_WATCH_JSON_H_
#define TENSORTAP_FIND_WATCH_JSON_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/status.h"
#include "trace/dump_index.h"

namespace tensortap {

struct WatchQuestion {
  std::vector<std::string> conditions;  // as parse_watchpoints() reads them
  std::string ops = {};                 // the name of an op, or a regular expression; "" = every op
  std::string steps = {};               // "0,3-5"; "" = every step
  std::string types = {};               // as RowQuery::type
  std::string modules = {};             // as RowQuery::module
  uint64_t last = 0;                    // as RowQuery::last
};

// {"hits": count, "not_known": text or null, "watchpoints": [{"condition", "target", "parameters": {name: value}, "activation", "checked",
// "unknown", "hit_count", "error_count", "hits": [{"record", "op", "type", "slot", "step", "rank", "errors": ["nan", "inf", "no_previous"],
// "error_code", "parameters": [{"name", "value", "hit", "actual"}], "source", "module", "phase", "forward"}], "errors": [as "hits"]}]}, at
// most `limit` hits and errors of each. "not_known" says why an answer without a hit is no all-clear: nothing could be checked, or records
// could not be judged, where they hold NaN or Inf or lack what the condition needs. Errors: kInvalidArgument; the message begins with
// "watch", "ops" or "steps".
Result<Json> watch_json(const DumpIndex& dump, const WatchQuestion& question, size_t limit);

// Checks what can be checked without a dump. Errors: as above.
Status check_conditions(const WatchQuestion& question);

// Whether what watch_json() says is a finding.
bool has_hits(const Json& report);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_WATCH_JSON_H_
