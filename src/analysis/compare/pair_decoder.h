// Packed elements of two tensors as numbers that can be subtracted: whatever the types of the sides are, quantised or not.

#ifndef TENSORTAP_COMPARE_PAIR_DECODER_H_
#define TENSORTAP_COMPARE_PAIR_DECODER_H_

#include <array>
#include <cstdint>

#include "compare/difference.h"
#include "compare/pair_block.h"
#include "tensor/dtype.h"

namespace tensortap {

// The elements of one tensor. What `quantization` borrows has to outlive it. Plain data.
struct PairSide {
  DType dtype = DType::kUndefined;  // of a real type: complex ones are read as pairs of these
  Quantization quantization;
  // With a scale for each index of an axis: the index of element i is i / inner % indices.
  uint64_t inner = 1;
  uint64_t indices = 1;

  [[nodiscard]] bool is_quantized() const { return !quantization.scale.empty(); }
  [[nodiscard]] bool is_integer() const;
};

// Immutable; thread-safe.
class PairDecoder {
 public:
  PairDecoder(const PairSide& a, const PairSide& b);

  // Whether differences are those of integers.
  [[nodiscard]] bool has_integers() const { return has_integers_; }
  // Whether they are steps of two tensors that are quantised alike.
  [[nodiscard]] bool in_steps() const { return in_steps_; }
  // The type of which ULP are measured; kUndefined for integers.
  [[nodiscard]] DType ulp_dtype() const { return ulp_dtype_; }

  // Sets the first `count` pairs of `piece`, and its max_ulp. `a` and `b` are packed, `offset` elements before those that are wanted (a
  // multiple of kPairPiece), which are the elements from `first` on of the tensors.
  void decode(const void* a, const void* b, uint64_t offset, uint64_t first, uint64_t count, PairPiece& piece) const;
  // Sets a, b and difference alone.
  void decode_values(const void* a, const void* b, uint64_t offset, uint64_t first, uint64_t count, PairPiece& piece) const;
  // The elements of a alone.
  void decode_a(const void* a, uint64_t offset, uint64_t first, uint64_t count, double* values) const;

 private:
  void decode_integers(const void* a, const void* b, uint64_t offset, uint64_t first, uint64_t count, PairPiece& piece) const;
  void decode_reals(const void* a, const void* b, uint64_t offset, uint64_t first, uint64_t count, PairPiece& piece) const;

  PairSide a_;
  PairSide b_;
  bool in_steps_;
  bool has_integers_;
  bool has_code_table_ = false;  // both sides are of one 8-bit floating type
  DType ulp_dtype_ = DType::kUndefined;
  std::array<int64_t, 256> ordinal_of_code_{};
};

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_PAIR_DECODER_H_
