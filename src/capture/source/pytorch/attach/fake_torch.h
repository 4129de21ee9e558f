// A fake torch for tests of sessions: storages that never end, and tensors that the tests own.

#ifndef TENSORTAP_SOURCE_PYTORCH_ATTACH_FAKE_TORCH_H_
#define TENSORTAP_SOURCE_PYTORCH_ATTACH_FAKE_TORCH_H_

#include <tensortap/capture.h>

#include <array>

#include "source/pytorch/adapter/adapter_interface.h"

namespace tensortap::pytorch {

inline void set_endless_storages(tensortap_torch_adapter& adapter) {
  adapter.hold_storage = [](const void*) {};
  adapter.drop_storage = [](const void*) {};
  adapter.storage_expired = [](const void*) { return 0; };
}

// Two elements in memory that belongs to no storage. Borrows `values`.
inline tensortap_torch_tensor tensor_of(const std::array<float, 2>& values) {
  static constexpr int64_t kDims = 2;
  static constexpr int64_t kStrides = 1;
  tensortap_torch_tensor tensor{};
  tensor.data = values.data();
  tensor.dims = &kDims;
  tensor.strides = &kStrides;
  tensor.rank = 1;
  tensor.dtype = TENSORTAP_FLOAT32;
  tensor.element = -1;
  return tensor;
}

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_ATTACH_FAKE_TORCH_H_
