// Which memory an operator writes into, and which other tensors lie in it.

#ifndef TENSORTAP_SOURCE_PYTORCH_MEMORY_WRITTEN_MEMORY_H_
#define TENSORTAP_SOURCE_PYTORCH_MEMORY_WRITTEN_MEMORY_H_

#include <cstdint>
#include <span>
#include <vector>

#include "source/pytorch/adapter/adapter_interface.h"

namespace tensortap::pytorch {

// Of one thread; keeps its memory from call to call.
class WrittenMemory {
 public:
  // The blocks of the tensors that are flagged TENSORTAP_TORCH_TENSOR_WRITTEN, each as a whole: which of its bytes are written is unknown.
  void assign(std::span<const tensortap_torch_tensor> tensors);
  [[nodiscard]] bool empty() const { return blocks_.empty(); }
  // Whether a write may change the tensor: it is written itself, or lies in a written block, even one known by another storage.
  [[nodiscard]] bool reaches(const tensortap_torch_tensor& tensor) const;

 private:
  struct Block {
    uintptr_t begin;
    uintptr_t end;  // the largest of all blocks up to this one, in the order of their begins
  };
  static Block block_of(const tensortap_torch_tensor& tensor);
  std::vector<Block> blocks_;
};

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_MEMORY_WRITTEN_MEMORY_H_
