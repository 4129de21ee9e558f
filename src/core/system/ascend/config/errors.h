// Reports a fault of a config: our words, with the two numbers by which AscendCL's users know it.

#ifndef TENSORTAP_SYSTEM_ASCEND_CONFIG_ERRORS_H_
#define TENSORTAP_SYSTEM_ASCEND_CONFIG_ERRORS_H_

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "plan/spec_reader.h"

namespace tensortap::ascend {

// Kinds of faults, EP0001 and so on.
enum class Fault : uint8_t { kItem = 1, kWord = 2, kValue = 3, kSyntax = 4, kConflict = 5 };

// Results of AscendCL's calls.
inline constexpr int32_t kInvalidFile = 100003;
inline constexpr int32_t kParseFile = 100006;
inline constexpr int32_t kInvalidDumpConfig = 100009;

// "name:line:column: key: what (EP0003, AscendCL error 100009)".
Status fault(const SpecValue& value, Fault kind, std::string_view what);
// The same for a missing member: "name:line:column: key.member: what ...", with the place of the object.
Status fault_without(const SpecValue& object, std::string_view member, Fault kind, std::string_view what);
// A value of the wrong type.
Status wrong_type(const SpecValue& value, std::string_view expected);

}  // namespace tensortap::ascend

#endif  // TENSORTAP_SYSTEM_ASCEND_CONFIG_ERRORS_H_
