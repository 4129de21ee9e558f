#include "replay/cut_dump.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

namespace tensortap {

TensorBox whole_box(const Shape& shape) {
  return {std::vector<int64_t>(static_cast<size_t>(shape.rank()), 0), {shape.dims().begin(), shape.dims().end()}};
}

namespace {

// A damaged file may hold a tensor of another shape.
bool contains(const Shape& shape, const TensorBox& box) {
  if (static_cast<size_t>(shape.rank()) != box.count.size()) return false;
  for (int i = 0; i < shape.rank(); ++i) {
    const auto axis = static_cast<size_t>(i);
    if (box.first[axis] + box.count[axis] > shape[i]) return false;
  }
  return true;
}

}  // namespace

bool can_be_cut(DType dtype) {
  const DTypeInfo& info = dtype_info(dtype);
  return info.bits > 0 && info.bits % 8 == 0;
}

std::vector<std::byte> cut_elements(const TensorView& view, const TensorBox& box) {
  const std::span<const int64_t> dims = view.desc.shape.dims();
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  int64_t begin = 0;
  for (size_t i = 0; i < dims.size(); ++i) begin += box.first[i] * strides[i];
  const size_t element = dtype_info(view.desc.dtype).bits / 8;
  const TensorView part{
      {view.desc.dtype, Shape(box.count)}, static_cast<const std::byte*>(view.data) + static_cast<size_t>(begin) * element, strides.data()};
  std::vector<std::byte> bytes(part.desc.shape.numel().value_or(0) * element);
  if (!bytes.empty()) copy_packed(part, bytes.data());
  return bytes;
}

CutDump::CutDump(const DumpIndex& dump, std::span<const uint32_t> rows, std::vector<TensorBox> boxes)
    : dump_(dump), numbers_(rows.begin(), rows.end()), boxes_(std::move(boxes)) {
  for (size_t i = 0; i < numbers_.size(); ++i) {
    RecordRow row = dump.rows()[numbers_[i]];
    const TensorDesc desc = row.desc();
    if (!std::ranges::equal(desc.shape.dims(), boxes_[i].count)) row.set_desc({desc.dtype, Shape(boxes_[i].count)});
    rows_.push_back(row);
  }
}

Result<RecordData> CutDump::data(size_t row) const {
  TENSORTAP_ASSIGN_OR_RETURN(RecordData whole, dump_.data(numbers_[row]));
  const TensorBox& box = boxes_[row];
  if (std::ranges::equal(whole.view.desc.shape.dims(), box.count) || !whole.view.is_contiguous()) return whole;
  if (!contains(whole.view.desc.shape, box)) return corrupt("a tensor has not the shape that its record says");
  auto bytes = std::make_shared<const std::vector<std::byte>>(cut_elements(whole.view, box));
  return RecordData{{{whole.view.desc.dtype, Shape(box.count)}, bytes->data(), nullptr}, bytes};
}

}  // namespace tensortap
