#include "stats/sketch.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "stats/modulus.h"
#include "stats/sketch_kernels.h"
#include "stats/sketch_parts.h"
#include "stats/stats.h"
#include "tensor/number_formats.h"

namespace tensortap {
namespace {

// Elements that are decoded at a time: a block of the statistics.
constexpr uint64_t kDecoded = 16384;

std::optional<int32_t> axis_of(const TensorDesc& desc, const SketchOptions& options) {
  if (!options.axis.has_value()) return std::nullopt;
  const int32_t rank = desc.shape.rank();
  const int32_t axis = *options.axis < 0 ? *options.axis + rank : *options.axis;
  return axis >= 0 && axis < rank ? std::optional(axis) : std::nullopt;
}

// The largest magnitude, -1 where a number is not finite.
template <class T>
double finite_absmax(const T* values, uint64_t count) {
  T absmax = 0;
  bool finite = true;
  for (uint64_t i = 0; i < count; ++i) {
    const T magnitude = std::abs(values[i]);
    finite = finite && magnitude <= std::numeric_limits<T>::max();
    absmax = magnitude > absmax ? magnitude : absmax;
  }
  return finite ? static_cast<double>(absmax) : -1;
}

bool needs_doubles(DType dtype) {
  const DTypeInfo& info = dtype_info(dtype);
  return info.kind == DTypeKind::kComplex || info.bits > 32 || (info.bits == 32 && info.kind != DTypeKind::kFloat);
}

void decode(DType dtype, const void* data, uint64_t begin, uint64_t count, float* values) {
  const auto* bytes = static_cast<const std::byte*>(data);
  if (dtype == DType::kFloat16) {
    sketch_kernels_in_use().decode_float16(bytes + begin * 2, count, values);
  } else if (dtype == DType::kBFloat16) {
    sketch_kernels_in_use().decode_bfloat16(bytes + begin * 2, count, values);
  } else {
    to_float32(dtype, data, begin, count, values);
  }
}

void decode(DType dtype, const void* data, uint64_t begin, uint64_t count, double* values) {
  if (dtype_info(dtype).kind == DTypeKind::kComplex) {
    to_moduli(dtype, data, begin, count, values);
  } else {
    to_float64(dtype, data, begin, count, values);
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
    : dtype_(desc.dtype), is_wide_(needs_doubles(desc.dtype)) {
  const std::optional<int32_t> axis = axis_of(desc, options);
  if (axis.has_value() && sketch_state(desc, options) == SketchState::kThere) channels_ = make_channel_part(is_wide_, desc, *axis);
  if (options.block != 0) blocks_ = make_block_part(is_wide_, desc, options.block);
}

SketchBuilder::~SketchBuilder() = default;

void SketchBuilder::take(const void* numbers, uint64_t count, double absmax) {
  if (absmax < 0) {
    absmax =
        is_wide_ ? finite_absmax(static_cast<const double*>(numbers), count) : finite_absmax(static_cast<const float*>(numbers), count);
  }
  if (channels_ != nullptr) channels_->add(numbers, count, absmax);
  if (blocks_ != nullptr) blocks_->add(numbers, count, absmax);
}

void SketchBuilder::add(const void* data, uint64_t count, double absmax) {
  const bool as_they_are = dtype_ == (is_wide_ ? DType::kFloat64 : DType::kFloat32);
  if (as_they_are && reinterpret_cast<uintptr_t>(data) % (is_wide_ ? alignof(double) : alignof(float)) == 0)
    return take(data, count, absmax);
  for (uint64_t begin = 0; begin < count; begin += kDecoded) {
    const uint64_t some = std::min(kDecoded, count - begin);
    if (is_wide_) {
      wide_.resize(some);
      decode(dtype_, data, begin, some, wide_.data());
    } else {
      narrow_.resize(some);
      decode(dtype_, data, begin, some, narrow_.data());
    }
    take(is_wide_ ? static_cast<const void*>(wide_.data()) : narrow_.data(), some, absmax);
  }
}

TensorSketch SketchBuilder::finish() {
  TensorSketch sketch;
  if (channels_ != nullptr) channels_->finish(sketch);
  if (blocks_ != nullptr) blocks_->finish(sketch);
  return sketch;
}

TensorSketch compute_sketch(const TensorView& view, const SketchOptions& options) {
  if (const SketchState state = sketch_state(view.desc, options); !has_sketch(state)) return {};
  SketchBuilder builder(view.desc, options);
  StatsOptions statistics;
  statistics.wanted = kStatMinimal;
  statistics.sketch = &builder;
  compute_stats(view, statistics);
  return builder.finish();
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
