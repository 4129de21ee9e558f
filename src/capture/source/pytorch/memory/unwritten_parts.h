// Which bytes of a fresh block of memory nothing was written to, as far as that is certain.

#ifndef TENSORTAP_SOURCE_PYTORCH_MEMORY_UNWRITTEN_PARTS_H_
#define TENSORTAP_SOURCE_PYTORCH_MEMORY_UNWRITTEN_PARTS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "source/pytorch/adapter/adapter_interface.h"

namespace tensortap::pytorch {

// The unwritten parts of one block in host memory. Bytes that may have been written count as written: a view with strides from its first
// element to its last, and bytes that changed since the last look, since programs fill memory without operators, too.
class UnwrittenParts {
 public:
  enum class Part : uint8_t { kWritten, kSome, kNothing };

  // After the first write into a block, which went into `tensor`. Null where nothing remains, or where it cannot be watched: blocks of more
  // than a megabyte, memory of devices.
  static std::unique_ptr<UnwrittenParts> after_first_write(const tensortap_torch_tensor& tensor);

  // False if the block is another one or was written meanwhile: nothing is known then. Reads the unwritten parts.
  [[nodiscard]] bool are_as_left(const tensortap_torch_tensor& tensor) const;
  // After a write into the tensor. False when nothing remains.
  bool wrote(const tensortap_torch_tensor& tensor);
  // How much of a tensor in this block was written. kSome only where each byte between its ends is one of its elements.
  [[nodiscard]] Part written_of(const tensortap_torch_tensor& tensor) const;

 private:
  struct Range {
    uint64_t begin;
    uint64_t end;
  };
  static bool find_range(const tensortap_torch_tensor& tensor, Range& range, bool& dense);
  [[nodiscard]] uint64_t hash_of(const void* block) const;

  const void* block_ = nullptr;
  uint64_t bytes_ = 0;
  std::vector<Range> gaps_;  // in order
  uint64_t hash_ = 0;
};

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_MEMORY_UNWRITTEN_PARTS_H_
