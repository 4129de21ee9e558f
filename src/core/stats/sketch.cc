#include "stats/sketch.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/text.h"
#include "stats/modulus.h"
#include "stats/sketch_kernels.h"
#include "stats/sketch_parts.h"
#include "tensor/number_formats.h"

namespace tensortap {
namespace {

// Elements that are converted at a time: a block of the statistics.
constexpr uint64_t kConverted = 16384;

std::optional<int32_t> axis_of(const TensorDesc& desc, const SketchOptions& options) {
  if (!options.axis.has_value()) return std::nullopt;
  const int32_t rank = desc.shape.rank();
  const int32_t axis = *options.axis < 0 ? *options.axis + rank : *options.axis;
  return axis >= 0 && axis < rank ? std::optional(axis) : std::nullopt;
}

// The largest magnitude, -1 where a number is not finite.
template <class Elements>
double finite_absmax(const void* data, uint64_t count) {
  const auto* elements = static_cast<const typename Elements::Element*>(data);
  double absmax = 0;
  bool finite = true;
  for (uint64_t i = 0; i < count; ++i) {
    const double magnitude = std::abs(Elements::number(elements[i]));
    finite = finite && magnitude <= std::numeric_limits<double>::max();
    absmax = magnitude > absmax ? magnitude : absmax;
  }
  return finite ? absmax : -1;
}

double finite_absmax(SketchElements elements, const void* data, uint64_t count) {
  switch (elements) {
    case SketchElements::kFloat16:
      return finite_absmax<Float16Elements>(data, count);
    case SketchElements::kBFloat16:
      return finite_absmax<BFloat16Elements>(data, count);
    case SketchElements::kFloat64:
      return finite_absmax<Float64Elements>(data, count);
    default:
      return finite_absmax<Float32Elements>(data, count);
  }
}

SketchElements elements_of(DType dtype) {
  if (dtype == DType::kFloat16) return SketchElements::kFloat16;
  if (dtype == DType::kBFloat16) return SketchElements::kBFloat16;
  const DTypeInfo& info = dtype_info(dtype);
  const bool needs_double = info.kind == DTypeKind::kComplex || info.bits > 32 || (info.bits == 32 && info.kind != DTypeKind::kFloat);
  return needs_double ? SketchElements::kFloat64 : SketchElements::kFloat32;
}

size_t bytes_of(SketchElements elements) {
  switch (elements) {
    case SketchElements::kFloat16:
    case SketchElements::kBFloat16:
      return sizeof(uint16_t);
    case SketchElements::kFloat64:
      return sizeof(double);
    default:
      return sizeof(float);
  }
}

// Whether elements are kept as kernels read them.
bool is_read_as_it_is(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16 || dtype == DType::kFloat32 || dtype == DType::kFloat64;
}

// Elements from index `begin` on, as those of `elements`.
void convert(DType dtype, const void* data, uint64_t begin, uint64_t count, SketchElements elements, void* converted) {
  if (is_read_as_it_is(dtype)) {
    const size_t bytes = bytes_of(elements);
    std::memcpy(converted, static_cast<const std::byte*>(data) + begin * bytes, count * bytes);
  } else if (dtype_info(dtype).kind == DTypeKind::kComplex) {
    to_moduli(dtype, data, begin, count, static_cast<double*>(converted));
  } else if (elements == SketchElements::kFloat64) {
    to_float64(dtype, data, begin, count, static_cast<double*>(converted));
  } else {
    to_float32(dtype, data, begin, count, static_cast<float*>(converted));
  }
}

}  // namespace

SketchState sketch_state(const TensorDesc& desc, const SketchOptions& options) {
  if (!options.asked()) return SketchState::kNotAsked;
  if (dtype_info(desc.dtype).bits == 0 || !desc.shape.numel().has_value()) return SketchState::kNoNumbers;
  if (!options.axis.has_value()) return SketchState::kThere;
  const std::optional<int32_t> axis = axis_of(desc, options);
  if (!axis.has_value()) return SketchState::kNoAxis;
  return static_cast<uint64_t>(desc.shape[*axis]) > kMostChannels ? SketchState::kTooManyChannels : SketchState::kThere;
}

SketchBuilder::SketchBuilder(const TensorDesc& desc, const SketchOptions& options)
    : dtype_(desc.dtype), elements_(elements_of(desc.dtype)) {
  const std::optional<int32_t> axis = axis_of(desc, options);
  if (axis.has_value() && sketch_state(desc, options) == SketchState::kThere) channels_ = make_channel_part(elements_, desc, *axis);
  if (options.block != 0) blocks_ = make_block_part(elements_, desc, options.block);
}

SketchBuilder::~SketchBuilder() = default;

void SketchBuilder::take(const void* numbers, uint64_t count, SketchPiece piece) {
  if (piece.absmax < 0) piece.absmax = finite_absmax(elements_, numbers, count);
  if (channels_ != nullptr) channels_->add(numbers, count, piece);
  if (blocks_ != nullptr) blocks_->add(numbers, count, piece);
}

void SketchBuilder::add(const void* data, uint64_t count, const SketchPiece& piece) {
  if (is_read_as_it_is(dtype_) && reinterpret_cast<uintptr_t>(data) % bytes_of(elements_) == 0) return take(data, count, piece);
  for (uint64_t begin = 0; begin < count; begin += kConverted) {
    const uint64_t some = std::min(kConverted, count - begin);
    converted_.resize((some * bytes_of(elements_) + sizeof(double) - 1) / sizeof(double));
    convert(dtype_, data, begin, some, elements_, converted_.data());
    take(converted_.data(), some, piece);
  }
}

uint64_t SketchBuilder::wanted_elements() const { return channels_ == nullptr ? 1 : channels_->wanted_elements(); }

TensorSketch SketchBuilder::finish() {
  TensorSketch sketch;
  if (channels_ != nullptr) channels_->finish(sketch);
  if (blocks_ != nullptr) blocks_->finish(sketch);
  return sketch;
}

Status merge_sketch(const TensorSketch& other, TensorSketch& sketch) {
  if (other.axis != sketch.axis || other.channels.size() != sketch.channels.size()) {
    return invalid_argument(concat("a sketch of ", other.channels.size(), " channels (axis ", other.axis, ") cannot be merged with one of ",
                                   sketch.channels.size(), " (axis ", sketch.axis, ")"));
  }
  if (other.block != sketch.block) {
    return invalid_argument(concat("a sketch of blocks of ", other.block, " cannot be merged with one of blocks of ", sketch.block));
  }
  sketch.channel_elements += other.channel_elements;
  for (size_t i = 0; i < sketch.channels.size(); ++i) {
    ChannelSums& sums = sketch.channels[i];
    sums.absmax = std::max(sums.absmax, other.channels[i].absmax);
    sums.squares += other.channels[i].squares;
    sums.zero += other.channels[i].zero;
    sums.nonfinite += other.channels[i].nonfinite;
  }
  for (int i = 0; i < BlockCounts::kBins; ++i) sketch.blocks.bins[i] += other.blocks.bins[i];
  sketch.blocks.zero += other.blocks.zero;
  sketch.blocks.nan += other.blocks.nan;
  sketch.blocks.inf += other.blocks.inf;
  sketch.blocks.nonzero += other.blocks.nonzero;
  for (size_t i = 0; i < kUnderflowFormats.size(); ++i) sketch.blocks.underflow[i] += other.blocks.underflow[i];
  return {};
}

}  // namespace tensortap
