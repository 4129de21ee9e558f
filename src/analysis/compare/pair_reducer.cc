#include "compare/pair_reducer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "compare/rounding.h"
#include "tensor/number_formats.h"

namespace tensortap {
namespace {

// Sums of squares below this may have lost bits to underflow.
constexpr double kSmallSquares = 0x1p-900;
constexpr uint64_t kMostWaiting = uint64_t{1} << 31;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

void count_nonfinite(double value, NonFiniteCounts& counts) {
  counts.nan += std::isnan(value) ? 1 : 0;
  counts.pos_inf += value == kInfinity ? 1 : 0;
  counts.neg_inf += value == -kInfinity ? 1 : 0;
}

// Adds the pairs that are finite on both sides. Not finite when the sums leave the range of Real.
template <class Real, class Sums>
void add_products(const PairPiece& piece, uint64_t begin, uint64_t end, Sums& sums) {
  for (uint64_t i = begin; i < end; ++i) {
    if (!std::isfinite(piece.a[i]) || !std::isfinite(piece.b[i])) continue;
    const Real a = static_cast<Real>(piece.a[i]);
    const Real b = static_cast<Real>(piece.b[i]);
    const Real difference = std::isfinite(piece.difference[i]) ? static_cast<Real>(piece.difference[i]) : a - b;
    sums.squares_a += a * a;
    sums.squares_b += b * b;
    sums.products += a * b;
    sums.squares += difference * difference;
    sums.sum += difference;
    sums.distances += std::abs(difference);
  }
}

double root(long double square) { return static_cast<double>(std::sqrt(square)); }

// |a - b| / |b| of sums of squares.
double relative_of(long double squares, long double squares_b) {
  if (squares == 0) return 0;
  return squares_b == 0 ? kInfinity : static_cast<double>(std::sqrt(squares) / std::sqrt(squares_b));
}

}  // namespace

void PairReducer::Sums::add(const PairSums& sums) {
  squares_a += static_cast<long double>(sums.squares_a);
  squares_b += static_cast<long double>(sums.squares_b);
  products += static_cast<long double>(sums.products);
  squares += static_cast<long double>(sums.squares);
  sum += static_cast<long double>(sums.sum);
  distances += static_cast<long double>(sums.distances);
}

PairReducer::PairReducer(const PairSide& a, const PairSide& b, const ToleranceRule& tolerance)
    : decoder_(a, b), kernels_(pair_kernels_in_use()) {
  request_.absolute = std::max(tolerance.absolute, kLeastTolerance);
  request_.relative = tolerance.relative;
  request_.tiny = decoder_.has_integers() ? 1 : float_limits(decoder_.ulp_dtype()).smallest_normal;
  may_underflow_ = a.dtype == DType::kFloat64 || b.dtype == DType::kFloat64;
  if (kernels_ != nullptr && !a.is_quantized()) {
    squares_ = kernels_->squares[static_cast<size_t>(a.dtype)];
    if (a.dtype == b.dtype && !b.is_quantized()) direct_ = kernels_->pairs[static_cast<size_t>(a.dtype)];
  }
  result_.in_steps = decoder_.in_steps();
  result_.ulp_dtype = decoder_.ulp_dtype();
  const bool both_float = !a.is_integer() && !b.is_integer() && !a.is_quantized() && !b.is_quantized();
  if (both_float && a.dtype != b.dtype) result_.narrowed = NarrowedDifference{decoder_.ulp_dtype(), 0, 0, 0};
}

void PairReducer::add(const void* a, const void* b, uint64_t first, uint64_t count) {
  uint64_t done = 0;
  if (direct_ != nullptr) {
    PairSums sums;
    done = direct_(a, b, count, request_, sums, bins_.data());
    if (is_plausible(sums)) {
      accept(sums, done);
      if (needs_places(sums)) find_places(a, b, sums, first, done);
    } else {
      done = 0;
    }
  }
  for (; done < count; done += kPairPiece) {
    const uint64_t some = std::min(kPairPiece, count - done);
    decoder_.decode(a, b, done, first + done, some, piece_);
    add_piece(first + done, some);
  }
}

void PairReducer::find_places(const void* a, const void* b, const PairSums& sums, uint64_t first, uint64_t count) {
  for (uint64_t offset = 0; offset < count; offset += kPairPiece) {
    const uint64_t some = std::min(kPairPiece, count - offset);
    decoder_.decode_values(a, b, offset, first + offset, some, piece_);
    if (note_places(sums, first + offset, some)) return;
  }
}

void PairReducer::add_squares(double squares, uint64_t pairs) {
  sums_.add({.squares_a = squares, .squares_b = squares, .products = squares});
  result_.finite += pairs;
  result_.within_1e_3 += pairs;
  result_.within_5e_3 += pairs;
  counted_[0] += pairs;
}

void PairReducer::add_equal(const void* a, uint64_t first, uint64_t count) {
  const auto is_good = [&](double squares) { return std::isfinite(squares) && (!may_underflow_ || squares >= kSmallSquares); };
  uint64_t done = 0;
  if (squares_ != nullptr) {
    double squares = 0;
    done = squares_(a, count, squares);
    if (is_good(squares)) {
      add_squares(squares, done);
    } else {
      done = 0;
    }
  }
  const SquaresKernel of_doubles = kernels_ != nullptr ? kernels_->squares[static_cast<size_t>(DType::kFloat64)] : nullptr;
  for (; done < count; done += kPairPiece) {
    const uint64_t some = std::min(kPairPiece, count - done);
    decoder_.decode_a(a, done, first + done, some, piece_.a);
    double squares = 0;
    uint64_t taken = of_doubles != nullptr ? of_doubles(piece_.a, some, squares) : 0;
    if (taken < some || !is_good(squares)) {
      std::copy_n(piece_.a, some, piece_.b);
      std::fill_n(piece_.difference, some, 0.0);
      std::fill_n(piece_.ulp, some, 0U);
      if (!std::isfinite(squares) && neutralize(first + done, taken) > 0) taken = of_doubles(piece_.a, some, squares);
    }
    if (is_good(squares)) {
      add_squares(squares, taken);
    } else {
      taken = 0;
    }
    add_one_by_one(first + done, taken, some);
  }
}

// Adds the first `count` pairs of piece_.
void PairReducer::add_piece(uint64_t first, uint64_t count) {
  result_.max_ulp = std::max(result_.max_ulp, piece_.max_ulp);
  if (result_.narrowed.has_value()) add_narrowed(count);
  uint64_t done = 0;
  if (kernels_ != nullptr) {
    PairSums sums;
    done = kernels_->piece(piece_, count, request_, sums, bins_.data());
    if (!std::isfinite(sums.squares_a + sums.squares_b) && neutralize(first, done) > 0) {
      done = kernels_->piece(piece_, count, request_, sums, bins_.data());
    }
    if (is_plausible(sums)) {
      accept(sums, done);
      if (needs_places(sums)) note_places(sums, first, done);
    } else {
      done = 0;
    }
  }
  add_one_by_one(first, done, count);
}

// Takes the pairs that are not finite out of the first `count` of piece_ and leaves equal zeros in their places, for which it makes up.
uint64_t PairReducer::neutralize(uint64_t first, uint64_t count) {
  uint64_t taken = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (std::isfinite(piece_.a[i]) && std::isfinite(piece_.b[i])) continue;
    add_nonfinite(piece_.a[i], piece_.b[i], first + i);
    piece_.a[i] = piece_.b[i] = piece_.difference[i] = 0;
    piece_.ulp[i] = 0;
    ++taken;
  }
  // These may wrap around until the zeros are counted.
  result_.finite -= taken;
  result_.within_1e_3 -= taken;
  result_.within_5e_3 -= taken;
  counted_[0] -= taken;
  return taken;
}

