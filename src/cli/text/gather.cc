#include "cli/text/gather.h"

#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

namespace tensortap::cli {
namespace {

// Copies element `from` of packed data to place `to`. Elements of less than a byte are stored from the low bits up.
void copy_element(const std::byte* source, uint64_t from, std::byte* target, uint64_t to, uint64_t bits) {
  if (bits >= 8) {
    std::memcpy(target + to * (bits / 8), source + from * (bits / 8), bits / 8);
    return;
  }
  const uint64_t each = 8 / bits;
  const unsigned mask = (1U << bits) - 1U;
  const unsigned value = (std::to_integer<unsigned>(source[from / each]) >> (from % each * bits)) & mask;
  target[to / each] |= static_cast<std::byte>(value << (to % each * bits));
}

}  // namespace

RecordData gather(const TensorSlice& slice) {
  const Shape shape(slice.shape);
  const DType dtype = slice.base.desc.dtype;
  const uint64_t bits = dtype == DType::kString ? sizeof(StringElement) * 8 : dtype_info(dtype).bits;
  const uint64_t count = shape.numel().value_or(0);
  const auto bytes = std::make_shared<std::vector<std::byte>>((count * bits + 7) / 8);
  const auto* source = static_cast<const std::byte*>(slice.base.data);
  for (uint64_t to = 0; to < count; ++to) {
    auto from = static_cast<int64_t>(slice.begin);
    uint64_t rest = to;
    for (size_t i = slice.shape.size(); i-- > 0; rest /= static_cast<uint64_t>(slice.shape[i])) {
      from += static_cast<int64_t>(rest % static_cast<uint64_t>(slice.shape[i])) * slice.strides[i];
    }
    copy_element(source, static_cast<uint64_t>(from), bytes->data(), to, bits);
  }
  RecordData part;
  part.view.desc = {dtype, shape};
  part.view.data = bytes->data();
  part.owner = bytes;
  return part;
}

}  // namespace tensortap::cli
