// A dialect: one config language, translated into a CaptureSpec. Each lives in src/dialect/<name>/ with one row in src/registry/dialects.cc.

#ifndef TENSORTAP_DIALECT_DIALECT_H_
#define TENSORTAP_DIALECT_DIALECT_H_

#include <string_view>

#include "base/status.h"
#include "plan/capture_spec.h"

namespace tensortap {

struct Dialect {
  std::string_view name;  // "tensortap", "acl", "mindspore", ...
  std::string_view description;
  // Whether `text` looks like this language; cheap and sure enough that no other dialect says so too.
  bool (*recognise)(std::string_view text);
  // Errors: kInvalidArgument, "name:line:column: what, and how to mend it".
  Result<CaptureSpec> (*parse)(std::string_view text, std::string_view name);
};

}  // namespace tensortap

#endif  // TENSORTAP_DIALECT_DIALECT_H_
