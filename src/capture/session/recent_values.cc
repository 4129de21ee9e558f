#include "session/recent_values.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace tensortap {
namespace {

constexpr size_t kFewestForFences = 4;
constexpr double kFence = 2;         // times the spread of the middle half
constexpr double kAlwaysNear = 0.1;  // times the value in the middle
constexpr size_t kFew = 8;
constexpr size_t kRarely = 4;

}  // namespace

double RecentValues::Fences::pull(double value) const { return std::clamp(value, low, high); }

void RecentValues::add(double value) {
  values_[count_++ % kKept] = value;
  if (count_ <= kFew || count_ % kRarely == 0) work_out();
}

void RecentValues::scale(double factor) {
  for (double& value : values_) value *= factor;
  work_out();
}

void RecentValues::work_out() {
  const size_t kept = count();
  std::array<double, kKept> sorted = values_;
  const auto values = std::span(sorted).first(kept);
  if (kept >= kFewestForFences) {
    std::ranges::sort(values);
    const double first = sorted[kept / 4];
    const double third = sorted[kept - 1 - kept / 4];
    const double reach = kFence * (third - first) + kAlwaysNear * std::abs(sorted[kept / 2]);
    fences_ = {first - reach, third + reach};
  }
  double sum = 0;
  for (double& value : values) sum += value = fences_.pull(value);
  typical_ = kept == 0 ? 0 : sum / static_cast<double>(kept);
  double squares = 0;
  for (const double value : values) squares += (value - typical_) * (value - typical_);
  variance_ = kept < 2 ? 0 : squares / static_cast<double>(kept - 1);
}

}  // namespace tensortap
