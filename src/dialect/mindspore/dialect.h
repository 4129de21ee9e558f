// MindSpore's dump config (MINDSPORE_DUMP_CONFIG): docs/dialects/mindspore.md.

#ifndef TENSORTAP_DIALECT_MINDSPORE_DIALECT_H_
#define TENSORTAP_DIALECT_MINDSPORE_DIALECT_H_

#include <string>
#include <string_view>

#include "base/status.h"
#include "dialect/dialect.h"
#include "plan/capture_spec.h"

namespace tensortap {

inline constexpr std::string_view kMindsporeFileSuffix = ".json";

// An object with the key "common_dump_settings" or "e2e_dump_settings".
bool recognise_mindspore(std::string_view text);
// The spec asks for the layout "mindspore" with these layout options: "net_name"; "statistic_category", where statistics are kept: the items of the
// columns joined by commas, in their order; "trans_flag", "true" or "false"; "file_format", "npy" or "bin"; "config", the text as it is.
Result<CaptureSpec> parse_mindspore(std::string_view text, std::string_view name, const DialectOptions& options);
// "mindspore-2.0" becomes "mindspore-2.0/cpu". Errors: kInvalidArgument with the profiles that there are.
Result<std::string> complete_mindspore_profile(std::string_view profile);

}  // namespace tensortap

#endif  // TENSORTAP_DIALECT_MINDSPORE_DIALECT_H_
