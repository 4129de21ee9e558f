// Copies of tensors on devices for which no thread waits: the device writes them into pinned memory, after the work that makes the
// elements.

#ifndef TENSORTAP_SOURCE_PYTORCH_ADAPTER_LATE_COPIES_H_
#define TENSORTAP_SOURCE_PYTORCH_ADAPTER_LATE_COPIES_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <functional>
#include <memory>

namespace tensortap::torch_adapter {

// A copy under way. begin_copy() makes it, end_copy() ends it; only one thread at a time may use it.
struct LateElements;

// Makes of what came what the owner of the copy gets. One thread at a time.
class LateReading {
 public:
  LateReading() = default;
  virtual ~LateReading() = default;
  LateReading(const LateReading&) = delete;
  LateReading& operator=(const LateReading&) = delete;
  // Called once. The result is valid as long as this object. Null: the device did not write what was expected.
  virtual const void* read(const void* data) = 0;
};

// False if begin_copy() returns TENSORTAP_DEVICE_FETCH_ONLY for every tensor.
bool may_begin_copies();

// What begin_copy() did: TENSORTAP_DEVICE_QUEUED and *elements is the caller's, TENSORTAP_DEVICE_FETCH_ONLY or TENSORTAP_DEVICE_NO_ROOM.
// Throws what torch throws when the copy fails. `stream`: the thread's stream on the device of the tensor. `reading`: null = the elements
// are handed out as they come.
int begin_copy(const at::Tensor& tensor, const c10::Stream& stream, int* packed, LateElements** elements,
               std::unique_ptr<LateReading> reading = nullptr);
// The same for what work on the device writes into a block of `bytes` bytes of pinned memory: queue(block) queues it on the stream, or
// returns false when it did not.
int begin_writing(c10::Device device, const c10::Stream& stream, int64_t bytes, LateElements** elements,
                  std::unique_ptr<LateReading> reading, const std::function<bool(void* block)>& queue);
// 1 if the elements came, to *data; 0 if they may come; -1 if they will not. Any thread; never waits.
int look_at_copy(LateElements& elements, const void** data) noexcept;
// Memory into which the device may still write is not used again.
void end_copy(LateElements* elements) noexcept;

}  // namespace tensortap::torch_adapter

#endif  // TENSORTAP_SOURCE_PYTORCH_ADAPTER_LATE_COPIES_H_
