#include "stats/sketch.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/text.h"
#include "stats/modulus.h"
#include "stats/sketch_kernels.h"
#include "stats/stats.h"
#include "tensor/number_formats.h"

namespace tensortap {
namespace {

// Elements that are decoded at a time.
constexpr uint64_t kDecoded = 2048;
// Additions in float before squares go over to double (docs/statistics.md).
constexpr uint64_t kMostAdditions = 64;
// Narrower rows are joined, and shorter runs taken as columns.
constexpr uint64_t kLeastColumns = 64;
constexpr uint64_t kLeastRun = 32;
// Columns count zeros in 32 bits.
constexpr uint64_t kMostRows = uint64_t{1} << 31;

std::optional<int32_t> axis_of(const TensorDesc& desc, const SketchOptions& options) {
  if (!options.axis.has_value()) return std::nullopt;
  const int32_t rank = desc.shape.rank();
  const int32_t axis = *options.axis < 0 ? *options.axis + rank : *options.axis;
  return axis >= 0 && axis < rank ? std::optional(axis) : std::nullopt;
}

// Whether squares of numbers up to this can be summed in T. Below the smaller limit they would lose bits.
template <class T>
bool can_square(double absmax) {
  constexpr double kMost = std::is_same_v<T, float> ? 1e18 : 1e150;
  constexpr double kLeast = std::is_same_v<T, float> ? 0x1p-50 : 1e-140;
  return absmax == 0 || (absmax >= kLeast && absmax <= kMost);
}

template <class T>
const SketchKernels<T>& kernels_for() {
  if constexpr (std::is_same_v<T, float>) {
    return sketch_kernels_in_use().floats;
  } else {
    return sketch_kernels_in_use().doubles;
  }
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

}  // namespace

// What is counted of a tensor; takes its numbers in order, floats or doubles as its maker knows.
class SketchPart {
 public:
  SketchPart() = default;
  virtual ~SketchPart() = default;
  SketchPart(const SketchPart&) = delete;
  SketchPart& operator=(const SketchPart&) = delete;
  virtual void add(const void* values, uint64_t count, double absmax) = 0;
  virtual void finish(TensorSketch& sketch) = 0;
};

namespace {

// Sums by channel. Where runs of one channel are short, the numbers are rows of columns: `width_` neighbours in memory, after which the
// channels come again.
template <class T>
class ChannelPart : public SketchPart {
 public:
  ChannelPart(const TensorDesc& desc, int32_t axis) : axis_(axis), kernels_(kernels_for<T>()) {
    for (int i = axis + 1; i < desc.shape.rank(); ++i) run_ *= static_cast<uint64_t>(desc.shape[i]);
    totals_.resize(static_cast<size_t>(desc.shape[axis]));
    const uint64_t numel = desc.shape.numel().value_or(0);
    elements_ = totals_.empty() ? 0 : numel / totals_.size();
    const uint64_t period = numel == 0 ? 0 : totals_.size() * run_;
    if (period == 0 || (run_ > 1 && (run_ >= kLeastRun || period > kMostChannels))) return;
    width_ = period >= kLeastColumns ? period : (2 * kLeastColumns / period) * period;
    absmax_.resize(width_);
    squares_.resize(width_);
    zeros_.resize(width_);
    if constexpr (std::is_same_v<T, float>) wide_squares_.resize(width_);
  }

  void add(const void* values, uint64_t count, double absmax) override {
    const auto* numbers = static_cast<const T*>(values);
    if (absmax < 0 || !can_square<T>(absmax)) {
      add_carefully(numbers, count);
    } else if (width_ > 0) {
      add_columns(numbers, count);
    } else {
      add_runs(numbers, count);
    }
  }

  void finish(TensorSketch& sketch) override {
    fold();
    sketch.axis = axis_;
    sketch.channel_elements = elements_;
    sketch.channels = std::move(totals_);
  }

 private:
  [[nodiscard]] uint64_t channel() const { return position_ / run_ % totals_.size(); }

