// Parts of a tensor put together.

#ifndef TENSORTAP_SHARDS_JOIN_TENSORS_H_
#define TENSORTAP_SHARDS_JOIN_TENSORS_H_

#include <cstddef>
#include <span>
#include <vector>

#include "base/status.h"
#include "shards/shard_file.h"
#include "tensor/tensor.h"
#include "tensor/tensor_stats.h"

namespace tensortap {

// The shape of the whole; kInvalidArgument when the parts do not fit each other. Of sums all parts have the same.
Result<Shape> joined_shape(std::span<const Shape> parts, const ShardCut& cut);

// A tensor that owns its packed elements.
struct WholeTensor {
  TensorDesc desc;
  std::vector<std::byte> bytes;
};

// Errors: as joined_shape(); kUnsupported for strings, elements narrower than a byte, and sums of complex numbers. Sums of floating types
// are float64, of others int64.
Result<WholeTensor> join_tensors(std::span<const WholeTensor> parts, const ShardCut& cut);

// The statistics of the whole from those of its parts, as far as all have them and they can be had. None of a sum.
TensorStats joined_stats(std::span<const TensorStats> parts, const ShardCut& cut);

}  // namespace tensortap

#endif  // TENSORTAP_SHARDS_JOIN_TENSORS_H_
