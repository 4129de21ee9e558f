#include "trace/record_row.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/spans.h"
#include "base/text.h"

namespace tensortap {
namespace {

#define TENSORTAP_COLUMN(name, type) \
  { #name, type, offsetof(RecordRow, name), 1 }
#define TENSORTAP_STAT_COLUMN(name, type) \
  { #name, type, offsetof(RecordRow, stats) + offsetof(TensorStats, name), 1 }

constexpr RecordField kFields[] = {
    TENSORTAP_COLUMN(sequence, "<u8"),
    TENSORTAP_COLUMN(step, "<i8"),
    TENSORTAP_COLUMN(run, "<u8"),
    TENSORTAP_COLUMN(time_ns, "<i8"),
    TENSORTAP_COLUMN(duration_ns, "<i8"),
    TENSORTAP_COLUMN(op, "<u4"),
    TENSORTAP_COLUMN(call, "<u4"),
    TENSORTAP_COLUMN(thread, "<u4"),
    TENSORTAP_COLUMN(rank, "<i4"),
    TENSORTAP_COLUMN(element, "<i8"),
    TENSORTAP_COLUMN(slot_index, "<u2"),
    TENSORTAP_COLUMN(slot_kind, "|u1"),
    TENSORTAP_COLUMN(phase, "|u1"),
    TENSORTAP_COLUMN(moment, "|u1"),
    TENSORTAP_COLUMN(dtype, "|u1"),
    TENSORTAP_COLUMN(dims_count, "|u1"),
    TENSORTAP_COLUMN(flags, "|u1"),
    TENSORTAP_COLUMN(numel, "<u8"),
    TENSORTAP_COLUMN(bytes, "<u8"),
    {"shape", "<i8", offsetof(RecordRow, shape), kRowDims},
    TENSORTAP_STAT_COLUMN(min, "<f8"),
    TENSORTAP_STAT_COLUMN(max, "<f8"),
    TENSORTAP_STAT_COLUMN(mean, "<f8"),
    TENSORTAP_STAT_COLUMN(std, "<f8"),
    TENSORTAP_STAT_COLUMN(l2, "<f8"),
    TENSORTAP_STAT_COLUMN(absmax, "<f8"),
    TENSORTAP_STAT_COLUMN(min_integer, "<i8"),
    TENSORTAP_STAT_COLUMN(max_integer, "<i8"),
    TENSORTAP_STAT_COLUMN(nan, "<u8"),
    TENSORTAP_STAT_COLUMN(pos_inf, "<u8"),
    TENSORTAP_STAT_COLUMN(neg_inf, "<u8"),
    TENSORTAP_STAT_COLUMN(zero, "<u8"),
    TENSORTAP_STAT_COLUMN(neg_zero, "<u8"),
    TENSORTAP_STAT_COLUMN(positive, "<u8"),
    TENSORTAP_STAT_COLUMN(negative, "<u8"),
    TENSORTAP_STAT_COLUMN(count, "<u8"),
    TENSORTAP_STAT_COLUMN(first_nonfinite, "<i8"),
    TENSORTAP_STAT_COLUMN(valid, "<u4"),
    TENSORTAP_STAT_COLUMN(reserved, "<u4"),
    TENSORTAP_STAT_COLUMN(mean_abs, "<f8"),
    TENSORTAP_STAT_COLUMN(subnormal, "<u8"),
    TENSORTAP_COLUMN(data_offset, "<u8"),
    TENSORTAP_COLUMN(data_bytes, "<u8"),
    TENSORTAP_COLUMN(member, "<u8"),
    TENSORTAP_COLUMN(histogram, "<u8"),
    {"digest", "|u1", offsetof(RecordRow, digest), sizeof(RecordRow::digest)},
    TENSORTAP_COLUMN(digest_kind, "|u1"),
    TENSORTAP_COLUMN(committed, "|u1"),
    TENSORTAP_COLUMN(data_header, "<u2"),
    TENSORTAP_COLUMN(storage, "<u8"),
    TENSORTAP_COLUMN(version, "<u8"),
    TENSORTAP_COLUMN(view, "<u8"),
    TENSORTAP_COLUMN(position, "<u4"),
    {"strides", "<i4", offsetof(RecordRow, strides), kRowDims},
    TENSORTAP_COLUMN(strided, "|u1"),
    TENSORTAP_COLUMN(element_order, "|u1"),
    TENSORTAP_COLUMN(sketch, "|u1"),
    TENSORTAP_COLUMN(value_flags, "|u1"),
    TENSORTAP_COLUMN(model_phase, "|u1"),
    {"spare", "|u1", offsetof(RecordRow, spare), sizeof(RecordRow::spare)},
};

#undef TENSORTAP_COLUMN
#undef TENSORTAP_STAT_COLUMN

// RecordRow::shape of more than kRowDims dimensions.
using NarrowDims = std::array<uint32_t, kMaxRank>;
static_assert(sizeof(NarrowDims) == sizeof(RecordRow::shape));

constexpr std::array<std::string_view, 4> kSlotNames = {"out", "in", "weight", "grad"};

// A number as record_name() writes it: no sign but '-', no leading zeros, so that one text has one reading.
bool parse_canonical(std::string_view text, int64_t& value) {
  int64_t parsed = 0;
  if (!parse_integer(text, parsed) || to_text(parsed) != text) return false;
  value = parsed;
  return true;
}

// Takes `mark` and the number after it from the end of `text`. False, and `text` as it was, when it does not end so.
bool take_number(std::string_view& text, char mark, int64_t& value) {
  const size_t at = text.rfind(mark);
  if (at == std::string_view::npos || !parse_canonical(text.substr(at + 1), value)) return false;
  text = text.substr(0, at);
  return true;
}

bool take_element(std::string_view& text, int64_t& element) {
  if (!text.ends_with(']')) return false;
  std::string_view inner = text.substr(0, text.size() - 1);
  int64_t value = 0;
  if (!take_number(inner, '[', value) || value < 0) return false;
  element = value;
  text = inner;
  return true;
}

// Reads ":slot@step#call[element]" off the end of `text` into `key`. False, and nothing changed, without a ":slot".
bool take_suffix(std::string_view& text, RecordKey& key) {
  std::string_view rest = text;
  RecordKey found = key;
  int64_t call = 0;
  take_element(rest, found.element);
  if (take_number(rest, '#', call)) {
    if (call < 0 || call > UINT32_MAX) return false;
    found.call = static_cast<uint32_t>(call);
  }
  take_number(rest, '@', found.step);
  const size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos || !parse_slot(rest.substr(colon + 1), found.slot_kind, found.slot_index)) return false;
  text = rest.substr(0, colon);
  key = std::move(found);
  return true;
}

}  // namespace

std::span<const RecordField> record_fields() { return kFields; }

std::span<const RecordField> first_record_fields() {
  const auto* end = std::ranges::find(kFields, offsetof(RecordRow, storage), &RecordField::offset);
  return {kFields, end};
}

RecordRow row_of_narrow(const std::byte* row) {
  static_assert(offsetof(RecordRow, stats) + offsetof(TensorStats, mean_abs) == kNarrowBytesBeforeData);
  static_assert(offsetof(RecordRow, model_phase) == kNarrowRowBytes + sizeof(TensorStats) - offsetof(TensorStats, mean_abs));
  RecordRow wide;
  auto* bytes = reinterpret_cast<std::byte*>(&wide);
  std::memcpy(bytes, row, kNarrowBytesBeforeData);
  std::memcpy(bytes + offsetof(RecordRow, data_offset), row + kNarrowBytesBeforeData, kNarrowRowBytes - kNarrowBytesBeforeData);
  wide.stats.valid &= ~uint32_t{kStatMeanAbs | kStatSubnormal};
  return wide;
}

bool RecordRow::holds(const Shape& shape) {
  return shape.rank() <= kRowDims || std::ranges::all_of(shape.dims(), [](int64_t dim) { return dim >= 0 && dim <= UINT32_MAX; });
}

void RecordRow::set_desc(const TensorDesc& desc) {
  const uint64_t elements = desc.shape.numel().value_or(0);
  set_desc(desc, elements, packed_bytes(desc.dtype, elements).value_or(0));
}

void RecordRow::set_desc(const TensorDesc& desc, uint64_t elements, uint64_t size) {
  dtype = static_cast<uint8_t>(desc.dtype);
  std::ranges::fill(shape, 0);
  if (desc.shape.rank() <= kRowDims || !holds(desc.shape)) {
    dims_count = static_cast<uint8_t>(std::min(desc.shape.rank(), kRowDims));
    std::ranges::copy(first_of(desc.shape.dims(), dims_count), shape);
  } else {
    dims_count = static_cast<uint8_t>(desc.shape.rank());
    NarrowDims narrow{};
    std::ranges::transform(desc.shape.dims(), narrow.begin(), [](int64_t dim) { return static_cast<uint32_t>(dim); });
    std::memcpy(shape, narrow.data(), sizeof(shape));
  }
  numel = elements;
  bytes = size;
}

void RecordRow::set_strides(const TensorView& tensor) {
  strided = static_cast<uint8_t>(Strided::kNo);
  std::ranges::fill(strides, 0);
  if (tensor.is_contiguous()) return;
  const std::span<const int64_t> given(tensor.strides, static_cast<size_t>(tensor.desc.shape.rank()));
  const bool fits = given.size() <= kRowDims && std::ranges::all_of(given, [](int64_t one) { return std::in_range<int32_t>(one); });
  strided = static_cast<uint8_t>(fits ? Strided::kKept : Strided::kNotKept);
  if (fits) std::ranges::transform(given, strides, [](int64_t one) { return static_cast<int32_t>(one); });
}

std::span<const int32_t> RecordRow::strides_of() const {
  if (strided != static_cast<uint8_t>(Strided::kKept) || dims_count > kRowDims) return {};
  return {strides, dims_count};
}

TensorDesc RecordRow::desc() const {
  const DType kept = dtype < kDTypeCount ? static_cast<DType>(dtype) : DType::kUndefined;
  if (dims_count <= kRowDims) return {kept, Shape(std::span<const int64_t>(shape, dims_count))};
  NarrowDims narrow{};
  std::memcpy(narrow.data(), shape, sizeof(shape));
  std::array<int64_t, kMaxRank> dims{};
  std::ranges::copy(narrow, dims.begin());
  return {kept, Shape(first_of(std::span<const int64_t>(dims), std::min<uint64_t>(dims_count, kMaxRank)))};
}

std::string slot_name(SlotKind kind, uint32_t index) {
  const auto number = static_cast<size_t>(kind);
  return concat(number < kSlotNames.size() ? kSlotNames[number] : "slot", index);
}

bool parse_slot(std::string_view text, SlotKind& kind, uint32_t& index) {
  for (size_t i = 0; i < kSlotNames.size(); ++i) {
    int64_t value = 0;
    if (!text.starts_with(kSlotNames[i]) || !parse_canonical(text.substr(kSlotNames[i].size()), value)) continue;
    if (value < 0 || value > UINT16_MAX) continue;
    kind = static_cast<SlotKind>(i);
    index = static_cast<uint32_t>(value);
    return true;
  }
  return false;
}

std::string record_name(const RecordRow& row, std::string_view op_name) {
  std::string name = concat(op_name, ":", slot_name(static_cast<SlotKind>(row.slot_kind), row.slot_index));
  if (row.step != 0) name += concat("@", row.step);
  if (row.call != 0) name += concat("#", row.call);
  if (row.element >= 0) name += concat("[", row.element, "]");
  return name;
}

bool parse_record_name(std::string_view text, RecordKey& key) {
  constexpr std::string_view kWeight = "weight:";
  RecordKey found;
  if (!take_suffix(text, found)) {
    const size_t at = text.starts_with(kWeight) ? 0 : text.find(concat(":", kWeight));
    if (at != std::string_view::npos) {
      found.weight = text.substr(at + (at == 0 && text.starts_with(kWeight) ? 0 : 1) + kWeight.size());
      found.slot_kind = SlotKind::kWeight;
      if (found.weight.empty()) return false;
      found.op = text.substr(0, at);
      key = std::move(found);
      return true;
    }
  }
  if (text.empty()) return false;
  found.op = text;
  key = std::move(found);
  return true;
}

}  // namespace tensortap