// Pairs that may not be finite, that fill no vector, or that have no kernels.
void PairReducer::add_one_by_one(uint64_t first, uint64_t begin, uint64_t end) {
  PairSums sums;
  add_products<double>(piece_, begin, end, sums);
  for (uint64_t i = begin; i < end; ++i) {
    if (std::isfinite(piece_.a[i]) && std::isfinite(piece_.b[i])) {
      add_finite(i, first + i);
    } else {
      add_nonfinite(piece_.a[i], piece_.b[i], first + i);
    }
  }
  sums.differing = end - begin;
  if (!is_plausible(sums)) return add_products<long double>(piece_, begin, end, sums_);
  sums_.add(sums);
}

void PairReducer::add_finite(uint64_t i, uint64_t position) {
  const double distance = std::abs(piece_.difference[i]);
  const double size = std::max(std::abs(piece_.b[i]), request_.tiny);
  const bool is_zero_a = piece_.a[i] == 0;
  const bool is_zero_b = piece_.b[i] == 0;
  ++result_.finite;
  result_.differing += distance > 0 ? 1 : 0;
  result_.zero_a_only += is_zero_a && !is_zero_b ? 1 : 0;
  result_.zero_b_only += is_zero_b && !is_zero_a ? 1 : 0;
  result_.within_1e_3 += distance / size < 1e-3 ? 1 : 0;
  result_.within_5e_3 += distance / size < 5e-3 ? 1 : 0;
  ++counted_[bin_of(distance, piece_.b[i], piece_.ulp[i])];
  note_maxima(i, position);
}

