#include "query/op_facts.h"

#include "trace/graph_outputs.h"

namespace tensortap {

OpFactsTable::OpFactsTable(const DumpIndex& dump) {
  facts_.resize(dump.ops().size());
  for (size_t i = 0; i < facts_.size(); ++i) {
    const OpInfo& op = dump.ops()[i];
    if (op.attributes.empty()) continue;
    OpFacts& facts = facts_[i];
    facts.sees_value = attribute_is_set(op, kSeesValue);
    facts.tests_value = attribute_is_set(op, kTestsValue);
    facts.sees_loss = attribute_is_set(op, kSeesLoss);
    facts.host_filled = attribute_is_set(op, kHostFilled);
    facts.intended = attribute_is_set(op, kIntendedInfinities);
    facts.overwrites = attribute_slots(op, kOverwrites);
    facts.parameters = attribute_slots(op, kParameters);
    facts.handed_out = attribute_slots(op, kGraphOutputs);
    knows_graph_ = knows_graph_ || has_attribute(op, kGraphOutputs);
    knows_parameters_ = knows_parameters_ || facts.parameters != 0;
  }
}

}  // namespace tensortap
