// What ended the program behind a dump before its time: a comparison sees only what came before.

#ifndef TENSORTAP_COMPARE_EARLY_END_H_
#define TENSORTAP_COMPARE_EARLY_END_H_

#include <string>

#include "base/json_fwd.h"
#include "trace/dump_index.h"

namespace tensortap {

// Null where the capture came to its end without an op that failed, or where the dump does not record it. Otherwise {"op", "type", "step",
// "error"} of the op that failed, all null except "error" where none is known; and {"last_op", "last_step"} of the last record, or null.
Json early_end_json(const DumpIndex& dump);

// "op add_1 (Add) failed in step 0: ..." of such an object.
std::string early_end_text(const Json& end);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_EARLY_END_H_
