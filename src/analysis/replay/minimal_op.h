// The smallest part of a recorded op that still gives other bits than were recorded. docs/replay.md.

#ifndef TENSORTAP_REPLAY_MINIMAL_OP_H_
#define TENSORTAP_REPLAY_MINIMAL_OP_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "compare/difference.h"
#include "replay/recorded_op.h"
#include "replay/replay.h"
#include "trace/dump_index.h"

namespace tensortap {

// What is left of a tensor that the op reads or makes.
struct CutTensor {
  std::string slot;  // "in0"
  std::vector<int64_t> shape;
  std::vector<int64_t> first;  // of what is left, for each dimension
  std::vector<int64_t> count;
};

struct MinimalOp {
  std::unique_ptr<const DumpIndex> dump;  // has the records of this execution alone, cut; borrows from the dump that they are of
  RecordedOp op;                          // in it
  std::vector<CutTensor> tensors;         // inputs, then outputs
  CutTensor differing;                    // the output that differs
  Difference difference;                  // the runtime's value of it (a) beside what was recorded (b)
  size_t runs = 0;                        // of the runtime
};

// Cuts dimensions, the outermost first, by bisection. A part is taken when the runtime gives it the very bits that it gives to this part
// of the whole, so that the dimension is one that the op works along, and they are not those that were recorded. `op` has no obstacle.
// Nothing when no bit differs. Errors: the runtime's, when it does not take the op; kUnsupported when what it makes has another type or
// shape than was recorded, which no part of it explains.
Result<std::optional<MinimalOp>> minimal_op(const DumpIndex& dump, const RecordedOp& op, ReplayRuntime& runtime,
                                            const std::function<void(size_t runs)>& progress);

}  // namespace tensortap

#endif  // TENSORTAP_REPLAY_MINIMAL_OP_H_
