// Everything that `find` looks for, in one answer.

#ifndef TENSORTAP_FIND_FIND_REPORT_H_
#define TENSORTAP_FIND_FIND_REPORT_H_

#include <cstddef>
#include <string_view>

#include "base/json.h"
#include "base/status.h"
#include "trace/dump_index.h"

namespace tensortap {

// {"first_nonfinite": {...} or null, "seen": {...} or null, "origins": [...], "headroom": {"float16": [...], "bfloat16": [...]}, "dead_outputs": [...],
// "gradients": {...} or null}; the forms are those of find/find_json.h, at most `limit` of each list. The first non-finite value is one of a
// run: weights that hold some stand among the origins only.
//
// Where the program looked at a value that is not finite, or a parameter became so, "seen" is the way back from there, as one of the origins, and
// "first_nonfinite" is where it ends: a value that overflows earlier may do no harm. "first_in_time" is there when that was another record. Intended
// infinities are nobody's fault: the first origin that is none counts.
Json find_report(const DumpIndex& dump, size_t limit);

// {"source": text, "ops": [{"op", "type", "source", "originals"}]}: the ops that come from a source line, or the lines that the ops of that name
// come from. Errors: kNotFound when there is neither.
Result<Json> find_source(const DumpIndex& dump, std::string_view text);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_FIND_REPORT_H_
