#include "compare/results.h"

#include <algorithm>

#include "trace/graph_outputs.h"

namespace tensortap {
Results::Results(const PairingKeys& keys) : keys_(keys) {
  are_declared_ = std::ranges::any_of(keys.table().dump().ops(), [](const OpInfo& op) { return attribute_slots(op, kGraphOutputs) != 0; });
}

bool Results::contains(ValueId id) const {
  const Value& value = keys_.table().at(id);
  if (are_declared_) return value.slot >= kMostGraphOutputs || has_graph_output(keys_.table().op(id), value.slot);
  return !value.given && keys_.readers(id).empty() && keys_.later_readers(id).empty();
}

}  // namespace tensortap
