// The native config language: docs/capture_config.md.

#ifndef TENSORTAP_SYSTEM_TAP_DIALECT_H_
#define TENSORTAP_SYSTEM_TAP_DIALECT_H_

#include <string_view>

#include "base/status.h"
#include "plan/capture_spec.h"
#include "system/dialect.h"

namespace tensortap::tap {

// Empty text, an object with the key "tensortap", or an object that has none but our keys.
bool recognise_config(std::string_view text);
// See Dialect::full_capture. Leaves the folder to the command that takes the config.
std::string full_capture(std::span<const std::string> ops, std::string_view folder);
Result<CaptureSpec> parse_config(std::string_view text, std::string_view name, const DialectOptions& options);

}  // namespace tensortap::tap

#endif  // TENSORTAP_SYSTEM_TAP_DIALECT_H_
