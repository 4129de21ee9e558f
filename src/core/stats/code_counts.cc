#include "stats/code_counts.h"

#include <cmath>
#include <cstring>

#include "tensor/number_formats.h"

namespace tensortap {
namespace {

// Below this, counting bytes by way of the tables costs more than counting each.
constexpr uint64_t kFewBytes = 256;
constexpr uint64_t kFoldBytes = uint64_t{1} << 31;

}  // namespace

CodeCounts::CodeCounts(DType dtype) : dtype_(dtype), bits_(dtype_info(dtype).bits) {}

bool CodeCounts::serves(DType dtype) {
  const DTypeInfo& info = dtype_info(dtype);
  return info.bits > 0 && (info.bits < 8 || (info.bits == 8 && info.kind == DTypeKind::kFloat));
}

void CodeCounts::add(const void* data, uint64_t count) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  if (!has_any_) codes_ = {};
  has_any_ = true;
  const uint64_t per_byte = 8 / bits_;
  const uint32_t mask = (1U << bits_) - 1;
  uint64_t whole = count / per_byte;
  uint64_t i = 0;
  if (whole >= kFewBytes) {
    if (waiting_ == 0) bytes_ = {};
    if (waiting_ + whole > kFoldBytes) fold();
    for (; i + 4 <= whole; i += 4) {
      uint32_t four;
      std::memcpy(&four, bytes + i, sizeof(four));
      ++bytes_[0][four & 0xFFU];
      ++bytes_[1][(four >> 8) & 0xFFU];
      ++bytes_[2][(four >> 16) & 0xFFU];
      ++bytes_[3][four >> 24];
    }
    waiting_ += i;
  }
  for (i *= per_byte; i < count; ++i) ++codes_[(uint32_t{bytes[i / per_byte]} >> (bits_ * (i % per_byte))) & mask];
}

void CodeCounts::fold() {
  if (waiting_ == 0) return;
  const uint32_t mask = (1U << bits_) - 1;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const uint64_t times = uint64_t{bytes_[0][byte]} + bytes_[1][byte] + bytes_[2][byte] + bytes_[3][byte];
    for (uint32_t bit = 0; bit < 8; bit += bits_) codes_[(byte >> bit) & mask] += times;
  }
  bytes_ = {};
  waiting_ = 0;
}

StatsState CodeCounts::state() {
  StatsState state;
  if (!has_any_) return state;
  fold();
  const double smallest_normal = float_limits(dtype_).smallest_normal;
  std::array<uint8_t, 256> values_of;
  std::array<double, 256> values;
  std::array<double, 256> weights;
  size_t kinds = 0;
  for (uint32_t code = 0; code < (1U << bits_); ++code) {
    const uint64_t times = codes_[code];
    if (times == 0) continue;
    values_of[0] = static_cast<uint8_t>(code);
    double value = 0;
    to_float64(dtype_, values_of.data(), 0, 1, &value);
    state.count += times;
    if (std::isnan(value)) {
      state.nan += times;
      continue;
    }
    if (std::isinf(value)) {
      (value > 0 ? state.pos_inf : state.neg_inf) += times;
      continue;
    }
    state.finite += times;
    state.min = std::min(state.min, value);
    state.max = std::max(state.max, value);
    state.sum += value * static_cast<double>(times);
    state.magnitudes += std::abs(value) * static_cast<double>(times);
    if (value != 0 && std::abs(value) < smallest_normal) state.subnormal += times;
    state.squares += value * value * static_cast<double>(times);
    if (value == 0) state.zero += times;
    if (value == 0 && std::signbit(value)) state.neg_zero += times;
    if (value < 0) state.negative += times;
    values[kinds] = value;
    weights[kinds++] = static_cast<double>(times);
  }
  if (state.finite == 0) return state;
  const double mean = state.sum / static_cast<double>(state.finite);
  for (size_t i = 0; i < kinds; ++i) state.deviations += (values[i] - mean) * (values[i] - mean) * weights[i];
  if (dtype_info(dtype_).kind != DTypeKind::kFloat) {
    state.min_integer = static_cast<int64_t>(state.min);
    state.max_integer = static_cast<int64_t>(state.max);
  }
  return state;
}

}  // namespace tensortap
