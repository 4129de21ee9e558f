#include "stats/sketch_parts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "stats/sketch_kernels.h"

namespace tensortap {
namespace {

// Additions in float before squares go over to double (docs/statistics.md).
constexpr uint64_t kMostAdditions = 64;
// Narrower rows are joined, and shorter runs taken as columns.
constexpr uint64_t kLeastColumns = 64;
constexpr uint64_t kLeastRun = 32;
// Columns count zeros in 32 bits.
constexpr uint64_t kMostRows = uint64_t{1} << 31;

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
      wide_squares_.resize(width_);
      for (size_t i = 0; i < width_; ++i) {
        wide_squares_[i] += static_cast<double>(squares_[i]);
        squares_[i] = 0;
      }
    }
  }

  // Adds the columns to their channels and begins anew.
  void fold() {
    additions_ = rows_ = 0;
    uint64_t at = 0;
    uint64_t in_run = 0;
    for (size_t i = 0; i < width_; ++i) {
      ChannelSums& sums = totals_[at];
      sums.absmax = std::max(sums.absmax, static_cast<double>(absmax_[i]));
      sums.squares += static_cast<double>(squares_[i]);
      sums.zero += zeros_[i];
      if (++in_run < run_) continue;
      in_run = 0;
      at = at + 1 == totals_.size() ? 0 : at + 1;
    }
    std::ranges::fill(squares_, T{0});
    std::ranges::fill(zeros_, 0U);
    for (size_t i = 0; i < wide_squares_.size(); ++i) totals_[i / run_ % totals_.size()].squares += wide_squares_[i];
    wide_squares_.clear();
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
  std::vector<double> wide_squares_;  // what went over to double; empty when nothing did
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

}  // namespace

std::unique_ptr<SketchPart> make_channel_part(bool wide, const TensorDesc& desc, int32_t axis) {
  if (wide) return std::make_unique<ChannelPart<double>>(desc, axis);
  return std::make_unique<ChannelPart<float>>(desc, axis);
}

std::unique_ptr<SketchPart> make_block_part(bool wide, const TensorDesc& desc, uint32_t block) {
  if (wide) return std::make_unique<BlockPart<double>>(desc, block);
  return std::make_unique<BlockPart<float>>(desc, block);
}

}  // namespace tensortap
