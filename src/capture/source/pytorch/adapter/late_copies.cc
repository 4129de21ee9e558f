#include "source/pytorch/adapter/late_copies.h"

#include <ATen/ATen.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <tensortap/asking.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "source/pytorch/adapter/device_elements.h"
#include "source/pytorch/adapter/graph_recording.h"
#include "source/pytorch/adapter/pinned_memory.h"

namespace tensortap::torch_adapter {

struct LateElements {
  c10::Device device{c10::DeviceType::CPU};
  PinnedBlock block;
  std::unique_ptr<c10::Event> event;
  std::unique_ptr<LateReading> reading{};
  const void* data = nullptr;
  int state = 0;
};

namespace {

constexpr int kThere = 1;
constexpr int kLost = -1;

// Events are made once and used again: a program has thousands of copies a second.
class Events {
 public:
  static Events& get() {
    static auto& events = *new Events;
    return events;
  }
  std::unique_ptr<c10::Event> take(c10::Device device) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = std::find_if(free_.rbegin(), free_.rend(), [device](const auto& one) { return one.first == device; });
      if (found != free_.rend()) {
        std::unique_ptr<c10::Event> event = std::move(found->second);
        free_.erase(std::next(found).base());
        return event;
      }
    }
    return std::make_unique<c10::Event>(device.type());
  }
  void give_back(c10::Device device, std::unique_ptr<c10::Event> event) {
    const std::lock_guard lock(mutex_);
    free_.emplace_back(device, std::move(event));
  }

 private:
  std::mutex mutex_;
  std::vector<std::pair<c10::Device, std::unique_ptr<c10::Event>>> free_;
};

// Copies that torch refused. A device that reports an error goes on reporting it, and each copy takes memory with it.
std::atomic<int> failures{0};
constexpr int kMostFailures = 8;

// Set when torch has no pinned memory, or no events, for the devices of this program.
std::atomic<bool> is_impossible{false};

// Copies whose owner did not wait until they came. The device may still write into their blocks.
class Abandoned {
 public:
  static Abandoned& get() {
    static auto& abandoned = *new Abandoned;
    return abandoned;
  }
  void add(LateElements* elements) {
    const std::lock_guard lock(mutex_);
    elements_.push_back(elements);
    count_ = elements_.size();
  }
  // Takes back the blocks of those that came meanwhile.
  void sweep() {
    if (count_ == 0) return;
    std::vector<LateElements*> came;
    {
      const std::lock_guard lock(mutex_);
      const auto is_coming = [](LateElements* one) {
        const void* data = nullptr;
        return look_at_copy(*one, &data) == 0;
      };
      const auto middle = std::partition(elements_.begin(), elements_.end(), is_coming);
      came.assign(middle, elements_.end());
      elements_.erase(middle, elements_.end());
      count_ = elements_.size();
    }
    for (LateElements* one : came) end_copy(one);
  }

 private:
  std::mutex mutex_;
  std::vector<LateElements*> elements_;
  std::atomic<size_t> count_{0};
};

bool prepare(LateElements& made, int64_t bytes, int& refusal) {
  try {
    made.block = PinnedMemory::get().take(bytes);
    refusal = TENSORTAP_DEVICE_NO_ROOM;
    if (made.block.data == nullptr) return false;
    made.event = Events::get().take(made.device);
    return true;
  } catch (...) {
    is_impossible = true;
    refusal = TENSORTAP_DEVICE_FETCH_ONLY;
    return false;
  }
}

}  // namespace

bool may_begin_copies() { return !is_impossible && failures < kMostFailures; }

int begin_writing(c10::Device device, const c10::Stream& stream, int64_t bytes, LateElements** elements,
                  std::unique_ptr<LateReading> reading, const std::function<bool(void* block)>& queue) {
  if (!may_begin_copies() || bytes > PinnedMemory::kLargest) return TENSORTAP_DEVICE_FETCH_ONLY;
  Abandoned::get().sweep();
  auto made = std::make_unique<LateElements>();
  made->device = device;
  made->reading = std::move(reading);
  int refusal = TENSORTAP_DEVICE_FETCH_ONLY;
  const auto take_back = [&made] {
    if (made->block.data != nullptr) PinnedMemory::get().give_back(std::move(made->block));
  };
  if (!prepare(*made, bytes, refusal)) {
    take_back();
    return refusal;
  }
  // From here on a failure leaves the block to the device, which may write into it.
  LateElements* const kept = made.get();
  try {
    if (!queue(kept->block.data)) {
      take_back();
      Events::get().give_back(device, std::move(kept->event));
      return TENSORTAP_DEVICE_FETCH_ONLY;
    }
    kept->event->record(stream);
  } catch (...) {
    static_cast<void>(made.release());
    ++failures;
    throw;
  }
  *elements = made.release();
  return TENSORTAP_DEVICE_QUEUED;
}

int begin_copy(const at::Tensor& tensor, const c10::Stream& stream, int* packed, LateElements** elements,
               std::unique_ptr<LateReading> reading) {
  if (!may_begin_copies()) return TENSORTAP_DEVICE_FETCH_ONLY;
  const Unseen unseen;
  bool elements_alone = false;
  const at::Tensor from = flat(tensor, elements_alone);
  const at::TensorOptions options = from.options().device(at::kCPU).requires_grad(false);
  *packed = elements_alone ? 1 : 0;
  return begin_writing(tensor.device(), stream, static_cast<int64_t>(from.nbytes()), elements, std::move(reading), [&](void* block) {
    at::from_blob(block, {from.numel()}, options).copy_(from, true);
    return true;
  });
}

int look_at_copy(LateElements& elements, const void** data) noexcept {
  if (elements.state == 0) {
    try {
      // A thread that never used this device must not begin to use another one.
      const c10::impl::VirtualGuardImpl device(elements.device.type());
      device.setDevice(elements.device);
      const RecordingsOfOthers undisturbed(elements.device.type());
      if (elements.event->query()) {
        elements.data = elements.reading == nullptr ? elements.block.data : elements.reading->read(elements.block.data);
        elements.state = elements.data == nullptr ? kLost : kThere;
      }
    } catch (...) {
      elements.state = kLost;
    }
  }
  *data = elements.state == kThere ? elements.data : nullptr;
  return elements.state;
}

void end_copy(LateElements* elements) noexcept {
  try {
    if (elements->state == 0) return Abandoned::get().add(elements);
    if (elements->state != kThere) return;
    PinnedMemory::get().give_back(std::move(elements->block));
    Events::get().give_back(elements->device, std::move(elements->event));
  } catch (...) {
    // Then this block is not used again.
    return;
  }
  delete elements;
}

}  // namespace tensortap::torch_adapter
