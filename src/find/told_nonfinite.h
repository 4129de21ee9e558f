// The first value that is not finite, as the manifest of a dump tells it, for dumps whose own records are not all there.

#ifndef TENSORTAP_FIND_TOLD_NONFINITE_H_
#define TENSORTAP_FIND_TOLD_NONFINITE_H_

#include "base/json_fwd.h"
#include "trace/dump_index.h"

namespace tensortap {

// As nonfinite_json(), with "told_by": "run.json". Null for a dump that is not incomplete, whose manifest tells of none, or that has the
// record: its rows tell more then.
Json told_nonfinite(const DumpIndex& dump);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_TOLD_NONFINITE_H_
