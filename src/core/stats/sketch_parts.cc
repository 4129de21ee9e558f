#include "stats/sketch_parts.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "stats/sketch_kernels.h"

namespace tensortap {
namespace {

// Narrower rows are joined, and shorter runs taken as columns.
constexpr uint64_t kLeastColumns = 64;
constexpr uint64_t kLeastRun = 32;
// Columns count zeros in 32 bits.
constexpr uint64_t kMostRows = uint64_t{1} << 31;
// With so many rows it pays to load and store their sums; with more elements the cache loses them before they are read again.
constexpr uint64_t kWantedRows = 16;
constexpr uint64_t kMostWanted = 65536;
// Blocks that are set aside until there are so many: those at the ends of rows, and those of shorter rows.
constexpr uint64_t kStagedBlocks = 32;

// Whether squares of numbers up to this can be summed in T. Below the smaller limit they would lose bits.
template <class T>
bool can_square(double absmax) {
  constexpr double kMost = std::is_same_v<T, float> ? 1e18 : 1e150;
  constexpr double kLeast = std::is_same_v<T, float> ? 0x1p-50 : 1e-140;
  return absmax == 0 || (absmax >= kLeast && absmax <= kMost);
}

// Sums by channel. Where runs of one channel are short, the numbers are rows of columns: `width_` neighbours in memory, after which the
// channels come again.
template <class Elements>
class ChannelPart : public SketchPart {
  using Element = typename Elements::Element;
  using Square = SquareOf<Element>;

