#include "source/ggml/graph_learner.h"

#include <array>
#include <cstdio>

#include "base/text.h"
#include "source/ggml/node_names.h"

namespace tensortap::ggml {
namespace {

constexpr int kGraphDigits = 16;
constexpr size_t kMostMade = size_t{1} << 16;

// The name of a graph whose ops are not those of the model's first one; "" of that.
std::string graph_name(uint64_t structure) {
  if (structure == 0) return {};
  std::array<char, kGraphDigits + 1> digits{};
  std::snprintf(digits.data(), digits.size(), "%08x", static_cast<uint32_t>(structure >> 32));
  return concat("graph_", digits.data());
}

std::vector<const char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  return pointers;
}

tensortap_op plain_op(const char* name, const char* type) {
  tensortap_op op{};
  op.size = sizeof(op);
  op.name = name;
  op.type = type;
  op.parent = TENSORTAP_NO_OP;
  return op;
}

std::string type_attribute(const std::string& block_type) {
  return block_type.empty() ? std::string() : concat(R"({"ggml_type": )", quote(block_type), "}");
}

}  // namespace

GraphLearner::GraphLearner(ModelCapture& model, const std::vector<GgmlTensor>& nodes, uint64_t structure)
    : model_(model), nodes_(nodes), graph_(graph_name(structure)) {}

std::unique_ptr<GraphPlan> GraphLearner::learn() {
  auto plan = std::make_unique<GraphPlan>();
  plan->model = &model_;
  plan->nodes.resize(nodes_.size());
  if (model_.made_.size() > kMostMade) model_.made_.clear();
  find_states();
  for (size_t i = 0; i < nodes_.size(); ++i) learn_node(i, plan->nodes[i]);
  plan->input_count = inputs_.size();
  return plan;
}

std::string GraphLearner::graph_of(std::string_view name) const { return is_numbered(name) ? graph_ : std::string(); }

void GraphLearner::find_states() {
  const GgmlFunctions& ggml = model_.library.functions();
  for (const GgmlTensor node : nodes_) {
    const GgmlTensor base = node.base();
    if (base.op() == 0 && !is_view_op(ggml.op_name(node.op()))) states_.insert(base.address());
  }
}

std::string GraphLearner::name_of(size_t place) const {
  const std::string_view name = without_copy(nodes_[place].name());
  // As ggml calls a node that the program gave no name; one that has only the end of a name, " (view)", is one, too.
  const bool has_none = name.empty() || (is_numbered(name) && !is_letter_or_digit(name.front()));
  return has_none ? concat("node_", place) : std::string(name);
}

void GraphLearner::learn_node(size_t place, PlannedNode& planned) {
  const GgmlTensor node = nodes_[place];
  const GgmlFunctions& ggml = model_.library.functions();
  const std::string_view op_name = ggml.op_name(node.op());
  if (is_view_op(op_name)) return;
  const GgmlTensor base = node.base();
  planned.writes_rows = op_name == "SET_ROWS" && base.op() == 0;
  const std::string name = name_of(place);
  const std::string type = ggml.op_desc(node.address());
  const std::string graph = graph_of(name);
  const uint32_t number = ++counts_[name];
  const Read read = reads_of(node, planned);
  KnownOp& known = model_.ops_[concat(name, "\n", type, "\n", number, "\n", graph)];
  if (known.id == TENSORTAP_NO_OP) {
    known.value = number == 1 ? name : concat(name, "#", number);
    const std::vector<const char*> inputs = pointers_to(read.names);
    const std::vector<uint32_t> slots(inputs.size());
    const char* const output = known.value.c_str();
    const std::string attributes = type_attribute(model_.values.block_type(node));
    tensortap_op op = plain_op(output, type.c_str());
    op.graph = graph.c_str();
    op.module = read.module.empty() ? nullptr : read.module.c_str();
    op.inputs = inputs.data();
    op.producers = read.producers.data();
    op.producer_slots = slots.data();
    op.input_count = inputs.size();
    op.outputs = &output;
    op.output_count = 1;
    op.attributes = attributes.empty() ? nullptr : attributes.c_str();
    known.id = tensortap_register_op(model_.session, &op);
  }
  planned.id = known.id;
  writers_[base.address()] = known;
  by_name_[name] = known;
  model_.made_[node.address()] = known;
  if (base.op() == 0 && base.data() != nullptr) model_.states_[base.data()] = known;
}

