// What the plan decided for one op.

#ifndef TENSORTAP_PLAN_OP_DECISION_H_
#define TENSORTAP_PLAN_OP_DECISION_H_

#include <cstdint>
#include <vector>

#include "trace/op_info.h"

namespace tensortap {

// What is wanted of one op, slot by slot. Small, immutable, held beside the op.
struct OpDecision {
  bool wanted = false;  // false: nothing of this op is ever kept
  bool inputs = false;  // input slots that arrive with the event
  bool outputs = false;
  bool weights = false;                // weight slots that arrive with the event
  bool watcher = false;                // under the trigger "watch": after it ran, the wanted outputs of the others are looked at again
  bool outputs_for_consumers = false;  // outputs kept because a selected op reads them
  std::vector<uint32_t> output_slots;  // when only some outputs are wanted (for consumers); empty = all
  std::vector<uint32_t> excluded_inputs;
  std::vector<uint32_t> excluded_outputs;

  // Gradients go with the outputs.
  [[nodiscard]] bool wants_slot(SlotKind kind, uint32_t index) const;
  // Whether an output is wanted of the op itself, not only for an op that reads it.
  [[nodiscard]] bool is_own_output(uint32_t index) const;
  friend bool operator==(const OpDecision&, const OpDecision&) = default;
};

bool has_slot(const std::vector<uint32_t>& slots, uint32_t slot);

}  // namespace tensortap

#endif  // TENSORTAP_PLAN_OP_DECISION_H_
