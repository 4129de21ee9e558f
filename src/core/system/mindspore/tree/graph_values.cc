#include "system/mindspore/tree/graph_values.h"

#include <algorithm>

#include "trace/scoped_name.h"

namespace tensortap::mindspore {

GraphValues graph_values(std::span<const GraphOp> ops) {
  GraphValues values;
  values.is_read.resize(ops.size());
  for (size_t i = 0; i < ops.size(); ++i) {
    const OpInfo& op = *ops[i].info;
    if (op.type.empty() || op.level != Level::kOp) continue;
    (is_pseudo_op(op) ? values.parameters : values.nodes).push_back(i);
    const auto read = [&](const GraphValue& value) {
      if (value.producer < ops.size()) values.is_read[value.producer] = true;
    };
    for (const GraphInput& input : ops[i].inputs) {
      read(input.value);
      std::ranges::for_each(input.in_other_calls, read);
    }
  }
  return values;
}

TensorDesc seen_output(const GraphOp& op, size_t slot) { return slot < op.outputs.size() ? op.outputs[slot] : TensorDesc{}; }

size_t output_count(const GraphOp& op) { return std::max({size_t{1}, op.info->outputs.size(), op.outputs.size()}); }

const GraphOp* producer_of(std::span<const GraphOp> ops, const GraphValue& value) {
  return value.producer < ops.size() ? &ops[value.producer] : nullptr;
}

bool is_itself(const OriginalNode& original, const OpInfo& op) { return original.type.empty() && original.name == op.name; }

}  // namespace tensortap::mindspore
