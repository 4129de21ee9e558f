#include "system/mindspore/tree/writer_ops.h"

#include <algorithm>
#include <memory>
#include <span>

#include "base/text.h"
#include "system/mindspore/names.h"

namespace tensortap::mindspore {
namespace {

constexpr std::string_view kConstantType = "Constant";
// Attribute of an Initializer (docs/capture_api.md), true: it holds no weight.
constexpr std::string_view kIsConstant = "constant";

// Made by the runtime or by a node of that type, not a weight that the author named.
bool is_constant(const OpInfo& op) {
  if (op.type != kInitializerType) return false;
  return op.inserted_by_runtime || attribute_is_set(op, kIsConstant) ||
         std::ranges::any_of(op.originals, [](const OriginalNode& node) { return node.type == kConstantType; });
}

// Whether the op belongs to a graph that was known before it ran.
bool tells_producers(const OpInfo& op) {
  return std::ranges::any_of(op.inputs, [](const OpInput& input) { return input.producer != kNoOp; });
}

GraphValue position_of(const ValueMaker& maker) { return {maker.op == kNoOp ? GraphValue::kNobody : maker.op, maker.slot, maker.element}; }

// Only the first element of a sequence has a name.
std::string_view input_name(const OpInfo& op, uint32_t slot, int64_t element) {
  return slot < op.inputs.size() && element <= 0 ? std::string_view(op.inputs[slot].name) : std::string_view();
}

// Ops that become known by running call an input by the name of its weight, or else by a name of the op, which has no dot.
bool is_parameter_name(std::string_view name) { return name.find('.') != std::string_view::npos; }

}  // namespace

void Ops::add(OpId id, const OpInfo& info) {
  if (ops_.size() <= id) ops_.resize(size_t{id} + 1);
  Op& op = ops_[id];
  op.info = info;
  op.known = true;
  op.scoped_name = scoped_names_.add(info);
  op.parameter = is_pseudo_op(info);
  op.constant = constants_ && is_constant(info);
  const TreeRules& rules = profile_.tree();
  op.file_type = op.parameter ? std::string(kParameterType) : clean_op_type(info.type);
  op.file_name = op.constant ? concat("data-", next_constant_++) : clean_op_name(rules, op.scoped_name, op.parameter);
  if (op.parameter) {
    // Two weights may differ only in characters that were cleaned away.
    const std::string cleaned = op.file_name;
    for (int i = 2; !parameter_names_.insert(op.file_name).second; ++i) op.file_name = concat(cleaned, "_", i);
  }
  if (!op.parameter) op.task = running_++;
  // The writer of asynchronous dumps knows the file's name only.
  const bool full_name = rules.full_name_in_rows && !op.parameter && !asynchronous_;
  op.cells = concat(op.file_type, ",", full_name ? clean_cell(op.scoped_name) : op.file_name, ",");
}

void Ops::decide(OpId id, const OpDecision& decision) {
  if (Op* op = find(id)) op->outputs = decision.outputs && (!op->parameter || profile_.device->parameters);
}

void Ops::tensor_name(const Op& op, const TensorName& tensor, std::string& text) const {
  TensorName name = tensor;
  name.op_type = op.file_type;
  name.op_name = op.file_name;
  if (!profile_.tree().dtype_in_name) name.dtype = {};
  text.clear();
  append_tensor_name(name, text);
}

void Ops::follow(const RecordRow& row) {
  const Op* op = find(row.op);
  if (op != nullptr && op->info.level == Level::kOp && !tells_producers(op->info)) flow_.see(row);
}

std::vector<GraphInput> Ops::inputs_of(OpId id) const {
  const OpInfo& op = ops_[id].info;
  const std::span<const ValueFlow::Read> reads = flow_.reads(id);
  std::vector<GraphInput> inputs;
  for (const ValueFlow::Read& read : reads) {
    GraphInput input;
    input.value = position_of(read.maker);
    input.name = input_name(op, read.slot, read.element);
    input.slot = read.slot;
    input.is_parameter = is_parameter_name(input.name);
    input.in_list = read.element >= 0;
    input.desc = read.desc;
    if (read.outside != ValueFlow::kMadeByAnOp) input.value.producer = ops_.size() + read.outside;
    for (const ValueMaker& other : read.others) input.in_other_calls.push_back(position_of(other));
    inputs.push_back(std::move(input));
  }
  // Inputs that were not recorded keep their places.
  for (uint32_t slot = 0; slot < op.inputs.size(); ++slot) {
    if (std::ranges::find(reads, slot, &ValueFlow::Read::slot) != reads.end()) continue;
    const OpInput& known = op.inputs[slot];
    GraphInput input;
    input.value = {known.producer, known.producer_slot, -1};
    input.name = known.name;
    input.slot = slot;
    if (known.producer < ops_.size() && known.producer_slot < ops_[known.producer].seen.size()) {
      input.desc = ops_[known.producer].seen[known.producer_slot];
    }
    inputs.push_back(std::move(input));
  }
  std::ranges::stable_sort(inputs, {}, &GraphInput::slot);
  return inputs;
}

// Named as the program names the parameter, or else after the op that reads it.
GraphOp Ops::outside_value(size_t number, std::set<std::string>& names) const {
  const ValueFlow::Outside& outside = flow_.outside()[number];
  const OpInfo& reader = ops_[outside.reader].info;
  const std::string_view name = input_name(reader, outside.slot, outside.element);
  const bool is_parameter = is_parameter_name(name);
  GraphOp::OutsideValue value;
  value.desc = outside.desc;
  value.info.type = is_parameter || outside.updated ? kInitializerType : kInputType;
  value.info.name = is_parameter ? std::string(name) : concat(reader.name, ".", name.empty() ? concat("in", outside.slot) : name);
  if (outside.element >= 0 && !is_parameter) value.info.name += concat(".", outside.element);
  const std::string first_name = value.info.name;
  for (int i = 2; !names.insert(value.info.name).second; ++i) value.info.name = concat(first_name, "_", i);
  const auto shared = std::make_shared<const GraphOp::OutsideValue>(std::move(value));
  return {&shared->info, shared->info.name, {&shared->desc, 1}, {}, shared};
}

std::vector<GraphOp> Ops::graph() const {
  std::vector<GraphOp> graph;
  graph.reserve(ops_.size() + flow_.outside().size());
  std::set<std::string> names;
  for (OpId id = 0; id < ops_.size(); ++id) {
    const Op& op = ops_[id];
    graph.push_back({&op.info, op.scoped_name, op.seen, inputs_of(id), nullptr});
    if (op.parameter) names.insert(op.info.name);
  }
  for (size_t number = 0; number < flow_.outside().size(); ++number) graph.push_back(outside_value(number, names));
  return graph;
}

}  // namespace tensortap::mindspore
