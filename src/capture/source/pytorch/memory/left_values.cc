#include "source/pytorch/memory/left_values.h"

#include <tensortap/capture.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

namespace tensortap::pytorch {
namespace {

constexpr size_t kMostValues = 1u << 20;

// A number of the type is not finite if all of these bits are set.
struct FloatFormat {
  size_t bytes;
  uint64_t exponent;
};

std::optional<FloatFormat> format_of(uint32_t dtype) {
  switch (dtype) {
    case TENSORTAP_FLOAT16:
      return FloatFormat{2, 0x7c00};
    case TENSORTAP_BFLOAT16:
      return FloatFormat{2, 0x7f80};
    case TENSORTAP_FLOAT32:
      return FloatFormat{4, 0x7f800000};
    case TENSORTAP_FLOAT64:
      return FloatFormat{8, 0x7ff0000000000000};
    default:
      return std::nullopt;
  }
}

bool has_elements(const tensortap_torch_tensor& tensor) {
  const bool readable = tensor.kind == TENSORTAP_TORCH_STRIDED && tensor.data != nullptr && (tensor.dims != nullptr || tensor.rank == 0);
  return readable && std::find(tensor.dims, tensor.dims + tensor.rank, 0) == tensor.dims + tensor.rank;
}

// Calls visit(first element, number of elements, stride) for each line along the last dimension until it returns false.
template <class Visit>
bool for_each_line(const tensortap_torch_tensor& tensor, Visit&& visit) {
  if (tensor.rank == 0) return visit(0, 1, 1);
  if (tensor.strides == nullptr) {
    int64_t elements = 1;
    for (uint32_t i = 0; i < tensor.rank; ++i) elements *= tensor.dims[i];
    return visit(0, elements, 1);
  }
  const uint32_t last = tensor.rank - 1;
  std::vector<int64_t> place(last, 0);
  while (true) {
    int64_t offset = 0;
    for (uint32_t i = 0; i < last; ++i) offset += place[i] * tensor.strides[i];
    if (!visit(offset, tensor.dims[last], tensor.strides[last])) return false;
    size_t i = last;
    while (i > 0 && ++place[i - 1] == tensor.dims[i - 1]) place[--i] = 0;
    if (i == 0) return true;
  }
}

}  // namespace

bool LeftValues::collect(const tensortap_torch_tensor& tensor, std::vector<Value>& values) {
  const std::optional<FloatFormat> format = format_of(tensor.dtype);
  if (!format || !has_elements(tensor)) return true;
  const auto* const begin = static_cast<const unsigned char*>(tensor.data);
  const auto size = static_cast<int64_t>(format->bytes);
  return for_each_line(tensor, [&](int64_t offset, int64_t count, int64_t stride) {
    for (int64_t i = 0; i < count; ++i) {
      const unsigned char* const place = begin + (offset + i * stride) * size;
      uint64_t bits = 0;
      std::memcpy(&bits, place, format->bytes);
      if ((bits & format->exponent) == format->exponent) values.push_back({place, bits});
    }
    return values.size() <= kMostValues;
  });
}

void LeftValues::note(const tensortap_torch_tensor& tensor) {
  Buffer buffer{tensor.data, {}};
  if (collect(tensor, buffer.values) && !buffer.values.empty()) buffers_.push_back(std::move(buffer));
}

bool LeftValues::are_all_in(const tensortap_torch_tensor& tensor) const {
  const auto before = std::ranges::find(buffers_, tensor.data, &Buffer::data);
  if (before == buffers_.end()) return false;
  std::vector<Value> now;
  if (!collect(tensor, now) || now.empty()) return false;
  auto known = before->values.begin();
  return std::ranges::all_of(now, [&](const Value& value) {
    known = std::find(known, before->values.end(), value);
    return known != before->values.end();
  });
}

}  // namespace tensortap::pytorch
