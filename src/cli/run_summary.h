// The summary of a run for people; its JSON form is what the source reports.

#ifndef TENSORTAP_CLI_RUN_SUMMARY_H_
#define TENSORTAP_CLI_RUN_SUMMARY_H_

#include <string>

#include "base/json.h"
#include "cli/terminal.h"

namespace tensortap::cli {

// Short, aligned lines about a report of tensortap_onnxruntime_run(). Keys that are missing or null are left out.
std::string summary_text(const Json& report, const Palette& palette);

// "step 0, Div_12 (Div) out0: 1 NaN, 2 +Inf at [0, 3], train.py:41".
std::string nonfinite_text(const Json& first);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_RUN_SUMMARY_H_
