// What an op does to the rounding errors of what it reads.

#ifndef TENSORTAP_COMPARE_OP_KINDS_H_
#define TENSORTAP_COMPARE_OP_KINDS_H_

#include <cstdint>
#include <deque>
#include <optional>

#include "trace/op_info.h"

namespace tensortap {

// Ops that make one element of many.
enum class Reduction : uint8_t {
  kNone,
  kSum,         // sums, means, deviations and losses: kernels add in blocks
  kMagnitudes,  // norms and sums of squares: kernels add one by one, and no term takes another back
};

struct OpKind {
  bool moves = false;  // returns elements that it read, or the same with another sign or a bound: it does not round
  bool sums = false;   // adds what it read: large terms may leave a small sum
  Reduction reduces = Reduction::kNone;
  bool averages = false;     // a mean of what it read
  bool multiplies = false;   // a product of two tensors, summed
  bool overlays = false;     // a small error of one input may be hidden by a large other input
  bool contracts = false;    // never enlarges the distance of two inputs
  bool is_exp = false;       // enlarges the relative error by the size of the exponent
  bool is_softmax = false;   // the same, of its largest element
  bool convolves = false;    // a sum over a filter
  bool is_norm = false;      // its further outputs are the mean and the deviation
  bool is_of_batch = false;  // a norm that measures its batch
  bool is_gate = false;      // the gradient of a function with a bend: an element on its other side passes its gradient on, or no longer
  bool is_gradient = false;  // of a norm or convolution: its further outputs are sums over the batch
  bool stores = false;       // writes into memory that has a type already, such as a cache
  bool of_halves = false;    // its outputs have the steps of float16, whatever their type
  bool quantises = false;    // its outputs have the steps of a quantised type
  bool defines = false;      // a part that networks are built of, with one result for its inputs
  int code_bits = 0;         // of that type, 0 where it does not quantise
};

// The kind of an op, whatever a framework calls it.
OpKind op_kind_of(const OpInfo& op);

// Whether a PyTorch op draws its output at random.
bool is_drawn(const OpInfo& op);

// The kinds of the ops of a dump; each is found once. What of() returns lives as long as this. One thread.
class OpKinds {
 public:
  const OpKind& of(OpId id, const OpInfo& op);

 private:
  std::deque<std::optional<OpKind>> known_;  // stays where it is when it grows
};

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_OP_KINDS_H_