  void add_carefully(const T* numbers, uint64_t count) {
    uint64_t at = channel();
    uint64_t in_run = position_ % run_;
    for (uint64_t i = 0; i < count; ++i) {
      ChannelSums& sums = totals_[at];
      const auto value = static_cast<double>(numbers[i]);
      if (std::isfinite(value)) {
        sums.absmax = std::max(sums.absmax, std::abs(value));
        sums.squares += value * value;
        sums.zero += value == 0 ? 1 : 0;
      } else {
        ++sums.nonfinite;
      }
      if (++in_run < run_) continue;
      in_run = 0;
      at = at + 1 == totals_.size() ? 0 : at + 1;
    }
    position_ += count;
  }

  void add_runs(const T* numbers, uint64_t count) {
    uint64_t at = channel();
    uint64_t in_run = position_ % run_;
    position_ += count;
    while (count > 0) {
      const uint64_t some = std::min(count, run_ - in_run);
      RunSums found;
      kernels_.run(numbers, some, found);
      ChannelSums& sums = totals_[at];
      sums.absmax = std::max(sums.absmax, found.absmax);
      sums.squares += found.squares;
      sums.zero += found.zeros;
      numbers += some;
      count -= some;
      in_run = 0;
      at = at + 1 == totals_.size() ? 0 : at + 1;
    }
  }

  void add_columns(const T* numbers, uint64_t count) {
    const uint64_t begin = position_ % width_;
    position_ += count;
    if (begin != 0) {
      const uint64_t some = std::min(count, width_ - begin);
      add_rows(numbers, 1, begin, some);
      numbers += some;
      count -= some;
    }
    while (count >= width_) {
      const uint64_t rows = std::min(count / width_, kMostAdditions);
      add_rows(numbers, rows, 0, width_);
      numbers += rows * width_;
      count -= rows * width_;
    }
    if (count > 0) add_rows(numbers, 1, 0, count);
  }

  void add_rows(const T* numbers, uint64_t rows, uint64_t begin, uint64_t width) {
    if (additions_ + rows > kMostAdditions) widen();
    additions_ += rows;
    if (rows_ + rows > kMostRows) fold();
    rows_ += rows;
    kernels_.columns(numbers, rows, width_, width, {absmax_.data() + begin, squares_.data() + begin, zeros_.data() + begin});
  }

  void widen() {
    additions_ = 0;
    if constexpr (std::is_same_v<T, float>) {
      for (size_t i = 0; i < squares_.size(); ++i) {
        wide_squares_[i] += static_cast<double>(squares_[i]);
        squares_[i] = 0;
      }
    }
  }

  // Adds the columns to their channels and begins anew.
  void fold() {
    widen();
    rows_ = 0;
    for (size_t i = 0; i < width_; ++i) {
      ChannelSums& sums = totals_[i / run_ % totals_.size()];
      sums.absmax = std::max(sums.absmax, static_cast<double>(absmax_[i]));
      sums.zero += zeros_[i];
      if constexpr (std::is_same_v<T, float>) {
        sums.squares += wide_squares_[i];
        wide_squares_[i] = 0;
      } else {
        sums.squares += squares_[i];
        squares_[i] = 0;
      }
      zeros_[i] = 0;
    }
  }

  const int32_t axis_;
  const SketchKernels<T>& kernels_;
  uint64_t run_ = 1;  // neighbours of one channel
  uint64_t width_ = 0;
  uint64_t elements_ = 0;   // of each channel
  uint64_t position_ = 0;   // of the next element
  uint64_t additions_ = 0;  // to any of `squares_`, at most
  uint64_t rows_ = 0;
  std::vector<ChannelSums> totals_;
  std::vector<T> absmax_;
  std::vector<T> squares_;
  std::vector<uint32_t> zeros_;
  std::vector<double> wide_squares_;
};

template <class T>
class BlockPart : public SketchPart {
 public:
  BlockPart(const TensorDesc& desc, uint32_t block)
      : block_(block),
        row_(desc.shape.rank() == 0 ? 1 : static_cast<uint64_t>(desc.shape[desc.shape.rank() - 1])),
        kernels_(kernels_for<T>()) {}

