#include "compare/results.h"

#include <algorithm>

#include "trace/graph_outputs.h"

namespace tensortap {
namespace {

constexpr uint16_t kMostSlots = 64;  // that kGraphOutputs can tell

}  // namespace

Results::Results(const PairingKeys& keys) : keys_(keys) {
  are_declared_ = std::ranges::any_of(keys.table().dump().ops(), [](const OpInfo& op) { return attribute_slots(op, kGraphOutputs) != 0; });
}

bool Results::contains(ValueId id) const {
  const Value& value = keys_.table().at(id);
  if (are_declared_) return value.slot >= kMostSlots || (attribute_slots(keys_.table().op(id), kGraphOutputs) >> value.slot & 1U) != 0;
  return !value.given && keys_.readers(id).empty() && keys_.later_readers(id).empty();
}

}  // namespace tensortap
