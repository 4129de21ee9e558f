#include "source/pytorch/adapter/kernel_statistics.h"

#include <ATen/ATen.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <memory>
#include <vector>

#include "source/pytorch/adapter/device_elements.h"
#include "source/pytorch/adapter/graph_recording.h"
#include "source/pytorch/adapter/late_copies.h"
#include "source/pytorch/adapter/measuring_trial.h"
#include "source/pytorch/adapter/tensor_facts.h"

namespace tensortap::torch_adapter {
namespace {

constexpr const char* kKernelOnTrial = "before the statistics kernel was known to count as the host does";
constexpr const char* kKernelWrong = "the statistics kernel does not count as the host does";
constexpr const char* kKernelRefused = "the statistics kernel refused this type";
constexpr const char* kNoStream = "stream without a handle of the driver";
constexpr const char* kNoMemory = "no memory of the host that the device can write into";

const tensortap_torch_tracker* tracker_with_kernel = nullptr;

// What the device wrote, in the words of the interface.
class KernelParts final : public LateReading {
 public:
  explicit KernelParts(uint64_t count) : parts_(count) {}
  const void* read(const void* data) override {
    return tracker_with_kernel->read_kernel(data, parts_.size(), parts_.data()) != 0 ? parts_.data() : nullptr;
  }

 private:
  std::vector<tensortap_measured> parts_;
};

Trials& trials() {
  // Sums are those of floats: docs/statistics.md.
  static auto& trials = *new Trials({kKernelOnTrial, kKernelWrong, kKernelRefused}, 0x1p-20);
  return trials;
}

// What one launch takes.
struct Room {
  uint64_t bytes = 0;
  uint64_t parts = 0;
};

Room room_for(const tensortap_torch_tensor& facts, const char** reason, bool& never) {
  Room room;
  int is_never = 0;
  room.bytes = tracker_with_kernel->kernel_bytes(&facts, &room.parts, reason, &is_never);
  never = is_never != 0;
  return room;
}

// One launch. FETCH_ONLY and *reason if nothing was queued.
int launch(const KernelTask& task, const Room& room, tensortap_measuring& begun, const char** reason) {
  void* native = nullptr;
  *reason = kNoStream;
  const c10::Device place = task.stream.device();
  if (!find_native_stream(c10::impl::VirtualGuardImpl(place.type()), task.stream, native)) return TENSORTAP_DEVICE_FETCH_ONLY;
  *reason = kNoMemory;
  LateElements* late = nullptr;
  const auto bytes = static_cast<int64_t>(room.bytes);
  const int state = begin_writing(place, task.stream, bytes, &late, std::make_unique<KernelParts>(room.parts), [&](void* block) {
    const char* const refused = tracker_with_kernel->launch_kernel(&task.facts, task.wanted, native, block);
    if (refused != nullptr) *reason = refused;
    return refused == nullptr;
  });
  if (state != TENSORTAP_DEVICE_QUEUED) return state;
  begun.ticket = late;
  begun.parts = room.parts;
  begun.launches = begun.kernels = 1;
  return state;
}

void try_kernel(at::ScalarType type, const c10::Stream& stream) {
  const Unseen unseen;
  const at::Tensor numbers = trial_numbers(type);
  const at::Tensor there = numbers_on_device(numbers, stream.device());
  if (!there.defined()) return;
  tensortap_torch_tensor facts = describe(there, 0, -1);
  const char* reason = nullptr;
  bool never = false;
  const Room room = room_for(facts, &reason, never);
  const KernelTask task{facts, stream, TENSORTAP_MEASURE_MAGNITUDES | TENSORTAP_MEASURE_SUBNORMAL};
  tensortap_measuring begun{};
  if (room.bytes == 0 || launch(task, room, begun, &reason) != TENSORTAP_DEVICE_QUEUED) return;
  trials().begin(stream.device(), numbers, static_cast<LateElements*>(begun.ticket));
}

}  // namespace

void set_kernel_tracker(const tensortap_torch_tracker* tracker) { tracker_with_kernel = tracker; }

int begin_kernel(const KernelTask& task, tensortap_measuring& begun, const char** reason, bool& never) noexcept {
  begun = {};
  const auto& impl = *static_cast<const c10::TensorImpl*>(task.facts.tensor);
  const at::ScalarType type = c10::typeMetaToScalarType(impl.dtype());
  try {
    const Room room = room_for(task.facts, reason, never);
    if (room.bytes == 0) return TENSORTAP_DEVICE_FETCH_ONLY;
    bool needs_trial = false;
    *reason = trials().why_not(impl.device(), type, needs_trial);
    if (needs_trial) try_kernel(type, task.stream);
    if (*reason != nullptr) return TENSORTAP_DEVICE_FETCH_ONLY;
    return launch(task, room, begun, reason);
  } catch (...) {
    *reason = kKernelRefused;
    trials().refuse(impl.device(), type);
    return TENSORTAP_DEVICE_FETCH_ONLY;
  }
}

}  // namespace tensortap::torch_adapter