GraphLearner::Read GraphLearner::reads_of(GgmlTensor node, PlannedNode& planned) {
  Read read;
  for (size_t i = 0; i < node.source_count(); ++i) {
    const GgmlTensor source = node.source(i);
    if (!source || source == node) continue;  // a cast has itself as the place that it copies to
    const KnownOp made_by = source_of(source, i, planned);
    read.names.push_back(made_by.value);
    read.producers.push_back(made_by.id);
    const GgmlTensor leaf = source.base();
    if (read.module.empty() && is_weight(model_.library, leaf)) read.module = module_of_weight(leaf.name());
  }
  if (read.module.empty()) read.module = module_of_node(without_copy(node.name()));
  for (size_t i = 0; i < read.names.size() && read.module.empty(); ++i) read.module = module_of_node(read.names[i]);
  return read;
}

GraphLearner::KnownOp GraphLearner::source_of(GgmlTensor source, size_t index, PlannedNode& planned) {
  const GgmlTensor base = source.base();
  const auto writer = writers_.find(base.address());
  if (writer != writers_.end()) return writer->second;
  const std::string name(without_copy(base.name()));
  // One of another backend, which the scheduler copied.
  const bool is_copy = name != base.name();
  const auto original = is_copy ? by_name_.find(name) : by_name_.end();
  if (original != by_name_.end()) return original->second;
  if (is_weight(model_.library, base)) return weight(base);
  // What an earlier graph made.
  const auto made = base.op() == 0 ? model_.made_.end() : model_.made_.find(base.address());
  if (made != model_.made_.end() && made->second.value.starts_with(name)) return made->second;
  const auto left = model_.states_.find(base.data());
  if (base.data() != nullptr && left != model_.states_.end()) return left->second;
  if (states_.contains(base.address())) return {TENSORTAP_NO_OP, name};
  return input(base, index, planned);
}

GraphLearner::KnownOp GraphLearner::weight(GgmlTensor leaf) {
  KnownOp& known = model_.weights_[leaf.data()];
  if (known.id != TENSORTAP_NO_OP) return known;
  known.value = leaf.name();
  model_.weight_buffers_.insert(TensorValues::buffer_of(leaf));
  if (!is_numbered(known.value)) model_.named_weights_[known.value].insert(leaf.data());
  const char* const name = known.value.c_str();
  const std::string module(module_of_weight(known.value));
  const std::string attributes = type_attribute(model_.values.block_type(leaf));
  tensortap_op op = plain_op(name, "Initializer");
  op.module = module.empty() ? nullptr : module.c_str();
  op.outputs = &name;
  op.output_count = 1;
  op.attributes = attributes.empty() ? nullptr : attributes.c_str();
  known.id = tensortap_register_op(model_.session, &op);
  send_weight(leaf, known);
  return known;
}

void GraphLearner::send_weight(GgmlTensor leaf, const KnownOp& op) {
  if (tensortap_wants_op(model_.session, op.id) == 0) return;
  ValueScratch scratch;
  tensortap_tensor tensor{};
  if (const char* reason = model_.values.describe(leaf, scratch, tensor)) {
    tensortap_not_captured(model_.session, op.id, reason);
    return;
  }
  tensortap_op_event event{};
  event.size = sizeof(event);
  event.op = op.id;
  event.phase = TENSORTAP_PHASE_LOAD;
  event.duration_ns = -1;
  event.tensors = &tensor;
  event.tensor_count = 1;
  tensortap_on_op(model_.session, &event);
}

GraphLearner::KnownOp GraphLearner::input(GgmlTensor leaf, size_t index, PlannedNode& planned) {
  const std::string name(without_copy(leaf.name()));
  const std::string graph = graph_of(name);
  KnownOp& known = model_.ops_[concat(name, "\nInput\n", graph)];
  if (known.id == TENSORTAP_NO_OP) {
    known.value = name.empty() ? "input" : name;
    const char* const output = known.value.c_str();
    tensortap_op op = plain_op(output, "Input");
    op.graph = graph.c_str();
    op.outputs = &output;
    op.output_count = 1;
    if (is_mask(name)) op.attributes = R"({"intended_inf": true})";
    known.id = tensortap_register_op(model_.session, &op);
  }
  PlannedInput& one = planned.inputs.emplace_back();
  one.source = index;
  one.number = inputs_.emplace(leaf.address(), inputs_.size()).first->second;
  one.id = known.id;
  return known;
}

}  // namespace tensortap::ggml
