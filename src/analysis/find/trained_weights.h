// Which weights a training means to change.

#ifndef TENSORTAP_FIND_TRAINED_WEIGHTS_H_
#define TENSORTAP_FIND_TRAINED_WEIGHTS_H_

#include <cstdint>
#include <map>
#include <unordered_set>
#include <vector>

#include "query/op_facts.h"
#include "trace/dump_index.h"

namespace tensortap {

// Immutable; borrows nothing once made.
class TrainedWeights {
 public:
  TrainedWeights(const DumpIndex& dump, const OpFactsTable& facts);
  // Whether the dump has a step of an optimizer.
  [[nodiscard]] bool any() const { return any_; }
  // Whether an optimizer reads the weight, or the backward pass makes a gradient for it. True where the memory of the weight is not known,
  // false in a dump without an optimizer. A frozen part of a model that is tuned has neither.
  [[nodiscard]] bool contains(const RecordRow& weight) const;

 private:
  using Shape = std::vector<int64_t>;
  static Shape shape_of(const RecordRow& row);

  bool any_ = false;
  std::unordered_set<uint64_t> updated_;                    // blocks of memory that optimizers read
  std::map<Shape, std::unordered_set<uint64_t>> of_shape_;  // the parameters' blocks
  std::map<Shape, size_t> gradients_;                       // of one step, the most of all steps
};

}  // namespace tensortap

#endif  // TENSORTAP_FIND_TRAINED_WEIGHTS_H_
