// The structures of capture.h as callers of any version pass them: fields that the caller's size does not reach are zero.

#ifndef TENSORTAP_SESSION_EVENT_VIEW_H_
#define TENSORTAP_SESSION_EVENT_VIEW_H_

#include <tensortap/capture.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include "plan/capture_spec.h"
#include "tensor/tensor.h"
#include "trace/op_info.h"

namespace tensortap {

// A copy of the structure at `given`, whose first field is its size.
template <class T>
T sized_copy(const void* given) {
  T copy{};
  std::memcpy(&copy.size, given, sizeof(copy.size));
  // A caller of this version: a copy whose size the compiler knows.
  if (copy.size == sizeof(T)) {
    std::memcpy(&copy, given, sizeof(T));
    return copy;
  }
  const size_t size = std::min<size_t>(copy.size, sizeof(T));
  if (size >= sizeof(copy.size)) std::memcpy(&copy, given, size);
  return copy;
}

constexpr uint64_t kMostTensors = uint64_t{1} << 20;  // of one event that are looked at

// Element `index` of an array: the elements are as far apart as the first one's size says.
inline tensortap_tensor tensor_at(const tensortap_tensor* tensors, uint64_t index) {
  return sized_copy<tensortap_tensor>(reinterpret_cast<const std::byte*>(tensors) + index * tensors->size);
}

inline tensortap_tensor tensor_of(const tensortap_op_event& event, uint64_t index) { return tensor_at(event.tensors, index); }

inline bool reads_first(const tensortap_op_event& event) { return (event.flags & TENSORTAP_EVENT_READ_FIRST) != 0; }

// Whether an op's inputs are looked at after it ran, as the op left them. Only with the moment "both" are they also looked at before.
inline bool looks_at_reads_after(const CaptureSpec& spec) {
  if (spec.trigger != Trigger::kAlways) return false;
  return spec.moment == MomentChoice::kBoth || (spec.moment == MomentChoice::kAfter && spec.dialect == "msit");
}

// Only for a tensor with dims, a known type and a valid rank.
inline TensorView tensor_view(const tensortap_tensor& tensor) {
  return {{static_cast<DType>(tensor.dtype), Shape(std::span(tensor.dims, tensor.rank))}, tensor.data, tensor.strides};
}

inline SlotKind slot_kind_of(const tensortap_tensor& tensor) {
  return tensor.slot_kind <= TENSORTAP_SLOT_GRADIENT ? static_cast<SlotKind>(tensor.slot_kind) : SlotKind::kOutput;
}

inline bool is_read(const tensortap_tensor& tensor) {
  return tensor.slot_kind == TENSORTAP_SLOT_INPUT || tensor.slot_kind == TENSORTAP_SLOT_WEIGHT;
}

// Counts the elements of lists that come before a tensor.
class ListShift {
 public:
  uint32_t position_of(const tensortap_tensor& tensor) {
    uint32_t& before = before_[static_cast<size_t>(slot_kind_of(tensor))];
    if (tensor.element > 0) ++before;
    return tensor.slot_index + before;
  }

 private:
  std::array<uint32_t, 4> before_{};
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_EVENT_VIEW_H_