void PairReducer::add_nonfinite(double a, double b, uint64_t position) {
  count_nonfinite(a, result_.nonfinite_a);
  count_nonfinite(b, result_.nonfinite_b);
  const bool both_nan = std::isnan(a) && std::isnan(b);
  if (a == b || both_nan) {
    result_.both_nan += both_nan ? 1 : 0;
    ++result_.within_1e_3;
    ++result_.within_5e_3;
    ++counted_[0];
    return;
  }
  ++result_.differing;
  ++result_.nonfinite_differing;
  ++without_ulp_;
  note_differing(position);
  if (!result_.first_nonfinite_differing.has_value()) result_.first_nonfinite_differing = position;
}

void PairReducer::add_narrowed(uint64_t count) {
  NarrowedDifference& narrowed = *result_.narrowed;
  std::array<double, kPairPiece> a_values;
  std::array<double, kPairPiece> b_values;
  round_to(narrowed.dtype, {piece_.a, count}, a_values.data());
  round_to(narrowed.dtype, {piece_.b, count}, b_values.data());
  for (uint64_t i = 0; i < count; ++i) {
    const double a = a_values[i];
    const double b = b_values[i];
    if (a == b || (std::isnan(a) && std::isnan(b))) {
      if (std::isfinite(b)) narrowed_squares_b_ += static_cast<long double>(b) * static_cast<long double>(b);
      continue;
    }
    ++narrowed.differing;
    if (!std::isfinite(a) || !std::isfinite(b)) continue;
    const long double difference = static_cast<long double>(a) - static_cast<long double>(b);
    narrowed.max_abs = std::max(narrowed.max_abs, std::abs(a - b));
    narrowed_squares_ += difference * difference;
    narrowed_squares_b_ += static_cast<long double>(b) * static_cast<long double>(b);
  }
}

bool PairReducer::is_plausible(const PairSums& sums) const {
  // Squares of a and b that are finite say that the elements are; the others may be infinite only together with them, or for float64.
  if (!std::isfinite(sums.squares_a + sums.squares_b + sums.products + sums.squares)) return false;
  if (!may_underflow_) return true;
  return sums.squares_a >= kSmallSquares && sums.squares_b >= kSmallSquares && (sums.differing == 0 || sums.squares >= kSmallSquares);
}

// The first pair that differs raises a maximum, too.
bool PairReducer::needs_places(const PairSums& sums) const { return sums.max_abs > result_.max_abs || sums.max_rel > result_.max_rel; }

// As the kernels have it.
PairBin PairReducer::bin_of(double distance, double b, uint32_t ulp) const {
  const auto ulp_bin = std::min<uint32_t>(static_cast<uint32_t>(std::bit_width(ulp)), kUlpBins - 1);
  int64_t tolerance_bin = 0;
  if (std::isinf(distance)) {
    tolerance_bin = kToleranceBins - 1;
  } else if (distance > 0) {
    const double tolerance = std::abs(request_.relative * b) + request_.absolute;
    const int64_t exponent = (std::bit_cast<int64_t>(distance) - std::bit_cast<int64_t>(tolerance) - 1) >> 52;
    tolerance_bin = std::clamp<int64_t>(exponent + static_cast<int64_t>(kFirstOutsideBin), 0, kToleranceBins - 1);
  }
  return static_cast<PairBin>(static_cast<uint64_t>(tolerance_bin) * kUlpBins + ulp_bin);
}

void PairReducer::accept(const PairSums& sums, uint64_t count) {
  sums_.add(sums);
  result_.finite += count;
  result_.differing += sums.differing;
  result_.within_1e_3 += sums.within_1e_3;
  result_.within_5e_3 += sums.within_5e_3;
  result_.zero_a_only += sums.zero_a_only;
  result_.zero_b_only += sums.zero_b_only;
  result_.max_ulp = std::max(result_.max_ulp, sums.max_ulp);
  count_bins(count);
}

