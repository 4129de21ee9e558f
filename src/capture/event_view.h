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

// Tensor `index` of an event: the elements of the array are as far apart as the first one's size says.
inline tensortap_tensor tensor_of(const tensortap_op_event& event, uint64_t index) {
  const size_t stride = event.tensors->size;
  return sized_copy<tensortap_tensor>(reinterpret_cast<const std::byte*>(event.tensors) + index * stride);
}

}  // namespace tensortap

#endif  // TENSORTAP_CAPTURE_EVENT_VIEW_H_
