#include "format/msit_bin/number_texts.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "base/text.h"

namespace tensortap {
namespace {

constexpr std::string_view kNone = "N/A";
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The largest number of the type in which the real system compares elements.
double limit_of(DType dtype) { return dtype == DType::kFloat64 ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max(); }

// std::to_chars, since printf obeys the locale of the program.
std::string fixed_text(double value) {
  if (std::isnan(value)) return "nan";
  std::array<char, 400> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, 6).ptr;
  return {text.data(), end};
}

std::string whole_text(int64_t bits, DType dtype) { return dtype == DType::kUInt64 ? to_text(static_cast<uint64_t>(bits)) : to_text(bits); }

// Sums and extremes as the real system has them, whatever the policy that they were measured under left out.
TensorStats with_nonfinite(TensorStats stats, DType dtype) {
  const double limit = limit_of(dtype);
  const bool counted = (stats.valid & kStatNonFinite) == kStatNonFinite;
  const bool only_nan = counted ? stats.count > 0 && stats.nan == stats.count : std::isnan(stats.max) && std::isnan(stats.min);
  if (only_nan) {
    stats.max = -limit;
    stats.min = limit;
  }
  if (!counted) return stats;
  if (stats.pos_inf > 0) stats.max = stats.mean = stats.l2 = kInfinity;
  if (stats.neg_inf > 0) stats.min = stats.mean = -kInfinity;
  if (stats.neg_inf > 0) stats.l2 = kInfinity;
  if (stats.nan > 0 || (stats.pos_inf > 0 && stats.neg_inf > 0)) stats.mean = std::numeric_limits<double>::quiet_NaN();
  if (stats.nan > 0) stats.l2 = std::numeric_limits<double>::quiet_NaN();
  return stats;
}

std::optional<double> number_of(std::string_view text) {
  const std::string_view plain = text.starts_with('-') ? text.substr(1) : text;
  if (plain == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (plain == "inf") return text.starts_with('-') ? -kInfinity : kInfinity;
  double value = 0;
  return parse_number(text, value) ? std::optional(value) : std::nullopt;
}

// A whole number as the bits that a record keeps.
std::optional<int64_t> whole_of(std::string_view text, DType dtype) {
  uint64_t positive = 0;
  int64_t whole = 0;
  if (dtype == DType::kUInt64) return parse_unsigned(text, positive) ? std::optional(static_cast<int64_t>(positive)) : std::nullopt;
  return parse_integer(text, whole) ? std::optional(whole) : std::nullopt;
}

bool is_integer(DType dtype) {
  const DTypeKind kind = dtype_info(dtype).kind;
  return kind == DTypeKind::kSigned || kind == DTypeKind::kUnsigned;
}

}  // namespace

std::array<std::string, 4> msit_statistic_texts(const TensorStats& given, DType dtype) {
  std::array<std::string, 4> texts;
  texts.fill(std::string(kNone));
  const DTypeKind kind = dtype_info(dtype).kind;
  const bool is_complex = dtype == DType::kComplex64;
  if (!is_integer(dtype) && kind != DTypeKind::kFloat && !is_complex) return texts;
  const TensorStats stats = is_integer(dtype) ? given : with_nonfinite(given, dtype);
  if ((stats.valid & kStatL2) != 0) texts[3] = fixed_text(stats.l2);
  if (is_complex) return texts;
  if ((stats.valid & kStatMax) != 0) texts[0] = is_integer(dtype) ? whole_text(stats.max_integer, dtype) : fixed_text(stats.max);
  if ((stats.valid & kStatMin) != 0) texts[1] = is_integer(dtype) ? whole_text(stats.min_integer, dtype) : fixed_text(stats.min);
  if ((stats.valid & kStatMean) != 0) texts[2] = fixed_text(stats.mean);
  return texts;
}

void read_msit_statistic(size_t number, std::string_view text, DType dtype, TensorStats& stats) {
  const auto value = number_of(text);
  if (!value) return;
  if (number >= 2) {
    (number == 2 ? stats.mean : stats.l2) = *value;
    stats.valid |= number == 2 ? kStatMean : kStatL2;
    return;
  }
  if (is_integer(dtype)) {
    const auto whole = whole_of(text, dtype);
    if (!whole) return;
    (number == 0 ? stats.max_integer : stats.min_integer) = *whole;
  }
  (number == 0 ? stats.max : stats.min) = *value;
  stats.valid |= number == 0 ? kStatMax : kStatMin;
}

void finish_msit_statistics(DType dtype, TensorStats& stats) {
  constexpr uint32_t kExtremes = kStatMax | kStatMin;
  if (dtype_info(dtype).kind != DTypeKind::kFloat || (stats.valid & kExtremes) != kExtremes || !(stats.max < stats.min)) return;
  stats.max = stats.min = std::numeric_limits<double>::quiet_NaN();
}

}  // namespace tensortap
