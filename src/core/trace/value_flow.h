// ValueFlow: finds which op made what another op read, from records that name the memory of each tensor.

#ifndef TENSORTAP_TRACE_VALUE_FLOW_H_
#define TENSORTAP_TRACE_VALUE_FLOW_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <unordered_map>
#include <vector>

#include "tensor/tensor.h"
#include "trace/op_info.h"
#include "trace/record_row.h"

namespace tensortap {

// One output of an op, or an element of one that is a sequence.
struct ValueMaker {
  OpId op = kNoOp;
  uint32_t slot = 0;
  int64_t element = -1;
  friend bool operator==(const ValueMaker&, const ValueMaker&) = default;
};

// Takes the records in the order of execution, inputs before outputs. The maker of an input is the last op that returned that view of the
// content, or else the op that wrote the content. Memory is bounded by the ops and by the blocks that are in use.
// Thread-compatible.
class ValueFlow {
 public:
  static constexpr uint32_t kMadeByAnOp = std::numeric_limits<uint32_t>::max();
  // What an op read in one place, in its first execution; `others` are the makers of what it read there in later ones.
  struct Read {
    uint32_t slot = 0;
    int64_t element = -1;
    TensorDesc desc;
    ValueMaker maker;
    uint32_t outside = kMadeByAnOp;  // number of the value, where no op is known that made it
    std::vector<ValueMaker> others;
  };
  // A block of memory that was read and that no op is known to have written.
  struct Outside {
    OpId reader = kNoOp;  // the first
    uint32_t slot = 0;
    int64_t element = -1;
    TensorDesc desc;
    bool updated = false;  // an op of the phase kUpdate reads it as well: a weight, or what an optimizer keeps
  };

  // Skips records without a known block of memory. Ops are numbered from 0 without gaps.
  void see(const RecordRow& row);

  // In the order in which they were met.
  [[nodiscard]] std::span<const Read> reads(OpId op) const;
  [[nodiscard]] const std::deque<Outside>& outside() const { return outside_; }
  // Grows with everything that is learned.
  [[nodiscard]] size_t learned() const { return learned_; }

 private:
  static constexpr size_t kMostMakers = 64;       // of one content: views of views of views
  static constexpr size_t kMostOthers = 4;        // of one read
  static constexpr size_t kMostBlocks = 1 << 16;  // before those that were not used for as long are forgotten
  struct Made {
    ValueMaker maker;   // none: an op read it before any op was seen to write it
    uint64_t look = 0;  // type, shape and view
    friend bool operator==(const Made&, const Made&) = default;
  };
  struct Block {
    uint64_t version = 0;
    uint64_t used = 0;  // when, in calls of see()
    uint32_t outside = kMadeByAnOp;
    std::vector<Made> made;  // of this version: where it comes from, then views of it
  };
  struct Place {
    OpId op;
    uint32_t slot;
    int64_t element;
    friend bool operator==(const Place&, const Place&) = default;
  };
  struct PlaceHash {
    size_t operator()(const Place& place) const;
  };

  Block& block_of(const RecordRow& row);
  void forget_unused();
  static ValueMaker maker_of_view(Block& block, uint64_t look);
  void add_maker(Block& block, const RecordRow& row);
  void add_read(Block& block, const RecordRow& row);
  uint32_t outside_number(Block& block, const RecordRow& row);

  std::unordered_map<uint64_t, Block> blocks_;           // by storage
  std::unordered_map<Place, size_t, PlaceHash> places_;  // position in the op's reads
  std::vector<std::vector<Read>> reads_;                 // by op
  std::deque<Outside> outside_;
  size_t learned_ = 0;
  uint64_t now_ = 0;
  uint64_t forgot_ = 0;  // when
  size_t limit_ = kMostBlocks;
};

}  // namespace tensortap

#endif  // TENSORTAP_TRACE_VALUE_FLOW_H_
