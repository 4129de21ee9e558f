// NaN and Inf that an operator finds in the memory for its results. Those that it leaves there do not count as its results.

#ifndef TENSORTAP_SOURCE_PYTORCH_MEMORY_LEFT_VALUES_H_
#define TENSORTAP_SOURCE_PYTORCH_MEMORY_LEFT_VALUES_H_

#include <cstdint>
#include <vector>

#include "source/pytorch/adapter/adapter_interface.h"

namespace tensortap::pytorch {

// Of one call. Keeps its memory from call to call.
class LeftValues {
 public:
  void clear() { buffers_.clear(); }
  // Before the call: remembers the NaN and Inf in the memory of a tensor, unless there are more than a million of them.
  void note(const tensortap_torch_tensor& tensor);
  // After the call: whether the tensor holds NaN or Inf, and all of them were in the memory before, with the same bits.
  [[nodiscard]] bool are_all_in(const tensortap_torch_tensor& tensor) const;

 private:
  struct Value {
    const unsigned char* place;
    uint64_t bits;
    friend bool operator==(const Value&, const Value&) = default;
  };
  struct Buffer {
    const void* data;
    std::vector<Value> values;  // in the order of the elements
  };
  // False when there are too many.
  static bool collect(const tensortap_torch_tensor& tensor, std::vector<Value>& values);
  std::vector<Buffer> buffers_;
};

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_MEMORY_LEFT_VALUES_H_
