#include "plan/op_decision.h"

#include <algorithm>

namespace tensortap {

bool has_slot(const std::vector<uint32_t>& slots, uint32_t slot) { return std::ranges::find(slots, slot) != slots.end(); }

bool OpDecision::wants_slot(SlotKind kind, uint32_t index) const {
  switch (kind) {
    case SlotKind::kInput:
      return inputs && !has_slot(excluded_inputs, index);
    case SlotKind::kWeight:
      return weights;
    case SlotKind::kGradient:
      return outputs;
    case SlotKind::kOutput:
      break;
  }
  const bool for_consumers = outputs_for_consumers && (output_slots.empty() || has_slot(output_slots, index));
  // The list contains an output that is left out but read.
  return is_own_output(index) || (for_consumers && (has_slot(output_slots, index) || !has_slot(excluded_outputs, index)));
}

bool OpDecision::is_own_output(uint32_t index) const { return outputs && !has_slot(excluded_outputs, index); }

}  // namespace tensortap
