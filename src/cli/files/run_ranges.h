// The ranges of `tensortap run --range`.

#ifndef TENSORTAP_CLI_FILES_RUN_RANGES_H_
#define TENSORTAP_CLI_FILES_RUN_RANGES_H_

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/status.h"

namespace tensortap::cli {

// Adds "range" and "ranges" to the request of a run (tensortap/onnxruntime.h) out of texts NAME=LOW:HIGH and LOW:HIGH; of equal ones the
// last counts. Errors: kInvalidArgument for what is no range of two finite numbers, the lower one first.
Status add_ranges(const std::vector<std::string>& texts, Json& request);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_FILES_RUN_RANGES_H_
