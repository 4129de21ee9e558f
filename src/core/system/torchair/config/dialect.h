// The dump options of TorchAir's CompilerConfig as a config: docs/dialects/torchair.md.

#ifndef TENSORTAP_SYSTEM_TORCHAIR_CONFIG_DIALECT_H_
#define TENSORTAP_SYSTEM_TORCHAIR_CONFIG_DIALECT_H_

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "plan/capture_spec.h"
#include "plan/config_key.h"
#include "system/dialect.h"

namespace tensortap::torchair {

// The members of "torchair".
std::span<const ConfigKey> keys();

// An object with the key "torchair".
bool recognise_config(std::string_view text);
// The spec asks for the layout "ge". Errors: the first fault in the order of keys(). Looks at the file system for `dump_path`.
Result<CaptureSpec> parse_config(std::string_view text, std::string_view name, const DialectOptions& options);

// See Dialect::full_capture.
std::string full_capture(std::span<const std::string> ops, std::string_view folder);

}  // namespace tensortap::torchair

#endif  // TENSORTAP_SYSTEM_TORCHAIR_CONFIG_DIALECT_H_
