// The way of a tensor through the kernels: blocks, retries where a block needs a closer look, parts on several threads, one state at the
// end.

#include "stats/stats.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "stats/block_plan.h"
#include "stats/code_counts.h"
#include "stats/float_environment.h"
#include "stats/modulus.h"
#include "stats/sketch.h"
#include "stats/stats_state.h"
#include "stats/stats_target.h"
#include "tensor/memory_order.h"
#include "tensor/number_formats.h"

namespace tensortap {
namespace {

// Statistics that need more than extremes and sums of the elements themselves.
constexpr uint32_t kNeedsCounts = kStatStd | kStatZero | kStatNegZero | kStatPositive | kStatNegative;
// Strided and complex elements pass through a buffer of this size on the stack.
constexpr uint64_t kBufferBytes = 16384;
constexpr uint64_t kParallelBytes = uint64_t{256} << 10;
constexpr uint64_t kMaxParts = 32;
// Squares below this many times the number of elements may have lost bits to underflow.
constexpr double kSmallFloatSquare = 0x1p-126;
constexpr double kSmallDoubleSquare = 0x1p-970;
// How far (in standard deviations, squared) the shift may be from the mean before cancellation costs more than the sums' own error.
constexpr double kFloatCancellation = 4;
constexpr double kDoubleCancellation = 1024;

// Everything that is the same for all blocks of a tensor.
struct Job {
  Job(const TensorView& tensor, const StatsOptions& options, const KernelTable& kernels, uint64_t numel)
      : view(tensor), plan(numel, options.sample_limit), info(dtype_info(tensor.desc.dtype)), sketch(options.sketch) {
    is_contiguous = view.is_contiguous();
    is_complex = info.kind == DTypeKind::kComplex;
    is_unsigned = info.kind == DTypeKind::kUnsigned || info.kind == DTypeKind::kBool;
    is_floating = is_complex || info.kind == DTypeKind::kFloat;
    has_float_lanes = info.kind == DTypeKind::kFloat && info.bits <= 32;
    needs_counts = (options.wanted & kNeedsCounts) != 0;
    needs_magnitudes = (options.wanted & (kStatMeanAbs | kStatSubnormal)) != 0;
    smallest_normal = float_limits(info.dtype).smallest_normal;
    const auto row = static_cast<size_t>(is_complex ? DType::kFloat64 : info.dtype);
    fast = kernels.fast[row];
    careful = kernels.careful[row];
    magnitudes = kernels.magnitudes[row];
    codes = kernels.codes[row];
  }

  const TensorView& view;
  BlockPlan plan;
  const DTypeInfo& info;
  SketchBuilder* sketch;  // null when none is wanted
  BlockKernel fast;
  BlockKernel careful;
  MagnitudeKernel magnitudes;
  CodeKernel codes;
  double smallest_normal;
  bool is_contiguous;
  bool is_complex;
  bool is_unsigned;
  bool is_floating;
  bool has_float_lanes;
  bool needs_counts;
  bool needs_magnitudes;
};

// Calls visit(packed elements, count, flat index of the first) for a block: once when the elements are contiguous, else for pieces.
template <class Visit>
void for_each_piece(const Job& job, const BlockRange& block, const Visit& visit) {
  if (job.is_contiguous) {
    visit(static_cast<const std::byte*>(job.view.data) + block.begin * job.info.bits / 8, block.count, block.begin);
    return;
  }
  alignas(64) std::array<std::byte, kBufferBytes> buffer;
  const uint64_t piece = kBufferBytes / (job.info.bits / 8U);
  for (uint64_t done = 0; done < block.count; done += piece) {
    const uint64_t count = std::min(piece, block.count - done);
    copy_packed_range(job.view, block.begin + done, count, buffer.data());
    visit(buffer.data(), count, block.begin + done);
  }
}

// Takes the blocks of one part of a tensor. One thread.
class BlockReducer {
 public:
  // Adds to `state`, which outlives it.
  BlockReducer(const Job& job, StatsState& state) : job_(job), state_(state) {}

  void add(const BlockRange& block) {
    for_each_piece(job_, block, [&](const std::byte* data, uint64_t count, uint64_t begin) {
      SketchPiece piece;
      if (job_.is_complex) {
        add_complex(data, count, begin);
      } else {
        piece = add_piece(data, count, begin);
      }
      if (job_.sketch != nullptr) sketch(data, count, piece);
    });
  }

  // When all blocks are in.
  void finish() {
    if (waiting_ > 0) job_.sketch->add(waiting_data_, waiting_, waiting_piece_);
    waiting_ = 0;
  }

 private:
  // Gives the sketch several adjacent pieces at once where it wants so many elements.
  void sketch(const std::byte* data, uint64_t count, const SketchPiece& piece) {
    if (!job_.is_contiguous) return job_.sketch->add(data, count, piece);
    const bool is_known = piece.absmax >= 0;
    if (waiting_ > 0 && is_known != (waiting_piece_.absmax >= 0)) finish();
    if (waiting_ == 0) {
      waiting_data_ = data;
      waiting_piece_ = piece;
    } else {
      waiting_piece_.absmax = std::max(waiting_piece_.absmax, piece.absmax);
      waiting_piece_.zeros = waiting_piece_.zeros || piece.zeros;
    }
    waiting_ += count;
    if (waiting_ >= job_.sketch->wanted_elements()) finish();
  }

