#include "read/number_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "tensor/number_formats.h"

namespace tensortap {
namespace {

constexpr double kSmallestPositional = 0.0001;
constexpr double kWidestPositional = 1000;  // largest over smallest magnitude

std::string to_scientific(double value, int digits) {
  std::array<char, 64> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific, digits).ptr};
}

std::string to_fixed(double value, int digits) {
  std::array<char, 512> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, digits).ptr};
}

DType part_dtype(DType dtype) {
  if (dtype == DType::kComplex64) return DType::kFloat32;
  return dtype == DType::kComplex128 ? DType::kFloat64 : dtype;
}

bool reads_back(DType dtype, double value, std::string_view text) {
  double read = 0;
  if (!parse_number(text, read)) return false;
  const auto narrow = static_cast<float>(read);
  if (dtype == DType::kFloat16) return float16_to_float(float_to_float16(narrow)) == static_cast<float>(value);
  return bfloat16_to_float(float_to_bfloat16(narrow)) == static_cast<float>(value);
}

// "d.ddde-dd" with the fewest digits that read back.
std::string shortest_scientific(DType dtype, double value) {
  std::array<char, 64> text{};
  char* const end = text.data() + text.size();
  if (dtype == DType::kFloat16 || dtype == DType::kBFloat16) {
    for (int digits = 0; digits < 9; ++digits) {
      std::string candidate = to_scientific(value, digits);
      if (reads_back(dtype, value, candidate)) return candidate;
    }
  }
  const bool is_double = dtype == DType::kFloat64;
  const auto result = is_double ? std::to_chars(text.data(), end, value, std::chars_format::scientific)
                                : std::to_chars(text.data(), end, static_cast<float>(value), std::chars_format::scientific);
  return {text.data(), result.ptr};
}

void trim_zeros(std::string& text) {
  if (text.find('.') == std::string::npos) {
    text += '.';
    return;
  }
  text.erase(text.find_last_not_of('0') + 1);
}

// Digits of `scientific` ("-1.25e-03") as a fixed-point text ("-0.00125"), always with a point.
std::string fixed_from(std::string_view scientific) {
  const bool negative = scientific.starts_with('-');
  if (negative) scientific.remove_prefix(1);
  const size_t e = scientific.find('e');
  int64_t exponent = 0;
  parse_integer(scientific.substr(e + 1 + (scientific[e + 1] == '+' ? 1 : 0)), exponent);
  std::string digits;
  for (const char c : scientific.substr(0, e)) {
    if (c != '.') digits += c;
  }
  const int64_t point = exponent + 1;  // digits before the point
  if (point <= 0) {
    digits = std::string(static_cast<size_t>(1 - point), '0') + digits;
    digits.insert(1, ".");
  } else {
    if (static_cast<int64_t>(digits.size()) < point) digits.append(static_cast<size_t>(point) - digits.size(), '0');
    digits.insert(static_cast<size_t>(point), ".");
  }
  return (negative ? "-" : "") + digits;
}

std::string positional_text(DType dtype, double value, int precision) {
  std::string text = fixed_from(shortest_scientific(dtype, value));
  if (text.size() - text.find('.') - 1 > static_cast<size_t>(precision)) text = to_fixed(value, precision);
  trim_zeros(text);
  return text;
}

// Mantissa with a point, and the exponent's digits, of the shortest form cut at `precision`.
struct Scientific {
  std::string mantissa;
  std::string exponent;  // "-05"
};

Scientific scientific_text(DType dtype, double value, int precision) {
  std::string text = shortest_scientific(dtype, value);
  if (text.find('e') > static_cast<size_t>(precision) + (text[0] == '-' ? 3 : 2)) text = to_scientific(value, precision);
  const size_t e = text.find('e');
  Scientific parts{text.substr(0, e), text.substr(e + 1)};
  trim_zeros(parts.mantissa);
  return parts;
}

// Digits of the largest decimal number that a dtype holds exactly whatever its digits, as NumPy's finfo.precision.
int decimal_digits(DType dtype) {
  if (dtype == DType::kFloat64) return 15;
  if (dtype == DType::kFloat32) return 6;
  return dtype == DType::kFloat16 ? 3 : 8;
}

}  // namespace

