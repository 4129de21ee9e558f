#include "base/four_digits.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace tensortap {

std::string four_digits(double value) {
  if (!std::isfinite(value)) return to_text(value);
  constexpr int kDigits = 4;
  std::array<char, 40> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::general, kDigits);
  return {digits.data(), end};
}

}  // namespace tensortap
