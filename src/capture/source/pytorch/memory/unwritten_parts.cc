#include "source/pytorch/memory/unwritten_parts.h"

#include <algorithm>
#include <utility>

#include "tensor/dtype.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tensortap::pytorch {
namespace {

constexpr uint64_t kLargestBlock = 1U << 20U;
constexpr size_t kMostGaps = 64;

// 0 for types that are not watched: complex numbers, those of fewer than 8 bits, and floats of 8.
uint64_t element_bytes(uint32_t dtype) {
  const auto type = static_cast<DType>(dtype);
  return type <= DType::kFloat64 ? dtype_info(type).bits / 8U : 0;
}

bool can_be_watched(const tensortap_torch_tensor& tensor) {
  return tensor.kind == TENSORTAP_TORCH_STRIDED && tensor.storage_data != nullptr && tensor.storage_bytes <= kLargestBlock;
}

// Whether elements lie side by side, in whatever order of the dimensions.
bool is_dense(const tensortap_torch_tensor& tensor) {
  if (tensor.strides == nullptr) return true;
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride and size
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    if (tensor.dims[i] > 1) dims.emplace_back(tensor.strides[i], tensor.dims[i]);
  }
  std::ranges::sort(dims);
  int64_t expected = 1;
  for (const auto& [stride, size] : dims) {
    if (stride != expected) return false;
    expected *= size;
  }
  return true;
}

}  // namespace

// From the first byte of a tensor to its last, and whether all of them are its own. False where that is not known.
bool UnwrittenParts::find_range(const tensortap_torch_tensor& tensor, Range& range, bool& dense) {
  const uint64_t size = element_bytes(tensor.dtype);
  if (size == 0 || tensor.kind != TENSORTAP_TORCH_STRIDED || tensor.data == nullptr || (tensor.dims == nullptr && tensor.rank > 0)) {
    return false;
  }
  uint64_t last = 0;
  uint64_t elements = 1;
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    if (tensor.dims[i] < 0 || (tensor.strides != nullptr && tensor.strides[i] < 0)) return false;
    const auto dim = static_cast<uint64_t>(tensor.dims[i]);
    elements *= dim;
    if (tensor.strides != nullptr && dim > 1) last += (dim - 1) * static_cast<uint64_t>(tensor.strides[i]);
  }
  if (tensor.strides == nullptr && elements > 0) last = elements - 1;
  const auto begin = reinterpret_cast<uintptr_t>(tensor.data) - reinterpret_cast<uintptr_t>(tensor.storage_data);
  range = {begin, elements == 0 ? begin : begin + (last + 1) * size};
  dense = is_dense(tensor);
  return range.end <= tensor.storage_bytes;
}

uint64_t UnwrittenParts::hash_of(const void* block) const {
  uint64_t hash = 0;
  for (const Range& gap : gaps_) hash = XXH3_64bits_withSeed(static_cast<const char*>(block) + gap.begin, gap.end - gap.begin, hash);
  return hash;
}

std::unique_ptr<UnwrittenParts> UnwrittenParts::after_first_write(const tensortap_torch_tensor& tensor) {
  if (!can_be_watched(tensor)) return nullptr;
  auto parts = std::make_unique<UnwrittenParts>();
  parts->block_ = tensor.storage_data;
  parts->bytes_ = tensor.storage_bytes;
  parts->gaps_.push_back({0, tensor.storage_bytes});
  return parts->wrote(tensor) ? std::move(parts) : nullptr;
}

bool UnwrittenParts::are_as_left(const tensortap_torch_tensor& tensor) const {
  return tensor.storage_data == block_ && tensor.storage_bytes == bytes_ && hash_of(block_) == hash_;
}

bool UnwrittenParts::wrote(const tensortap_torch_tensor& tensor) {
  Range written{};
  bool dense = false;
  if (tensor.storage_data != block_ || tensor.storage_bytes != bytes_ || !find_range(tensor, written, dense)) return false;
  std::vector<Range> rest;
  for (const Range& gap : gaps_) {
    if (gap.begin < written.begin) rest.push_back({gap.begin, std::min(gap.end, written.begin)});
    if (gap.end > written.end) rest.push_back({std::max(gap.begin, written.end), gap.end});
  }
  if (rest.empty() || rest.size() > kMostGaps) return false;
  gaps_ = std::move(rest);
  hash_ = hash_of(block_);
  return true;
}

UnwrittenParts::Part UnwrittenParts::written_of(const tensortap_torch_tensor& tensor) const {
  Range read{};
  bool dense = false;
  if (!find_range(tensor, read, dense) || read.begin == read.end) return Part::kWritten;
  for (const Range& gap : gaps_) {
    if (gap.begin <= read.begin && read.end <= gap.end) return Part::kNothing;
    if (dense && gap.begin < read.end && read.begin < gap.end) return Part::kSome;
  }
  return Part::kWritten;
}

}  // namespace tensortap::pytorch
