// MindSpore's dump config (MINDSPORE_DUMP_CONFIG): docs/dialects/mindspore.md.

#ifndef TENSORTAP_SYSTEM_MINDSPORE_CONFIG_DIALECT_H_
#define TENSORTAP_SYSTEM_MINDSPORE_CONFIG_DIALECT_H_

#include <string>
#include <string_view>

#include "base/status.h"
#include "plan/capture_spec.h"
#include "system/dialect.h"

namespace tensortap::mindspore {

inline constexpr std::string_view kFileSuffix = ".json";

// An object with the key "common_dump_settings" or "e2e_dump_settings".
bool recognise_config(std::string_view text);
// The spec asks for the layout "mindspore" with these layout options: "net_name"; "statistic_category", where statistics are kept: the
// items of the columns joined by commas, in their order; "trans_flag", "true" or "false"; "file_format", "npy" or "bin"; "config", the text
// as it is.
Result<CaptureSpec> parse_config(std::string_view text, std::string_view name, const DialectOptions& options);
// "mindspore-2.0" becomes "mindspore-2.0/cpu". Errors: kInvalidArgument listing the valid profiles.
Result<std::string> complete_profile(std::string_view profile);

// See Dialect::full_capture.
std::string full_capture(std::span<const std::string> ops, std::string_view folder);

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_CONFIG_DIALECT_H_
