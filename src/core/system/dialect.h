// A dialect: one config language, translated into a CaptureSpec. Each lives in the folder of its system,
// src/core/system/<name>/, whose table has its row.

#ifndef TENSORTAP_SYSTEM_DIALECT_H_
#define TENSORTAP_SYSTEM_DIALECT_H_

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "plan/capture_spec.h"
#include "plan/config_key.h"

namespace tensortap {

// As which version of another system a config is read.
struct DialectOptions {
  std::string_view profile;  // "mindspore-2.10/cpu"; empty = the dialect's default
  bool strict = false;       // refuse everything that this version refuses on this device, although tensortap could do it
  // The config is read when that system starts, not while it runs: some give the same error another number then.
  bool at_start = false;
};

struct Dialect {
  std::string_view name;  // "tensortap", "acl", "mindspore", ...
  std::string_view description;
  // Whether `text` looks like this language. Cheap, and sure enough that no other dialect recognises it.
  bool (*recognise)(std::string_view text);
  // Errors: kInvalidArgument, "name:line:column: what, and how to fix it"; for a profile that the dialect does not have, its profiles.
  Result<CaptureSpec> (*parse)(std::string_view text, std::string_view name, const DialectOptions& options);
  // Every key, in the order in which they are checked.
  std::span<const ConfigKey> (*keys)();
  std::string_view file_suffix = {};  // the required end of a config file's name, "" = any
  std::string_view variable = {};     // environment variable that names a config, a row of base/environment.cc; "" = none
  // The text of a config that captures inputs and outputs of these ops in full; `folder` is an absolute path. Null: not offered.
  std::string (*full_capture)(std::span<const std::string> ops, std::string_view folder) = nullptr;
};

}  // namespace tensortap

#endif  // TENSORTAP_SYSTEM_DIALECT_H_
