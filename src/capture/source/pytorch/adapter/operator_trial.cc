#include "source/pytorch/adapter/operator_trial.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace tensortap::torch_adapter {
namespace {

double smallest_of(at::ScalarType type) { return type == at::kHalf ? 0x1p-24 : type == at::kBFloat16 ? 0x1p-133 : 0x1p-149; }
double normal_of(at::ScalarType type) { return type == at::kHalf ? 0x1p-14 : 0x1p-126; }

at::Tensor floats(at::ScalarType type) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double tiny = smallest_of(type);
  const std::vector<double> values = {1, -2.5, 0, std::nan(""), kInfinity, -kInfinity, -0.0, tiny, -tiny, 7, 1e4, -1e4, tiny, std::nan("")};
  return at::tensor(values, at::kDouble).to(type);
}

at::Tensor integers(at::ScalarType type) {
  if (type == at::kBool) return at::tensor(std::vector<int64_t>{1, 0, 0, 1, 1}, at::kLong).to(at::kBool);
  const bool is_signed = type != at::kByte;
  const int bits = static_cast<int>(8 * c10::elementSize(type)) - (is_signed ? 1 : 0);
  const int64_t most = bits == 63 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << bits) - 1;
  return at::tensor(std::vector<int64_t>{5, 0, most, is_signed ? -most - 1 : 0, 3, 0, most - 1}, at::kLong).to(type);
}

tensortap_measured measured_here(const at::Tensor& numbers) {
  const at::Tensor reals = numbers.to(at::kDouble);
  tensortap_measured found{};
  found.elements = reals.numel();
  found.first_nonfinite = -1;
  found.min = std::numeric_limits<double>::infinity();
  found.max = -found.min;
  std::vector<double> finite;
  for (int64_t i = 0; i < reals.numel(); ++i) {
    const double x = reals.const_data_ptr<double>()[i];
    found.nan += std::isnan(x) ? 1 : 0;
    found.pos_inf += std::isinf(x) && x > 0 ? 1 : 0;
    found.neg_inf += std::isinf(x) && x < 0 ? 1 : 0;
    found.zero += x == 0 ? 1 : 0;
    found.neg_zero += x == 0 && std::signbit(x) ? 1 : 0;
    if (!std::isfinite(x) && found.first_nonfinite < 0) found.first_nonfinite = i;
    if (!std::isfinite(x)) continue;
    finite.push_back(x);
    found.negative += x < 0 ? 1 : 0;
    found.subnormal += x != 0 && std::abs(x) < normal_of(numbers.scalar_type()) ? 1 : 0;
    found.min = std::min(found.min, x);
    found.max = std::max(found.max, x);
    found.sum += x;
    found.magnitudes += std::abs(x);
  }
  for (const double x : finite) found.deviations += std::pow(x - found.sum / static_cast<double>(finite.size()), 2);
  return found;
}

bool is_near(double a, double b, double size) { return std::abs(a - b) <= 0x1p-40 * size; }

}  // namespace

at::Tensor trial_numbers(at::ScalarType type) { return at::isFloatingType(type) ? floats(type) : integers(type); }

bool is_right(const at::Tensor& numbers, const tensortap_measured& measured) {
  const tensortap_measured here = measured_here(numbers);
  const bool counts = measured.elements == here.elements && measured.nan == here.nan && measured.pos_inf == here.pos_inf &&
                      measured.neg_inf == here.neg_inf && measured.zero == here.zero && measured.neg_zero == here.neg_zero &&
                      measured.negative == here.negative && measured.first_nonfinite == here.first_nonfinite;
  const bool extremes = measured.min == here.min && measured.max == here.max;
  const bool sums = is_near(measured.sum, here.sum, here.magnitudes) && is_near(measured.magnitudes, here.magnitudes, here.magnitudes) &&
                    is_near(measured.deviations, here.deviations, here.deviations);
  if (at::isFloatingType(numbers.scalar_type())) return counts && extremes && sums && measured.subnormal == here.subnormal;
  const at::Tensor whole = numbers.to(at::kLong);
  const int64_t* const first = whole.const_data_ptr<int64_t>();
  const auto [least, most] = std::minmax_element(first, first + whole.numel());
  return counts && extremes && sums && measured.min_integer == *least && measured.max_integer == *most;
}

}  // namespace tensortap::torch_adapter
