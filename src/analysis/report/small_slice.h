// The values of a slice in fewer cells, for a report.

#ifndef TENSORTAP_REPORT_SMALL_SLICE_H_
#define TENSORTAP_REPORT_SMALL_SLICE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace tensortap {

// `slice` is an answer of .../slice?reduce=absmax (docs/web_api.md). At most `most` rows and columns: of the cells that become one, NaN
// counts before Inf and that before the largest absolute value, as in the server's own cells. Unchanged when it is small enough.
// Errors: kCorrupt when it is no such answer.
Result<std::string> small_slice(std::string_view slice, uint32_t most);

}  // namespace tensortap

#endif  // TENSORTAP_REPORT_SMALL_SLICE_H_