  void add(const void* values, uint64_t count, double absmax) override {
    const auto* numbers = static_cast<const T*>(values);
    while (count > 0) {
      const uint64_t in_block = column_ % block_;
      uint64_t some = 0;
      if (in_block == 0 && absmax >= 0) {
        const uint64_t whole = (row_ % block_ == 0 ? count : std::min(count, row_ - column_)) / block_;
        if (whole > 0) kernels_.blocks(numbers, whole, block_, counts_);
        some = whole * block_;
      }
      if (some == 0) {
        const uint64_t rest = std::min(block_ - in_block, row_ - column_);
        some = std::min(count, rest);
        std::memcpy(begun_.data() + in_block, numbers, some * sizeof(T));
        if (some == rest) finish_block(in_block + some);
      }
      numbers += some;
      count -= some;
      column_ = (column_ + some) % row_;
    }
  }

  void finish(TensorSketch& sketch) override {
    sketch.block = static_cast<uint32_t>(block_);
    sketch.blocks = counts_;
  }

 private:
  void finish_block(uint64_t size) {
    const auto end = begun_.begin() + static_cast<std::ptrdiff_t>(size);
    if (std::any_of(begun_.begin(), end, [](T value) { return std::isnan(value); })) {
      ++counts_.nan;
    } else if (std::any_of(begun_.begin(), end, [](T value) { return std::isinf(value); })) {
      ++counts_.inf;
    } else {
      std::fill(end, begun_.end(), T{0});
      kernels_.blocks(begun_.data(), 1, static_cast<uint32_t>(block_), counts_);
    }
  }

  const uint64_t block_;
  const uint64_t row_;
  const SketchKernels<T>& kernels_;
  uint64_t column_ = 0;
  std::array<T, kSketchBlocks.back()> begun_{};
  BlockCounts counts_;
};

template <template <class> class Part, class... Arguments>
std::unique_ptr<SketchPart> make_part(bool wide, const Arguments&... arguments) {
  if (wide) return std::make_unique<Part<double>>(arguments...);
  return std::make_unique<Part<float>>(arguments...);
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

// Calls take(numbers, count) for all elements: where they lie, or decoded piece by piece.
template <class T, class Take>
void for_numbers(DType dtype, const void* data, uint64_t count, const Take& take) {
  constexpr DType kSame = std::is_same_v<T, float> ? DType::kFloat32 : DType::kFloat64;
  if (dtype == kSame && reinterpret_cast<uintptr_t>(data) % alignof(T) == 0) return take(static_cast<const T*>(data), count);
  alignas(64) std::array<T, kDecoded> values;
  for (uint64_t begin = 0; begin < count; begin += kDecoded) {
    const uint64_t some = std::min(kDecoded, count - begin);
    decode(dtype, data, begin, some, values.data());
    take(values.data(), some);
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
  if (axis.has_value() && sketch_state(desc, options) == SketchState::kThere) channels_ = make_part<ChannelPart>(is_wide_, desc, *axis);
  if (options.block != 0) blocks_ = make_part<BlockPart>(is_wide_, desc, options.block);
}

SketchBuilder::~SketchBuilder() = default;

void SketchBuilder::add(const void* data, uint64_t count, double absmax) {
  const auto take = [&](const auto* numbers, uint64_t some) {
    const double known = absmax >= 0 ? absmax : finite_absmax(numbers, some);
    if (channels_ != nullptr) channels_->add(numbers, some, known);
    if (blocks_ != nullptr) blocks_->add(numbers, some, known);
  };
  if (is_wide_) {
    for_numbers<double>(dtype_, data, count, take);
  } else {
    for_numbers<float>(dtype_, data, count, take);
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
