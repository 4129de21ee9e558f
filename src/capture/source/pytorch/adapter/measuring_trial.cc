#include "source/pytorch/adapter/measuring_trial.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "source/pytorch/adapter/pinned_memory.h"

namespace tensortap::torch_adapter {
namespace {

// The smallest number that is not zero, and the smallest normal one.
std::pair<double, double> tiny_numbers_of(at::ScalarType type) {
  switch (type) {
    case at::kDouble:
      return {0x1p-1074, 0x1p-1022};
    case at::kHalf:
      return {0x1p-24, 0x1p-14};
    case at::kBFloat16:
      return {0x1p-133, 0x1p-126};
    case at::kFloat8_e4m3fn:
      return {0x1p-9, 0x1p-6};
    case at::kFloat8_e4m3fnuz:
      return {0x1p-10, 0x1p-7};
    case at::kFloat8_e5m2:
      return {0x1p-16, 0x1p-14};
    case at::kFloat8_e5m2fnuz:
      return {0x1p-17, 0x1p-15};
    default:
      return {0x1p-149, 0x1p-126};
  }
}

at::Tensor floats(at::ScalarType type) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double tiny = tiny_numbers_of(type).first;
  const std::vector<double> values = {1, -2.5, 0, std::nan(""), kInfinity, -kInfinity, -0.0, tiny, -tiny, 7, 1e4, -1e4, tiny, std::nan("")};
  return at::tensor(values, at::kDouble).to(type);
}

at::Tensor integers(at::ScalarType type) {
  if (type == at::kBool) return at::tensor(std::vector<int64_t>{1, 0, 0, 1, 1}, at::kLong).to(at::kBool);
  const bool is_signed = type == at::kChar || type == at::kShort || type == at::kInt || type == at::kLong;
  // Also of 64 bits without a sign, which torch converts by way of those with one.
  const int bits = std::min(static_cast<int>(8 * c10::elementSize(type)) - (is_signed ? 1 : 0), 63);
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
    found.subnormal += x != 0 && std::abs(x) < tiny_numbers_of(numbers.scalar_type()).second ? 1 : 0;
    found.min = std::min(found.min, x);
    found.max = std::max(found.max, x);
    found.sum += x;
    found.magnitudes += std::abs(x);
  }
  for (const double x : finite) found.deviations += std::pow(x - found.sum / static_cast<double>(finite.size()), 2);
  return found;
}

bool is_near(double a, double b, double size) { return std::abs(a - b) <= size; }

}  // namespace

at::Tensor trial_numbers(at::ScalarType type) { return at::isFloatingType(type) ? floats(type) : integers(type); }

at::Tensor numbers_on_device(const at::Tensor& numbers, c10::Device device) {
  // In pinned memory for good: the device reads them later.
  PinnedBlock block = PinnedMemory::get().take(static_cast<int64_t>(numbers.nbytes()));
  if (block.data == nullptr) return {};
  const at::Tensor source = at::from_blob(block.data, numbers.sizes(), numbers.options());
  source.copy_(numbers);
  at::Tensor there = at::empty(numbers.sizes(), numbers.options().device(device));
  there.copy_(source, true);
  return there;
}

bool is_right(const at::Tensor& numbers, const tensortap_measured& measured, double tolerance) {
  const tensortap_measured here = measured_here(numbers);
  const bool counts = measured.elements == here.elements && measured.nan == here.nan && measured.pos_inf == here.pos_inf &&
                      measured.neg_inf == here.neg_inf && measured.zero == here.zero && measured.neg_zero == here.neg_zero &&
                      measured.negative == here.negative && measured.first_nonfinite == here.first_nonfinite;
  const bool extremes = measured.min == here.min && measured.max == here.max;
  const bool sums = is_near(measured.sum, here.sum, tolerance * here.magnitudes) &&
                    is_near(measured.magnitudes, here.magnitudes, tolerance * here.magnitudes) &&
                    is_near(measured.deviations, here.deviations, tolerance * here.deviations);
  if (at::isFloatingType(numbers.scalar_type())) return counts && extremes && sums && measured.subnormal == here.subnormal;
  const at::Tensor whole = numbers.to(at::kLong);
  const int64_t* const first = whole.const_data_ptr<int64_t>();
  const auto [least, most] = std::minmax_element(first, first + whole.numel());
  return counts && extremes && sums && measured.min_integer == *least && measured.max_integer == *most;
}

const char* Trials::why_not(c10::Device device, at::ScalarType type, bool& needs_trial) {
  const std::lock_guard lock(mutex_);
  Trial& trial = of_locked(device, type);
  if (trial.ticket != nullptr) judge_locked(trial);
  needs_trial = trial.why_not == reasons_.on_trial && trial.ticket == nullptr;
  return trial.why_not;
}

void Trials::begin(c10::Device device, at::Tensor numbers, LateElements* ticket) {
  const std::lock_guard lock(mutex_);
  Trial& trial = of_locked(device, numbers.scalar_type());
  // Two threads may begin at the same time.
  if (trial.ticket != nullptr) return end_copy(ticket);
  trial.numbers = std::move(numbers);
  trial.ticket = ticket;
}

void Trials::refuse(c10::Device device, at::ScalarType type) {
  const std::lock_guard lock(mutex_);
  of_locked(device, type).why_not = reasons_.refused;
}

Trials::Trial& Trials::of_locked(c10::Device device, at::ScalarType type) {
  return trials_.try_emplace({device.type(), device.index(), type}, Trial{reasons_.on_trial}).first->second;
}

void Trials::judge_locked(Trial& trial) const {
  const void* data = nullptr;
  const int state = look_at_copy(*trial.ticket, &data);
  if (state == 0) return;
  const bool right = state > 0 && is_right(trial.numbers, *static_cast<const tensortap_measured*>(data), tolerance_);
  if (trial.why_not == reasons_.on_trial) trial.why_not = right ? nullptr : state > 0 ? reasons_.wrong : reasons_.refused;
  end_copy(trial.ticket);
  trial.ticket = nullptr;
}

}  // namespace tensortap::torch_adapter
