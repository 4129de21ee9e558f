// What sources say about ops beyond their names, read once for all ops of a dump.

#ifndef TENSORTAP_QUERY_OP_FACTS_H_
#define TENSORTAP_QUERY_OP_FACTS_H_

#include <cstdint>
#include <vector>

#include "trace/dump_index.h"

namespace tensortap {

inline bool is_input(const RecordRow& row) { return row.slot_kind == static_cast<uint8_t>(SlotKind::kInput); }
inline bool is_output(const RecordRow& row) { return row.slot_kind == static_cast<uint8_t>(SlotKind::kOutput); }

struct OpFacts {
  bool sees_value = false;   // hands its input to the program
  bool tests_value = false;  // reports which elements are finite
  bool sees_loss = false;    // an input of one element is the loss of a backward pass
  bool host_filled = false;  // reads numbers that the program itself supplied
  bool intended = false;     // makes infinities on purpose
  uint64_t overwrites = 0;   // bit per input: written and not read
  uint64_t parameters = 0;   // bit per input: a parameter of the model
  uint64_t handed_out = 0;   // bit per output: a result of the op's graph
};

// Immutable; borrows the dump.
class OpFactsTable {
 public:
  explicit OpFactsTable(const DumpIndex& dump);
  // The facts of the op behind a row.
  [[nodiscard]] const OpFacts& of(const RecordRow& row) const { return row.op < facts_.size() ? facts_[row.op] : unknown_; }
  // An input that its op is about to write over: no op uses its content.
  [[nodiscard]] bool is_overwritten(const RecordRow& row) const { return is_input(row) && has_bit(of(row).overwrites, row.slot_index); }
  // An output that its op's graph hands out.
  [[nodiscard]] bool is_result(const RecordRow& row) const { return !is_input(row) && has_bit(of(row).handed_out, row.slot_index); }
  // By what the record itself says; else by the call by which its op became known.
  [[nodiscard]] bool is_parameter(const RecordRow& row) const {
    if (!is_input(row)) return false;
    if ((row.value_flags & kValueRoleKnown) != 0) return (row.value_flags & kValueParameter) != 0;
    return has_bit(of(row).parameters, row.slot_index);
  }
  [[nodiscard]] bool knows_parameters() const { return knows_parameters_; }
  // Whether the dump has every op of its graph, and marks the values that the graph hands out.
  [[nodiscard]] bool knows_graph() const { return knows_graph_; }

 private:
  static bool has_bit(uint64_t bits, uint32_t slot) { return slot < 64 && (bits >> slot & 1U) != 0; }

  std::vector<OpFacts> facts_;
  OpFacts unknown_;
  bool knows_parameters_ = false;
  bool knows_graph_ = false;
};

}  // namespace tensortap

#endif  // TENSORTAP_QUERY_OP_FACTS_H_
