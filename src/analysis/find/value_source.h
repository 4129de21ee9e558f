// Whether a process made a value itself or had it from another one, as far as its answer to `find` says.

#ifndef TENSORTAP_FIND_VALUE_SOURCE_H_
#define TENSORTAP_FIND_VALUE_SOURCE_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/json_fwd.h"

namespace tensortap {

// In the order of blame.
enum class ValueSource : uint8_t {
  kOwn,       // an op of the process made it, or its data or weights hold it
  kUnknown,   // the values that it was made of were not captured
  kReceived,  // a collective brought it
};
// The source of a value that an op of `type` made, with an origin of this origin_kind_name().
ValueSource value_source(std::string_view type, std::string_view origin_kind);

// The place of the first value that is not finite in an answer with "first_nonfinite", and "seen", "origin" or "origins".
struct FirstValue {
  uint64_t step = 0;
  ValueSource source = ValueSource::kOwn;
  friend auto operator<=>(const FirstValue&, const FirstValue&) = default;
};
std::optional<FirstValue> first_value(const Json& answer);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_VALUE_SOURCE_H_
