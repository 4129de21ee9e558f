#include "tree/integer_cells.h"

#include <limits>

#include "base/text.h"

namespace tensortap {

int64_t integer_of_cell(std::string_view cell, double value, DType dtype) {
  constexpr double kTop = 18446744073709551616.0;  // 2^64
  uint64_t positive = 0;
  int64_t whole = 0;
  const bool is_unsigned = dtype == DType::kUInt64;
  if (is_unsigned && parse_unsigned(cell, positive)) return static_cast<int64_t>(positive);
  if (!is_unsigned && parse_integer(cell, whole)) return whole;
  if (is_unsigned) {
    positive = value >= kTop ? UINT64_MAX : value > 0 ? static_cast<uint64_t>(value) : 0;
    return static_cast<int64_t>(positive);
  }
  if (!(value >= -kTop / 2)) return value < 0 ? std::numeric_limits<int64_t>::min() : 0;
  return value >= kTop / 2 ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(value);
}

}  // namespace tensortap