// `count` is a whole number of vectors, of four floats at least.
void PairReducer::count_bins(uint64_t count) {
  const PairBin* bins = bins_.data();
  uint64_t* counted = counted_.data();
  if (count < kPairPiece) {
    for (uint64_t i = 0; i < count; ++i) ++counted[bins[i]];
    return;
  }
  if (waiting_.empty()) waiting_.resize(kTables * kBins);
  uint32_t* tables = waiting_.data();
  for (uint64_t i = 0; i < count; i += kTables) {
    ++tables[bins[i]];
    ++tables[kBins + bins[i + 1]];
    ++tables[2 * kBins + bins[i + 2]];
    ++tables[3 * kBins + bins[i + 3]];
  }
  waiting_pairs_ += count;
  if (waiting_pairs_ >= kMostWaiting) fold_bins();
}

void PairReducer::fold_bins() {
  for (size_t table = 0; table < waiting_.size(); table += kBins) {
    for (size_t bin = 0; bin < kBins; ++bin) counted_[bin] += waiting_[table + bin];
  }
  std::ranges::fill(waiting_, 0U);
  waiting_pairs_ = 0;
}

void PairReducer::note_differing(uint64_t position) {
  result_.first_differing = std::min(position, result_.first_differing.value_or(position));
}

// For a pair of piece_ that is finite on both sides.
void PairReducer::note_maxima(uint64_t i, uint64_t position) {
  const double distance = std::abs(piece_.difference[i]);
  const double relative = distance / std::max(std::abs(piece_.b[i]), request_.tiny);
  if (distance > result_.max_abs) {
    result_.max_abs = distance;
    result_.max_abs_at = position;
  }
  if (relative > result_.max_rel) {
    result_.max_rel = relative;
    result_.max_rel_at = position;
  }
  if (distance > 0) note_differing(position);
}

// True when the maxima of `sums` have been found.
bool PairReducer::note_places(const PairSums& sums, uint64_t first, uint64_t count) {
  for (uint64_t i = 0; i < count && first + i < result_.first_differing.value_or(first + count); ++i) {
    if (std::abs(piece_.difference[i]) > 0) note_differing(first + i);
  }
  for (uint64_t i = 0; i < count; ++i) {
    const double distance = std::abs(piece_.difference[i]);
    const double size = std::max(std::abs(piece_.b[i]), request_.tiny);
    // A little less than the largest relative error, for products are rounded otherwise than quotients.
    if (distance > result_.max_abs || distance > result_.max_rel * (1 - 0x1p-50) * size) note_maxima(i, first + i);
  }
  return result_.max_abs >= sums.max_abs && result_.max_rel >= sums.max_rel;
}

void PairReducer::finish_sums() {
  const auto finite = static_cast<long double>(result_.finite);
  if (result_.finite > 0) {
    result_.mean = static_cast<double>(sums_.sum / finite);
    result_.mean_abs = static_cast<double>(sums_.distances / finite);
    result_.mse = static_cast<double>(sums_.squares / finite);
    result_.rmse = root(sums_.squares / finite);
  }
  result_.l2_a = root(sums_.squares_a);
  result_.l2_b = root(sums_.squares_b);
  result_.relative_l2 = relative_of(sums_.squares, sums_.squares_b);
  if (sums_.squares_a > 0 && sums_.squares_b > 0) {
    const long double cosine = sums_.products / std::sqrt(sums_.squares_a) / std::sqrt(sums_.squares_b);
    result_.cosine = static_cast<double>(std::clamp<long double>(cosine, -1, 1));
  } else {
    result_.cosine = sums_.squares_a == sums_.squares_b ? 1 : 0;
  }
  result_.snr_db = result_.relative_l2 == 0 ? kInfinity : -20 * std::log10(result_.relative_l2);
}

void PairReducer::finish_narrowed() {
  if (result_.narrowed.has_value()) result_.narrowed->relative_l2 = relative_of(narrowed_squares_, narrowed_squares_b_);
}

// Two values of one type differ when there is a way from one to the other.
uint64_t PairReducer::differing_by_bins() const {
  return std::accumulate(result_.ulp_histogram.begin() + 1, result_.ulp_histogram.end(), uint64_t{0});
}

Difference PairReducer::finish() {
  fold_bins();
  for (size_t bin = 0; bin < kBins; ++bin) {
    result_.tolerance_histogram[bin / kUlpBins] += counted_[bin];
    result_.ulp_histogram[bin % kUlpBins] += counted_[bin];
  }
  result_.tolerance_histogram.back() += without_ulp_;
  if (direct_ != nullptr) result_.differing = without_ulp_ + differing_by_bins();
  result_.outside = result_.outside_at(0);
  finish_sums();
  finish_narrowed();
  return result_;
}

}  // namespace tensortap
