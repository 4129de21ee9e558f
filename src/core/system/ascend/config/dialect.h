// AscendCL's dump config (the file of aclInit and aclmdlSetDump): docs/dialects/acl.md.

#ifndef TENSORTAP_SYSTEM_ASCEND_CONFIG_DIALECT_H_
#define TENSORTAP_SYSTEM_ASCEND_CONFIG_DIALECT_H_

#include <string_view>

#include "base/status.h"
#include "plan/capture_spec.h"
#include "system/dialect.h"

namespace tensortap::ascend {

// An object with the key "dump".
bool recognise_config(std::string_view text);
// The spec asks for the layout "ge" with these layout options: "scene", "model", "overflow", "exception" or "watcher"; "stats_columns",
// where statistics are kept: their names joined by commas, in the order of the columns; "collect", "1" for the folders of an exception
// dump. A config that asks for nothing gives StepSet::never().
Result<CaptureSpec> parse_config(std::string_view text, std::string_view name, const DialectOptions& options);

// See Dialect::full_capture.
std::string full_capture(std::span<const std::string> ops, std::string_view folder);

}  // namespace tensortap::ascend

#endif  // TENSORTAP_SYSTEM_ASCEND_CONFIG_DIALECT_H_
