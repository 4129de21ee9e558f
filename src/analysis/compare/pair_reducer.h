// From blocks of packed elements to a Difference.

#ifndef TENSORTAP_COMPARE_PAIR_REDUCER_H_
#define TENSORTAP_COMPARE_PAIR_REDUCER_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "compare/difference.h"
#include "compare/pair_block.h"
#include "compare/pair_decoder.h"
#include "compare/pair_kernels.h"

namespace tensortap {

// Takes the blocks of two tensors in order. One thread; needs a FloatEnvironment around it.
class PairReducer {
 public:
  // What the sides borrow has to outlive it.
  PairReducer(const PairSide& a, const PairSide& b, const ToleranceRule& tolerance);

  // Adds elements [first, first + count) of both, packed from `a` and `b` on. `first` is a multiple of kPairBlock, `count` at most that.
  void add(const void* a, const void* b, uint64_t first, uint64_t count);
  // The same where b is known to hold the same bytes with the same meaning.
  void add_equal(const void* a, uint64_t first, uint64_t count);

  // Everything but numel, compared and bit_equal; positions are those of the elements that were added. Call once, last.
  [[nodiscard]] Difference finish();

 private:
  static constexpr size_t kBins = kToleranceBins * kUlpBins;
  static constexpr size_t kTables = 4;  // so that equal neighbours do not wait for each other

  struct Sums {
    long double squares_a = 0;
    long double squares_b = 0;
    long double products = 0;
    long double squares = 0;
    long double sum = 0;
    long double distances = 0;
    void add(const PairSums& sums);
  };

  [[nodiscard]] bool is_plausible(const PairSums& sums) const;
  [[nodiscard]] bool needs_places(const PairSums& sums) const;
  [[nodiscard]] PairBin bin_of(double distance, double b, uint32_t ulp) const;
  void find_places(const void* a, const void* b, const PairSums& sums, uint64_t first, uint64_t count);
  void add_piece(uint64_t first, uint64_t count);
  void add_one_by_one(uint64_t first, uint64_t begin, uint64_t end);
  void add_finite(uint64_t i, uint64_t position);
  void add_nonfinite(double a, double b, uint64_t position);
  void add_narrowed(uint64_t count);
  uint64_t neutralize(uint64_t first, uint64_t count);
  void add_squares(double squares, uint64_t pairs);
  void accept(const PairSums& sums, uint64_t count);
  void count_bins(uint64_t count);
  void fold_bins();
  void note_differing(uint64_t position);
  void note_maxima(uint64_t i, uint64_t position);
  bool note_places(const PairSums& sums, uint64_t first, uint64_t count);
  [[nodiscard]] uint64_t differing_by_bins() const;
  void finish_sums();
  void finish_narrowed();

  PairDecoder decoder_;
  const PairKernelTable* kernels_;
  PairKernel direct_ = nullptr;      // of elements that need no decoding
  SquaresKernel squares_ = nullptr;  // of a's, where they need none
  PairRequest request_;
  bool may_underflow_;  // squares of the elements may be too small for double
  PairPiece piece_;
  alignas(64) std::array<PairBin, kPairBlock> bins_;
  std::vector<uint32_t> waiting_;  // kTables tables of kBins; empty until there is much to count
  uint64_t waiting_pairs_ = 0;
  std::vector<uint64_t> counted_ = std::vector<uint64_t>(kBins);
  uint64_t without_ulp_ = 0;
  Sums sums_;
  long double narrowed_squares_ = 0;
  long double narrowed_squares_b_ = 0;
  Difference result_;
};

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_PAIR_REDUCER_H_
