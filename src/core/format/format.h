// A file format for tensors: bytes to tensors and back. Each lives in src/core/format/<name>/ with one row in src/core/registry/formats.cc.
// Where a file goes is the layout's affair.

#ifndef TENSORTAP_FORMAT_FORMAT_H_
#define TENSORTAP_FORMAT_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tensor/tensor.h"
#include "tensor/tensor_stats.h"

namespace tensortap {

// A tensor found in a file. `view` borrows from the file's bytes, or from `owner` where they had to be decoded.
struct NamedTensor {
  std::string name;  // "" when the format holds one nameless tensor
  TensorView view;
  std::shared_ptr<const void> owner;
};

// A tensor as its file describes it.
struct DescribedTensor {
  NamedTensor tensor;  // its view has no data where the file has no values
  TensorStats stats;   // that the file itself has; none valid where it has none
};

// Tensors that make one value together.
enum class TensorGroup {
  kNone,  // each is independent
  kList,  // elements of a sequence, or what an optional holds: none, one, or those of its sequence
  kMap,   // two of one dimension: keys and values
};

struct GroupedTensors {
  TensorGroup group = TensorGroup::kNone;
  std::vector<NamedTensor> tensors;
};

// One row of the registry.
struct Format {
  std::string_view name;  // "npy", "npz", "onnx-tensor"
  std::string_view description;
  std::string_view extension;  // ".npy"
  // Whether every value of `dtype` survives encode and decode bit for bit.
  bool (*holds)(DType dtype);
  // Whether the first bytes of a file (at most 64 are looked at) are this format's.
  bool (*recognise)(std::span<const std::byte> head);
  // Every tensor of a file's bytes, in order; they borrow from `bytes`. Untrusted input: tensors or kCorrupt, never a crash, nor an
  // allocation beyond the size of the input.
  Result<std::vector<NamedTensor>> (*decode)(std::span<const std::byte> bytes);
  // The whole file for these tensors; kUnsupported when the format does not hold them. Null when the format is read only.
  Result<std::string> (*encode)(std::span<const NamedTensor> tensors);
  // A file that holds a sequence, an optional or a map in the place of a tensor, under the rules of decode. Null when the format has none.
  Result<GroupedTensors> (*decode_group)(std::span<const std::byte> bytes) = nullptr;
  // For files that may have statistics, or no values: what they say, under the rules of decode. Null when the format has no such files.
  Result<std::vector<DescribedTensor>> (*describe)(std::span<const std::byte> bytes) = nullptr;
  // Whether a tensor without dimensions comes back as one; false: as a vector of one element.
  bool keeps_scalars = true;
};

}  // namespace tensortap

#endif  // TENSORTAP_FORMAT_FORMAT_H_
