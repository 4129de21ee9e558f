// Ways in which two tensors hold the same elements that no order of whole dimensions explains: one side computes the last rows only, or
// for more cells of a cache than are in use, or rotary positions pair other channels.

#ifndef TENSORTAP_COMPARE_ARRANGEMENT_H_
#define TENSORTAP_COMPARE_ARRANGEMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "compare/difference.h"
#include "tensor/tensor.h"

namespace tensortap {

// Value type. The default is none of these ways.
struct Arrangement {
  enum class Kind : uint8_t {
    kNone,
    kLastRows,    // the smaller tensor has the last rows of the larger one, or the last row of each sequence
    kFirstCells,  // the larger tensor goes on along its last dimension: scores of attention over the cells of a cache, also the unused ones
    kLastPlace,   // the smaller tensor has the last place of one dimension of the larger: what one more token adds to a cache
    kRotary,      // one side has the two channels that are rotated together beside each other, the other one in two halves of a head
  };
  Kind kind = Kind::kNone;
  uint32_t number = 0;      // which of the ways that the shapes allow; kRotary: in which order b has the dimensions of a
  bool first_axis = false;  // kRotary: of the first dimension, as weights have it; otherwise of the last one
  uint32_t head = 0;        // kRotary: channels of a head
  bool pairs_in_a = false;  // kRotary: A has the pairs
  // "", "last rows", "first cells", "last place", "rotary 64"
  [[nodiscard]] std::string text() const;
};

// Every such way in which the numbers of rows may differ: one dimension that is not the last. Empty for shapes that allow none.
std::vector<Arrangement> last_rows(const Shape& a, const Shape& b);
// The way of kFirstCells. Empty for shapes that do not allow it, and for values that are few enough to be the same by chance.
std::vector<Arrangement> first_cells(const Shape& a, const Shape& b);
// The same beginning with any cell, however few they are: only for values that are known to be the same. A cache of the last tokens alone
// moves on, where another one has them behind the earlier ones.
std::vector<Arrangement> cells_in_use(const Shape& a, const Shape& b);
// Every way of kLastPlace, of any dimension and however few elements: only for values that are known to be the same.
std::vector<Arrangement> last_places(const Shape& a, const Shape& b);
// Every such way that two real tensors allow whose channels have norms at one place that differ by no more than `near`: their order leaves
// these as they are. Both have data in C order, and the same dimensions before the channels, in whatever order.
inline constexpr double kNearNorm = 0.03;
std::vector<Arrangement> rotary_orders(const TensorView& a, const TensorView& b, double near = kNearNorm);

// Whether the shapes allow the way.
bool is_possible(const Arrangement& arrangement, const TensorDesc& a, const TensorDesc& b);
// Relative L2 of a - b over at most 4,096 elements that are spread evenly, those that are finite on both sides. Inf where the way is not
// possible. Both tensors have data in C order.
double sampled_difference(const TensorView& a, const TensorView& b, const Arrangement& arrangement);
// compare_tensors() of the rows that both have, in the order of A. Positions are those of the whole tensor of A. Both tensors have data in
// C order. Errors: kInvalidArgument where the way is not possible.
Result<Difference> compare_arranged(const TensorView& a, const TensorView& b, const Arrangement& arrangement,
                                    const DifferenceOptions& options);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_ARRANGEMENT_H_
