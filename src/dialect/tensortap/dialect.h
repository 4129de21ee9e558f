// The native config language: docs/capture_config.md.

#ifndef TENSORTAP_DIALECT_TENSORTAP_DIALECT_H_
#define TENSORTAP_DIALECT_TENSORTAP_DIALECT_H_

#include <string_view>

#include "base/status.h"
#include "dialect/dialect.h"
#include "plan/capture_spec.h"

namespace tensortap {

// Empty text, an object with the key "tensortap", or an object that has none but our keys.
bool recognise_tensortap(std::string_view text);
Result<CaptureSpec> parse_tensortap(std::string_view text, std::string_view name, const DialectOptions& options);

}  // namespace tensortap

#endif  // TENSORTAP_DIALECT_TENSORTAP_DIALECT_H_
