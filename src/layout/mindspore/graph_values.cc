#include "layout/mindspore/graph_values.h"

#include <algorithm>

#include "trace/scoped_name.h"

namespace tensortap {

GraphValues graph_values(std::span<const GraphOp> ops) {
  GraphValues values;
  values.is_read.resize(ops.size());
  for (size_t i = 0; i < ops.size(); ++i) {
    const OpInfo& op = *ops[i].info;
    if (op.type.empty() || op.level != Level::kOp) continue;
    (is_pseudo_op(op) ? values.parameters : values.nodes).push_back(i);
    for (const OpInput& input : op.inputs) {
      if (input.producer < ops.size()) values.is_read[input.producer] = true;
    }
  }
  return values;
}

TensorDesc seen_output(const GraphOp& op, size_t slot) { return slot < op.outputs.size() ? op.outputs[slot] : TensorDesc{}; }

size_t output_count(const GraphOp& op) { return std::max({size_t{1}, op.info->outputs.size(), op.outputs.size()}); }

const GraphOp* producer_of(std::span<const GraphOp> ops, const OpInput& input) {
  return input.producer < ops.size() ? &ops[input.producer] : nullptr;
}

}  // namespace tensortap
