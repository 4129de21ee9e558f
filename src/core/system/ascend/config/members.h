// Members of the config's objects, where types have been checked.

#ifndef TENSORTAP_SYSTEM_ASCEND_CONFIG_MEMBERS_H_
#define TENSORTAP_SYSTEM_ASCEND_CONFIG_MEMBERS_H_

#include <string>
#include <string_view>

#include "plan/spec_reader.h"

namespace tensortap::ascend {

using Value = const SpecValue&;

inline bool has(Value object, std::string_view key) { return object.json().contains(std::string(key)); }
// The member of that key, which must exist.
inline SpecValue member(Value object, std::string_view key) { return object.member(std::string(key)); }

}  // namespace tensortap::ascend

#endif  // TENSORTAP_SYSTEM_ASCEND_CONFIG_MEMBERS_H_
