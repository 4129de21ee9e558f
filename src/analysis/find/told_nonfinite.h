// The first value that is not finite, as the manifest of a dump tells it, for dumps whose own records are not all there.

#ifndef TENSORTAP_FIND_TOLD_NONFINITE_H_
#define TENSORTAP_FIND_TOLD_NONFINITE_H_

#include "base/json_fwd.h"
#include "trace/dump_index.h"

namespace tensortap {

// The first non-finite value that the manifest records: as nonfinite_json(), with "told_by": "run.json". Null if the dump is not
// incomplete, if the manifest records none, or if the dump has the record, whose rows hold more.
Json told_nonfinite(const DumpIndex& dump);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_TOLD_NONFINITE_H_
