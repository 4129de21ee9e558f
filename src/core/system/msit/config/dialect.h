// What `msit llm dump` is asked for, as a config: the file of its option -config, with keys for its other options: docs/dialects/msit.md.

#ifndef TENSORTAP_SYSTEM_MSIT_CONFIG_DIALECT_H_
#define TENSORTAP_SYSTEM_MSIT_CONFIG_DIALECT_H_

#include <array>
#include <span>
#include <string_view>

#include "base/status.h"
#include "plan/capture_spec.h"
#include "plan/config_key.h"
#include "system/dialect.h"

namespace tensortap::msit {

std::span<const ConfigKey> keys();

// An object with the key "dump_enable", without which msit dumps nothing.
bool recognise_config(std::string_view text);
// The spec asks for the layout "msit". Unknown keys and values that are not text become notes: msit ignores them with a warning. A value
// that msit would read as something else than it says is an error; the first one in the order of keys() is returned.
Result<CaptureSpec> parse_config(std::string_view text, std::string_view name, const DialectOptions& options);

}  // namespace tensortap::msit

#endif  // TENSORTAP_SYSTEM_MSIT_CONFIG_DIALECT_H_
