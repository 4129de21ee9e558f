// The structures of capture.h as callers of any version pass them: fields that the caller's size does not reach are zero.

#ifndef TENSORTAP_CAPTURE_EVENT_VIEW_H_
#define TENSORTAP_CAPTURE_EVENT_VIEW_H_

#include <tensortap/capture.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace tensortap {

// What stands at `given`, whose first field is its size.
template <class T>
T sized_copy(const void* given) {
  T copy{};
  std::memcpy(&copy.size, given, sizeof(copy.size));
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

}  // namespace tensortap

#endif  // TENSORTAP_CAPTURE_EVENT_VIEW_H_
