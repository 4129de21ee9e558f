// A system whose configs, directory trees or both tensortap speaks. Each lives in src/core/system/<name>/ with one row in
// src/core/registry/systems.cc.

#ifndef TENSORTAP_SYSTEM_SYSTEM_H_
#define TENSORTAP_SYSTEM_SYSTEM_H_

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "layout/layout.h"
#include "system/dialect.h"

namespace tensortap {

struct System {
  std::string_view name;  // "mindspore": its folder, and the first word of its profiles
  std::span<const Dialect> dialects;
  std::span<const Layout> layouts;
  // Completes a profile: "mindspore-2.2.15" becomes "mindspore-2.2.15/cpu". Null: no profiles. Errors: kInvalidArgument listing the valid
  // profiles.
  Result<std::string> (*complete_profile)(std::string_view text) = nullptr;
};

}  // namespace tensortap

#endif  // TENSORTAP_SYSTEM_SYSTEM_H_