  void add_complex(const std::byte* data, uint64_t count, uint64_t begin) {
    constexpr uint64_t kPiece = 512;
    alignas(64) std::array<double, kPiece> moduli;
    for (uint64_t done = 0; done < count; done += kPiece) {
      const uint64_t some = std::min(kPiece, count - done);
      to_moduli(job_.info.dtype, data, done, some, moduli.data());
      add_piece(moduli.data(), some, begin + done);
    }
  }

  // Adds a piece and returns the facts that a sketch needs of it.
  SketchPiece add_piece(const void* data, uint64_t count, uint64_t begin) {
    BlockSums sums = measure(data, count);
    if (job_.needs_counts && sums.deviations < 0 && cancels(sums)) {
      const double mean = shift_ + sums.sum / static_cast<double>(sums.finite);
      shift_ = job_.has_float_lanes ? static_cast<double>(static_cast<float>(mean)) : mean;
      sums = measure(data, count);
    }
    const uint64_t nonfinite = sums.nan + sums.pos_inf + sums.neg_inf;
    if (nonfinite > 0 && state_.first_nonfinite < 0) find_nonfinite(data, count, begin);
    add_block(sums, shift_, job_.is_unsigned, state_);
    if (job_.needs_magnitudes) add_magnitudes(data, count);
    if (nonfinite > 0 || sums.finite == 0) return {};
    return {std::max(std::abs(sums.min), std::abs(sums.max)), !job_.needs_counts || sums.zero > 0};
  }

  void add_magnitudes(const void* data, uint64_t count) {
    BlockMagnitudes found;
    if (job_.is_complex) {
      found = magnitudes_of({static_cast<const double*>(data), count});
    } else {
      job_.magnitudes(data, count, found);
    }
    state_.magnitudes += found.sum;
    state_.subnormal += found.subnormal;
    if (!std::isfinite(state_.magnitudes)) state_.out_of_range = true;
  }

  // Of moduli: what is subnormal depends on the type of the parts.
  [[nodiscard]] BlockMagnitudes magnitudes_of(std::span<const double> moduli) const {
    BlockMagnitudes found;
    for (const double modulus : moduli) {
      if (std::isfinite(modulus)) found.sum += modulus;
      found.subnormal += modulus > 0 && modulus < job_.smallest_normal ? 1 : 0;
    }
    return found;
  }

  [[nodiscard]] BlockSums measure(const void* data, uint64_t count) {
    BlockSums sums;
    const BlockRequest request{shift_, job_.needs_counts};
    job_.fast(data, count, request, sums);
    if (!job_.is_floating || is_plausible(sums)) return sums;
    sums = {};
    job_.careful(data, count, request, sums);
    if (!job_.has_float_lanes && !is_plausible(sums)) state_.out_of_range = true;
    return sums;
  }

  // Whether the sums can be taken as they are.
  [[nodiscard]] bool is_plausible(const BlockSums& sums) const {
    if (!std::isfinite(sums.squares) || !std::isfinite(sums.sum)) return false;
    const double small = (job_.has_float_lanes ? kSmallFloatSquare : kSmallDoubleSquare) * static_cast<double>(sums.finite);
    if (sums.squares >= small || sums.finite == 0) return true;
    return shift_ == 0 ? sums.min == 0 && sums.max == 0 : sums.min == sums.max;
  }

  [[nodiscard]] bool cancels(const BlockSums& sums) const {
    if (sums.finite == 0 || sums.min == sums.max) return false;
    const double limit = job_.has_float_lanes ? kFloatCancellation : kDoubleCancellation;
    const double of_mean = sums.sum * (sums.sum / static_cast<double>(sums.finite));
    return of_mean > limit * (sums.squares - of_mean);
  }

  void find_nonfinite(const void* data, uint64_t count, uint64_t begin) {
    const DType dtype = job_.is_complex ? DType::kFloat64 : job_.info.dtype;
    for (uint64_t i = 0; i < count; ++i) {
      double value = 0;
      to_float64(dtype, data, i, 1, &value);
      if (std::isfinite(value)) continue;
      state_.first_nonfinite = static_cast<int64_t>(begin + i);
      return;
    }
  }