 public:
  ChannelPart(const TensorDesc& desc, int32_t axis) : axis_(axis), kernels_(sketch_kernels_in_use().of<Elements>()) {
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

  void add(const void* elements, uint64_t count, const SketchPiece& piece) override {
    const auto* numbers = static_cast<const Element*>(elements);
    has_zeros_ = piece.zeros;
    if (piece.absmax < 0 || !can_square<Square>(piece.absmax)) {
      add_carefully(numbers, count);
    } else if (width_ > 0) {
      add_columns(numbers, count);
    } else {
      add_runs(numbers, count);
    }
  }

  [[nodiscard]] uint64_t wanted_elements() const override { return std::min(kWantedRows * width_, kMostWanted); }

  void finish(TensorSketch& sketch) override {
    fold();
    sketch.axis = axis_;
    sketch.channel_elements = elements_;
    sketch.channels = std::move(totals_);
  }

 private:
  [[nodiscard]] uint64_t channel() const { return position_ / run_ % totals_.size(); }

  void add_carefully(const Element* numbers, uint64_t count) {
    uint64_t at = channel();
    uint64_t in_run = position_ % run_;
    for (uint64_t i = 0; i < count; ++i) {
      ChannelSums& sums = totals_[at];
      const double value = Elements::number(numbers[i]);
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

  void add_runs(const Element* numbers, uint64_t count) {
    uint64_t at = channel();
    uint64_t in_run = position_ % run_;
    position_ += count;
    while (count > 0) {
      const uint64_t some = std::min(count, run_ - in_run);
      RunSums found;
      kernels_.run(numbers, some, has_zeros_, found);
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

  void add_columns(const Element* numbers, uint64_t count) {
    const uint64_t begin = position_ % width_;
    position_ += count;
    if (begin != 0) {
      const uint64_t some = std::min(count, width_ - begin);
      add_rows(numbers, 1, begin, some);
      numbers += some;
      count -= some;
    }
    while (count >= width_) {
      const uint64_t rows = std::min(count / width_, kMostSketchRows);
      add_rows(numbers, rows, 0, width_);
      numbers += rows * width_;
      count -= rows * width_;
    }
    if (count > 0) add_rows(numbers, 1, 0, count);
  }

  void add_rows(const Element* numbers, uint64_t rows, uint64_t begin, uint64_t width) {
    if (additions_ + rows > kMostSketchRows) widen();
    additions_ += rows;
    if (rows_ + rows > kMostRows) fold();
    rows_ += rows;
    kernels_.columns(numbers, rows, width_, width, has_zeros_, {absmax_.data() + begin, squares_.data() + begin, zeros_.data() + begin});
  }

  void widen() {
    additions_ = 0;
    if constexpr (std::is_same_v<Square, float>) {
      wide_squares_.resize(width_);
      for (size_t i = 0; i < width_; ++i) {
        wide_squares_[i] += static_cast<double>(squares_[i]);
        squares_[i] = 0;
      }
    }
  }

  // Adds the columns to their channels and resets them.
  void fold() {
    additions_ = rows_ = 0;
    uint64_t at = 0;
    uint64_t in_run = 0;
    for (size_t i = 0; i < width_; ++i) {
      ChannelSums& sums = totals_[at];
      sums.absmax = std::max(sums.absmax, std::abs(Elements::number(absmax_[i])));
      sums.squares += static_cast<double>(squares_[i]);
      sums.zero += zeros_[i];
      if (++in_run < run_) continue;
      in_run = 0;
      at = at + 1 == totals_.size() ? 0 : at + 1;
    }
    std::ranges::fill(squares_, Square{0});
    std::ranges::fill(zeros_, 0U);
    for (size_t i = 0; i < wide_squares_.size(); ++i) totals_[i / run_ % totals_.size()].squares += wide_squares_[i];
    wide_squares_.clear();
  }

  const int32_t axis_;
  const SketchKernels<Element>& kernels_;
  uint64_t run_ = 1;  // neighbours of one channel
  uint64_t width_ = 0;
  uint64_t elements_ = 0;   // of each channel
  uint64_t position_ = 0;   // of the next element
  uint64_t additions_ = 0;  // to any of `squares_`, at most
  uint64_t rows_ = 0;
  bool has_zeros_ = true;  // what is being added
  std::vector<ChannelSums> totals_;
  std::vector<Element> absmax_;
  std::vector<Square> squares_;
  std::vector<uint32_t> zeros_;
  std::vector<double> wide_squares_;  // sums that moved to double; empty when none did
};

template <class Elements>
class BlockPart : public SketchPart {
  using Element = typename Elements::Element;

 public:
  BlockPart(const TensorDesc& desc, uint32_t block)
      : block_(block),
        row_(desc.shape.rank() == 0 ? 1 : static_cast<uint64_t>(desc.shape[desc.shape.rank() - 1])),
        kernels_(sketch_kernels_in_use().of<Elements>()),
        staged_(kStagedBlocks * block) {}

  void add(const void* elements, uint64_t count, const SketchPiece& piece) override {
    const auto* numbers = static_cast<const Element*>(elements);
    while (count > 0) {
      uint64_t some = whole_blocks(count, piece) * block_;
      if (some > 0) {
        kernels_.blocks(numbers, some / block_, static_cast<uint32_t>(block_), piece.zeros, piece.absmax, tally_);
      } else {
        some = stage(numbers, count);
      }
      numbers += some;
      count -= some;
      column_ = (column_ + some) % row_;
    }
  }

  void finish(TensorSketch& sketch) override {
    count_staged();
    sketch.block = static_cast<uint32_t>(block_);
    for (const auto& bins : tally_.bins) {
      for (int i = 0; i < BlockCounts::kBins; ++i) counts_.bins[i] += bins[i];
    }
    counts_.zero = tally_.zero;
    counts_.nonzero = tally_.nonzero;
    std::ranges::copy(tally_.underflow, counts_.underflow);
    sketch.blocks = counts_;
  }

 private:
  // Blocks that begin here and are counted where they are; 0 = too few.
  [[nodiscard]] uint64_t whole_blocks(uint64_t count, const SketchPiece& piece) const {
    if (column_ % block_ != 0 || piece.absmax < 0) return 0;
    const uint64_t whole = (row_ % block_ == 0 ? count : std::min(count, row_ - column_)) / block_;
    return whole < kStagedBlocks / 2 ? 0 : whole;
  }

  // Sets elements of one block aside and returns their number.
  uint64_t stage(const Element* numbers, uint64_t count) {
    const uint64_t in_block = column_ % block_;
    const uint64_t rest = std::min(block_ - in_block, row_ - column_);
    const uint64_t some = std::min(count, rest);
    std::memcpy(staged_.data() + staged_blocks_ * block_ + in_block, numbers, some * sizeof(Element));
    if (some == rest) end_block(in_block + some);
    return some;
  }

  void end_block(uint64_t size) {
    Element* const block = staged_.data() + staged_blocks_ * block_;
    double absmax = 0;
    bool has_nan = false;
    for (uint64_t i = 0; i < size; ++i) {
      const double value = std::abs(Elements::number(block[i]));
      has_nan = has_nan || std::isnan(value);
      absmax = value > absmax ? value : absmax;
    }
    if (has_nan) {
      ++counts_.nan;
    } else if (std::isinf(absmax)) {
      ++counts_.inf;
    } else {
      std::fill(block + size, block + block_, Element{0});
      staged_absmax_ = std::max(staged_absmax_, absmax);
      if (++staged_blocks_ == kStagedBlocks) count_staged();
    }
  }

  void count_staged() {
    if (staged_blocks_ > 0) kernels_.blocks(staged_.data(), staged_blocks_, static_cast<uint32_t>(block_), true, staged_absmax_, tally_);
    staged_blocks_ = 0;
    staged_absmax_ = 0;
  }

  const uint64_t block_;
  const uint64_t row_;
  const SketchKernels<Element>& kernels_;
  uint64_t column_ = 0;
  std::vector<Element> staged_;  // finite blocks, and perhaps one that is not whole yet
  uint64_t staged_blocks_ = 0;
  double staged_absmax_ = 0;
  BlockTally tally_;
  BlockCounts counts_;  // the counts that tally_ does not have
};

template <template <class> class Part, class... Arguments>
std::unique_ptr<SketchPart> make_part(SketchElements elements, const TensorDesc& desc, Arguments... arguments) {
  switch (elements) {
    case SketchElements::kFloat16:
      return std::make_unique<Part<Float16Elements>>(desc, arguments...);
    case SketchElements::kBFloat16:
      return std::make_unique<Part<BFloat16Elements>>(desc, arguments...);
    case SketchElements::kFloat64:
      return std::make_unique<Part<Float64Elements>>(desc, arguments...);
    default:
      return std::make_unique<Part<Float32Elements>>(desc, arguments...);
  }
}

}  // namespace

std::unique_ptr<SketchPart> make_channel_part(SketchElements elements, const TensorDesc& desc, int32_t axis) {
  return make_part<ChannelPart>(elements, desc, axis);
}

std::unique_ptr<SketchPart> make_block_part(SketchElements elements, const TensorDesc& desc, uint32_t block) {
  return make_part<BlockPart>(elements, desc, block);
}

}  // namespace tensortap
