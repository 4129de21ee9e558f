#include "layout/mindspore/writer_ops.h"

#include <algorithm>

#include "base/text.h"

namespace tensortap {
namespace {

constexpr std::string_view kConstantType = "Constant";

// Made by the runtime or by a node of that type, not a weight that the author named.
bool is_constant(const OpInfo& op) {
  if (op.type != kInitializerType) return false;
  return op.inserted_by_runtime || std::ranges::any_of(op.originals, [](const OriginalNode& node) { return node.type == kConstantType; });
}

}  // namespace

void MindsporeOps::add(OpId id, const OpInfo& info) {
  if (ops_.size() <= id) ops_.resize(size_t{id} + 1);
  MindsporeOp& op = ops_[id];
  op.info = info;
  op.known = true;
  op.scoped_name = scoped_names_.add(info);
  op.parameter = is_pseudo_op(info);
  op.constant = constants_ && is_constant(info);
  const MindsporeVersion& version = *profile_.version;
  op.file_type = op.parameter ? std::string(kParameterType) : clean_op_type(info.type);
  op.file_name = op.constant ? concat("data-", next_constant_++) : clean_op_name(version, op.scoped_name, op.parameter);
  if (op.parameter) {
    // Two weights may differ in what was cleaned away only.
    const std::string cleaned = op.file_name;
    for (int i = 2; !parameter_names_.insert(op.file_name).second; ++i) op.file_name = concat(cleaned, "_", i);
  }
  const bool full_name = version.full_name_in_rows && !op.parameter;
  op.cells = concat(op.file_type, ",", full_name ? clean_cell(op.scoped_name) : op.file_name, ",");
}

void MindsporeOps::decide(OpId id, const OpDecision& decision) {
  if (MindsporeOp* op = find(id)) op->outputs = decision.outputs && (!op->parameter || profile_.device->parameters);
}

void MindsporeOps::tensor_name(const MindsporeOp& op, const MindsporeTensorName& tensor, std::string& text) const {
  MindsporeTensorName name = tensor;
  name.op_type = op.file_type;
  name.op_name = op.file_name;
  if (!profile_.version->dtype_in_name) name.dtype = {};
  text.clear();
  append_tensor_name(name, text);
}

std::vector<GraphOp> MindsporeOps::graph() const {
  std::vector<GraphOp> graph;
  graph.reserve(ops_.size());
  for (const MindsporeOp& op : ops_) graph.push_back({&op.info, op.scoped_name, op.seen});
  return graph;
}

}  // namespace tensortap
