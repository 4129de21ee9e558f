#include "source/pytorch/adapter/device_copy.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "source/pytorch/adapter/adapter_interface.h"
#include "source/pytorch/adapter/device_elements.h"
#include "source/pytorch/adapter/device_statistics.h"
#include "source/pytorch/adapter/graph_recording.h"
#include "source/pytorch/adapter/kernel_statistics.h"
#include "source/pytorch/adapter/late_copies.h"
#include "source/pytorch/adapter/thread_frames.h"

namespace tensortap::torch_adapter {
namespace {

constexpr const char* kRecorded = "recorded into a graph of the device";
constexpr const char* kNoCopy = "tensor on a device that gave no copy of it";
constexpr const char* kNoTensor = "tensor on a device that no longer exists";
constexpr const char* kNeedsWait = "memory that has to be waited for";
constexpr int64_t kMostSpare = int64_t{64} << 20;

// The thread's spare memory if it is large enough, otherwise new memory.
at::Tensor host_memory(ThreadFrames& frames, int64_t bytes) {
  if (frames.spare.defined() && frames.spare.numel() >= bytes) return std::move(frames.spare);
  return at::empty({bytes}, at::TensorOptions(at::kByte).device(at::kCPU));
}

const void* copy_of(ThreadFrames& frames, const at::Tensor& tensor, int* packed) {
  const Unseen unseen;
  bool elements_alone = false;
  const at::Tensor from = flat(tensor, elements_alone);
  at::Tensor memory = host_memory(frames, static_cast<int64_t>(from.nbytes()));
  const at::TensorOptions options = from.options().device(at::kCPU).requires_grad(false);
  at::from_blob(memory.mutable_data_ptr(), {from.numel()}, options).copy_(from);
  *packed = elements_alone ? 1 : 0;
  frames.copies.push_back(std::move(memory));
  return frames.copies.back().const_data_ptr();
}

struct Device {
  tensortap_device told{};
  c10::Device device{c10::DeviceType::CPU};
  std::string name;
};

at::Tensor tensor_of(const tensortap_torch_tensor& facts) {
  auto* impl = const_cast<c10::TensorImpl*>(static_cast<const c10::TensorImpl*>(facts.tensor));
  return at::Tensor(c10::intrusive_ptr<c10::TensorImpl>::reclaim_copy(impl));
}

const void* fetch_from(const Device& from, const tensortap_torch_tensor& facts, int* packed, const char** reason) {
  ThreadFrames* frames = thread_frames();
  *reason = kNoTensor;
  const bool on_device = facts.kind == TENSORTAP_TORCH_DEVICE;
  if (frames == nullptr || facts.data == nullptr || (on_device && facts.tensor == nullptr)) return nullptr;
  const c10::impl::VirtualGuardImpl device(from.device.type());
  const c10::Stream stream = device.getStream(from.device);
  *reason = kRecorded;
  if (is_recorded(device, stream)) return nullptr;
  *reason = kNoCopy;
  const RecordingsOfOthers undisturbed(from.device.type());
  if (!on_device) {
    device.synchronizeStream(stream);
    // The description is the call's own.
    const_cast<tensortap_torch_tensor&>(facts).flags &= ~uint32_t{TENSORTAP_TORCH_TENSOR_UNFILLED};
    return facts.data;
  }
  return copy_of(*frames, tensor_of(facts), packed);
}

// Calls queue_on(stream) where work behind that of the thread's stream sees the elements. Host memory is the program's own: it may change
// as soon as the program has waited for it, so that only a wait of ours sees it. What a collective wrote may be written over on another
// stream than this thread's.
template <class QueueOn>
int queue_from(const Device& from, const tensortap_torch_tensor& facts, const char** reason, const QueueOn& queue_on) {
  ThreadFrames* frames = thread_frames();
  *reason = kNoTensor;
  if (frames == nullptr || facts.data == nullptr) return TENSORTAP_DEVICE_FAILED;
  const c10::impl::VirtualGuardImpl device(from.device.type());
  const c10::Stream stream = device.getStream(from.device);
  *reason = kRecorded;
  if (is_recorded(device, stream)) return TENSORTAP_DEVICE_FAILED;
  *reason = kNeedsWait;
  if (facts.kind != TENSORTAP_TORCH_DEVICE || facts.tensor == nullptr || frames->tells_collective) return TENSORTAP_DEVICE_FETCH_ONLY;
  *reason = kNoCopy;
  const RecordingsOfOthers undisturbed(from.device.type());
  return queue_on(stream);
}

int queue(const tensortap_device* told, const void* source, int* packed, void** ticket, const char** reason) {
  *packed = 0;
  const auto& facts = *static_cast<const tensortap_torch_tensor*>(source);
  try {
    return queue_from(*static_cast<const Device*>(told->memory), facts, reason, [&](const c10::Stream& stream) {
      LateElements* elements = nullptr;
      const int state = begin_copy(tensor_of(facts), stream, packed, &elements);
      *ticket = elements;
      return state;
    });
  } catch (...) {
    *reason = kNoCopy;
    return TENSORTAP_DEVICE_FAILED;
  }
}

int measure(const tensortap_device* told, const void* source, uint32_t wanted, tensortap_measuring* begun, const char** reason) {
  const auto& facts = *static_cast<const tensortap_torch_tensor*>(source);
  const auto& from = *static_cast<const Device*>(told->memory);
  try {
    return queue_from(from, facts, reason, [&](const c10::Stream& stream) {
      bool never = true;
      if ((wanted & TENSORTAP_MEASURE_BY_KERNEL) != 0) {
        const int state = begin_kernel({facts, stream, wanted}, *begun, reason, never);
        if (state != TENSORTAP_DEVICE_FETCH_ONLY || !never) return state;
      }
      const char* const why_no_kernel = *reason;
      const int state = begin_statistics(tensor_of(facts), stream, wanted, *begun, reason);
      if (state == TENSORTAP_DEVICE_QUEUED) *reason = why_no_kernel;
      return state;
    });
  } catch (...) {
    *reason = kNoCopy;
    return TENSORTAP_DEVICE_FAILED;
  }
}

int poll(const tensortap_device* /*told*/, void* ticket, const void** data) {
  return look_at_copy(*static_cast<LateElements*>(ticket), data);
}

void drop(const tensortap_device* /*told*/, void* ticket) { end_copy(static_cast<LateElements*>(ticket)); }

const void* fetch(const tensortap_device* told, const void* source, int* packed, const char** reason) {
  *packed = 0;
  try {
    return fetch_from(*static_cast<const Device*>(told->memory), *static_cast<const tensortap_torch_tensor*>(source), packed, reason);
  } catch (...) {
    *reason = kNoCopy;
    return nullptr;
  }
}

void release(const tensortap_device* /*told*/, const void* data) {
  ThreadFrames* frames = thread_frames();
  if (frames == nullptr) return;
  auto& copies = frames->copies;
  const auto found = std::find_if(copies.rbegin(), copies.rend(), [data](const at::Tensor& one) { return one.const_data_ptr() == data; });
  if (found == copies.rend()) return;
  if (found->numel() <= kMostSpare) frames->spare = std::move(*found);
  copies.erase(std::next(found).base());
}

}  // namespace

const tensortap_device* device_memory(c10::Device device) {
  static auto& mutex = *new std::mutex;
  static auto& devices = *new std::vector<const Device*>;
  // A thread works on one device most of the time.
  static thread_local const Device* latest = nullptr;
  if (latest != nullptr && latest->device == device) return &latest->told;
  const std::lock_guard lock(mutex);
  const auto known = std::find_if(devices.begin(), devices.end(), [device](const Device* one) { return one->device == device; });
  if (known != devices.end()) return &(latest = *known)->told;
  auto* made = new Device;
  made->device = device;
  made->name = c10::DeviceTypeName(device.type(), true);
  made->told.size = sizeof made->told;
  made->told.index = device.index();
  made->told.name = made->name.c_str();
  made->told.memory = made;
  made->told.fetch = fetch;
  made->told.release = release;
  made->told.queue = queue;
  made->told.poll = poll;
  made->told.drop = drop;
  made->told.measure = measure;
  devices.push_back(made);
  return &(latest = made)->told;
}

}  // namespace tensortap::torch_adapter