FloatFormat::FloatFormat(DType dtype, std::span<const double> values, int precision, bool show_plus)
    : dtype_(part_dtype(dtype)), precision_(precision), show_plus_(show_plus) {
  double largest = 0;
  double smallest = std::numeric_limits<double>::infinity();
  std::vector<double> finite;
  bool negative_infinity = false;
  for (const double value : values) {
    negative_infinity = negative_infinity || (std::isinf(value) && value < 0);
    if (!std::isfinite(value)) continue;
    finite.push_back(value);
    if (value == 0) continue;
    largest = std::max(largest, std::abs(value));
    smallest = std::min(smallest, std::abs(value));
  }
  const double limit = std::pow(10.0, std::min(8, decimal_digits(dtype_)));
  scientific_ = largest > 0 && (largest >= limit || smallest < kSmallestPositional || largest / smallest > kWidestPositional);
  if (!finite.empty()) scientific_ ? fit_scientific(finite) : fit_positional(finite);
  if (finite.size() == values.size()) return;
  const size_t right = right_ + 1;
  const size_t infinity = show_plus_ || negative_infinity ? 4 : 3;
  for (const size_t needed : {size_t{3}, infinity}) left_ = std::max(left_, needed > right ? needed - right : 0);
}

std::string FloatFormat::signed_text(double value, std::string_view digits) const {
  return concat(show_plus_ && !std::signbit(value) ? "+" : "", digits);
}

void FloatFormat::fit_scientific(std::span<const double> values) {
  for (const double value : values) {
    const Scientific parts = scientific_text(dtype_, value, precision_);
    const size_t point = parts.mantissa.find('.');
    left_ = std::max(left_, signed_text(value, parts.mantissa.substr(0, point)).size());
    fraction_digits_ = std::max(fraction_digits_, static_cast<int>(parts.mantissa.size() - point - 1));
    exponent_digits_ = std::max(exponent_digits_, parts.exponent.size() - 1);
  }
  right_ = exponent_digits_ + 2 + static_cast<size_t>(fraction_digits_);
}

void FloatFormat::fit_positional(std::span<const double> values) {
  for (const double value : values) {
    const std::string text = positional_text(dtype_, value, precision_);
    const size_t point = text.find('.');
    left_ = std::max(left_, signed_text(value, text.substr(0, point)).size());
    right_ = std::max(right_, text.size() - point - 1);
  }
}

std::string FloatFormat::text(double value) const {
  if (!std::isfinite(value)) {
    std::string word = std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
    if (show_plus_ && word[0] != '-') word = "+" + word;
    const size_t width = left_ + right_ + 1;
    return std::string(width > word.size() ? width - word.size() : 0, ' ') + word;
  }
  std::string digits;
  if (scientific_) {
    digits = to_scientific(value, fraction_digits_);
    size_t e = digits.find('e');
    if (digits.find('.') == std::string::npos) digits.insert(e++, ".");
    const size_t have = digits.size() - e - 2;
    if (have < exponent_digits_) digits.insert(e + 2, exponent_digits_ - have, '0');
  } else {
    digits = positional_text(dtype_, value, precision_);
  }
  digits = signed_text(value, digits);
  const size_t point = digits.find('.');
  if (point < left_) digits.insert(0, left_ - point, ' ');
  const size_t width = left_ + 1 + right_;
  if (digits.size() < width) digits.append(width - digits.size(), ' ');
  return digits;
}

std::string shortest_text(DType dtype, double value) {
  if (!std::isfinite(value)) return to_text(value);
  const std::string scientific = shortest_scientific(part_dtype(dtype), value);
  const double magnitude = std::abs(value);
  if (magnitude != 0 && (magnitude < kSmallestPositional || magnitude >= 1e16)) return scientific;
  std::string text = fixed_from(scientific);
  if (text.ends_with('.')) text += '0';
  return text;
}

}  // namespace tensortap
