// A trial of what measures on a device: whether it counts as the host does, on a few numbers of each type. Until it has an answer, and if
// the answer is wrong, tensors of that type are not measured there.

#ifndef TENSORTAP_SOURCE_PYTORCH_ADAPTER_MEASURING_TRIAL_H_
#define TENSORTAP_SOURCE_PYTORCH_ADAPTER_MEASURING_TRIAL_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <tensortap/asking.h>

#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "source/pytorch/adapter/late_copies.h"

namespace tensortap::torch_adapter {

// Zeros of both signs, subnormal numbers, extremes, and what is not finite, as far as the type has them. In host memory.
at::Tensor trial_numbers(at::ScalarType type);
// The same numbers on the device, queued on the thread's stream. Undefined if there is no pinned memory for them.
at::Tensor numbers_on_device(const at::Tensor& numbers, c10::Device device);
// Whether a device measured these numbers right: counts and extremes exactly, sums within this part of their size.
bool is_right(const at::Tensor& numbers, const tensortap_measured& measured, double tolerance);

// The trials of one way to measure. Thread-safe.
class Trials {
 public:
  // Texts for people, which live as long as the process.
  struct Reasons {
    const char* on_trial;
    const char* wrong;
    const char* refused;
  };
  Trials(Reasons reasons, double tolerance) : reasons_(reasons), tolerance_(tolerance) {}

  // Null, or why the device does not measure tensors of this type. `needs_trial`: the caller calls begin().
  const char* why_not(c10::Device device, at::ScalarType type, bool& needs_trial);
  // The ticket of the statistics of these numbers, all of them asked for.
  void begin(c10::Device device, at::Tensor numbers, LateElements* ticket);
  void refuse(c10::Device device, at::ScalarType type);

 private:
  struct Trial {
    const char* why_not;
    at::Tensor numbers{};
    LateElements* ticket = nullptr;  // while it is under way
  };
  Trial& of_locked(c10::Device device, at::ScalarType type);
  void judge_locked(Trial& trial) const;

  const Reasons reasons_;
  const double tolerance_;
  std::mutex mutex_;
  std::map<std::tuple<c10::DeviceType, c10::DeviceIndex, at::ScalarType>, Trial> trials_;
};

}  // namespace tensortap::torch_adapter

#endif  // TENSORTAP_SOURCE_PYTORCH_ADAPTER_MEASURING_TRIAL_H_