  const Job& job_;
  double shift_ = 0;
  StatsState& state_;
  // The elements that the sketch does not have yet.
  const std::byte* waiting_data_ = nullptr;
  uint64_t waiting_ = 0;
  SketchPiece waiting_piece_;
};

int64_t first_nonfinite_in_order(const Job& job, uint64_t first_block, uint64_t end_block) {
  int64_t found = -1;
  for (uint64_t b = first_block; b < end_block && found < 0; ++b) {
    for_each_piece(job, job.plan.block(b), [&](const std::byte* data, uint64_t count, uint64_t begin) {
      for (uint64_t i = 0; i < count && found < 0; ++i) {
        double value = 0;
        to_float64(job.info.dtype, data, i, 1, &value);
        if (!std::isfinite(value)) found = static_cast<int64_t>(begin + i);
      }
    });
  }
  return found;
}

void count_codes(const Job& job, uint64_t first_block, uint64_t end_block, StatsState& state) {
  CodeCounts counts(job.info.dtype);
  // The kernels know no magnitudes.
  const bool has_kernel = job.codes != nullptr && !job.needs_magnitudes;
  for (uint64_t b = first_block; b < end_block; ++b) {
    for_each_piece(job, job.plan.block(b), [&](const std::byte* data, uint64_t count, uint64_t) {
      BlockSums sums;
      if (has_kernel && job.codes(data, count, sums)) {
        add_block(sums, 0, false, state);
      } else {
        counts.add(data, count);
      }
      if (job.sketch != nullptr) job.sketch->add(data, count, {});
    });
  }
  merge(counts.state(), false, state);
  if (state.count > state.finite) state.first_nonfinite = first_nonfinite_in_order(job, first_block, end_block);
}

// Fills in `state`, which is new.
void reduce_blocks(const Job& job, uint64_t first_block, uint64_t end_block, StatsState& state) {
  if (CodeCounts::serves(job.info.dtype)) return count_codes(job, first_block, end_block, state);
  BlockReducer reducer(job, state);
  for (uint64_t b = first_block; b < end_block; ++b) reducer.add(job.plan.block(b));
  reducer.finish();
}

// The parts of a tensor that go to different threads, and the results of each.
struct Parts {
  const Job& job;
  uint64_t count;
  std::array<StatsState, kMaxParts> states;

  static void run(void* context, size_t index) {
    auto& parts = *static_cast<Parts*>(context);
    if (index >= parts.count) return;
    const FloatEnvironment environment;
    const uint64_t blocks = parts.job.plan.blocks();
    reduce_blocks(parts.job, blocks * index / parts.count, blocks * (index + 1) / parts.count, parts.states[index]);
  }
};

uint64_t part_count(const Job& job, const ParallelFor& parallel_for) {
  if (parallel_for.run == nullptr || job.plan.blocks() < 2 || job.sketch != nullptr) return 1;
  const uint64_t bytes = job.plan.blocks() * job.plan.block(0).count * job.info.bits / 8;
  return std::min({(bytes + kParallelBytes - 1) / kParallelBytes, job.plan.blocks(), kMaxParts});
}

void reduce(const Job& job, const ParallelFor& parallel_for, StatsState& state) {
  const uint64_t count = part_count(job, parallel_for);
  if (count == 1) return reduce_blocks(job, 0, job.plan.blocks(), state);
  Parts parts{job, count, {}};
  parallel_for.run(parallel_for.pool, &Parts::run, count, &parts);
  for (uint64_t i = 0; i < count; ++i) merge(parts.states[i], job.is_unsigned, state);
}

// Where the reference measures.
void sketch_alone(const TensorView& view, const StatsOptions& options, uint64_t numel) {
  const Job job(view, options, KernelTable{}, numel);
  for (uint64_t b = 0; b < job.plan.blocks(); ++b) {
    for_each_piece(job, job.plan.block(b), [&](const std::byte* data, uint64_t count, uint64_t) { options.sketch->add(data, count, {}); });
  }
}

}  // namespace

std::optional<NonFinitePolicy> policy_from_name(std::string_view name) {
  if (name == "skip-nan") return NonFinitePolicy::kSkipNan;
  if (name == "propagate") return NonFinitePolicy::kPropagate;
  if (name == "skip-nonfinite") return NonFinitePolicy::kSkipNonFinite;
  return std::nullopt;
}

TensorStats compute_stats(const TensorView& view, const StatsOptions& options) {
  const FloatEnvironment environment;
  const KernelTable* kernels = kernels_in_use();
  const auto numel = view.desc.shape.numel();
  if (kernels == nullptr || !numel || *numel == 0 || view.data == nullptr || dtype_info(view.desc.dtype).bits == 0) {
    if (options.sketch != nullptr && view.data != nullptr && dtype_info(view.desc.dtype).bits != 0)
      sketch_alone(view, options, numel.value_or(0));
    return compute_stats_reference(view, options);
  }
  // No statistic but the place of the first non-finite value depends on the order. A sample does.
  const bool any_order = options.sample_limit == 0 && options.sketch == nullptr && dtype_info(view.desc.dtype).kind != DTypeKind::kComplex;
  const std::optional<TensorView> reordered = any_order ? in_memory_order(view) : std::nullopt;
  const Job job(reordered.has_value() ? *reordered : view, options, *kernels, *numel);
  StatsState state;
  reduce(job, options.parallel_for, state);
  if (reordered.has_value() && state.first_nonfinite >= 0) {
    const Job in_order(view, options, *kernels, *numel);
    state.first_nonfinite = first_nonfinite_in_order(in_order, 0, in_order.plan.blocks());
  }
  if (state.out_of_range) return compute_stats_reference(view, options);
  const uint32_t valid = (options.wanted & kStatAll) | (job.plan.sampled() ? kStatSampled : 0U);
  return finish(state, valid, options.policy);
}

}  // namespace tensortap
