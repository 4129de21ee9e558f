// The summary of a run for people; its JSON form is what the source reports.

#ifndef TENSORTAP_CLI_TEXT_SUMMARY_TEXT_H_
#define TENSORTAP_CLI_TEXT_SUMMARY_TEXT_H_

#include <string>

#include "base/json_fwd.h"
#include "cli/text/terminal.h"

namespace tensortap::cli {

// What a summary notes of a config, of another system, that asks for nothing, which is no mistake there.
inline constexpr const char* kNothingAsked = "the config asks for nothing: nothing is captured, and no dump is written";

// At most 15 aligned lines, worst news first, about a report of tensortap_onnxruntime_run() or a summary of exec_summary.h. Keys that are
// missing or null are left out, except for "lost": unknown is said.
std::string summary_text(const Json& report, const Palette& palette);

// How many records were lost by failures and why: "3 write failed: No space left on device (conv:out0, ...)". "" when none was: limits that
// were given and what nothing can keep are no failures.
std::string failed_losses_text(const Json& report);

// "2 sequence output (split_1, ...)" of one of the reasons for which ops were not captured or records lost.
std::string reason_text(const Json& reason);

// "step 0, Div_12 (Div) out0: 1 NaN, 2 +Inf at [0, 3], train.py:41".
std::string nonfinite_text(const Json& first);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_TEXT_SUMMARY_TEXT_H_
