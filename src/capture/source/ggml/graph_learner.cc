#include "source/ggml/graph_learner.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

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

// The op's attributes; "" = none.
std::string attributes_of(const std::string& block_type, const std::string& weight_type, bool from_file = false) {
  std::string members;
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) members += concat(members.empty() ? "" : ", ", quote(name), ": ", quote(value));
  };
  add("ggml_type", block_type);
  add("weight_type", weight_type);
  add("values_from", from_file ? "file" : "");
  return members.empty() ? members : concat("{", members, "}");
}

// The dimensions of what a node computes: for rows that are written, of these.
uint32_t rank_of(GgmlTensor node, bool writes_rows) {
  const GgmlTensor written = writes_rows ? node.source(0) : GgmlTensor();
  const auto ne = (written ? written : node).ne();
  uint32_t rank = kMostDimensions;
  while (rank > 1 && ne[rank - 1] == 1) --rank;
  return rank;
}

// Ops whose product with the weight after them is one norm.
bool is_norm(std::string_view op) { return op == "RMS_NORM" || op == "NORM"; }

// Nodes behind a norm that are looked at for its weight.
constexpr size_t kNextNodes = 4;

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
  plan->batch = batch_places_of(model_.library, nodes_);
  return plan;
}

std::string GraphLearner::graph_of(std::string_view name) const { return is_numbered(name) ? graph_ : std::string(); }

void GraphLearner::find_states() {
  const GgmlFunctions& ggml = model_.library.functions();
  for (const GgmlTensor node : nodes_) {
    const GgmlTensor base = node.base();
    if (base.op() != 0 || is_view_op(ggml.op_name(node.op()))) continue;
    states_.insert(base.address());
    model_.writes_weights_ = model_.writes_weights_ || is_weight(model_.library, base);
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
  const Place in_model = place_of(place, read);
  KnownOp& known = model_.ops_[concat(name, "\n", type, "\n", number, "\n", graph)];
  if (known.id == TENSORTAP_NO_OP) {
    known.value = number == 1 ? name : concat(name, "#", number);
    const std::vector<const char*> inputs = pointers_to(read.names);
    const std::vector<uint32_t> slots(inputs.size());
    const char* const output = known.value.c_str();
    const std::string attributes = attributes_of(model_.values.block_type(node), read.weight_type);
    tensortap_op op = plain_op(output, type.c_str());
    op.graph = graph.c_str();
    op.module = in_model.module.empty() ? nullptr : in_model.module.c_str();
    op.inputs = inputs.data();
    op.producers = read.producers.data();
    op.producer_slots = slots.data();
    op.input_count = inputs.size();
    op.outputs = &output;
    op.output_count = 1;
    op.attributes = attributes.empty() ? nullptr : attributes.c_str();
    known.id = tensortap_register_op(model_.session, &op);
  }
  known.rank = planned.rank = std::max(known.rank, rank_of(node, planned.writes_rows));
  planned.id = known.id;
  layers_[known.id] = in_model.layer;
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
    if (read.weight_type.empty() && is_weight(model_.library, leaf)) read.weight_type = model_.values.block_type(leaf);
  }
  return read;
}

std::string_view GraphLearner::weight_module(GgmlTensor node) const {
  for (size_t i = 0; i < node.source_count(); ++i) {
    const GgmlTensor source = node.source(i);
    if (!source || source == node) continue;
    const GgmlTensor leaf = source.base();
    const std::string_view module = is_weight(model_.library, leaf) ? module_of_weight(leaf.name()) : std::string_view();
    if (!module.empty()) return module;
  }
  return {};
}

std::string_view GraphLearner::norm_module(size_t place, bool is_norm_itself) const {
  const GgmlFunctions& ggml = model_.library.functions();
  for (size_t next = place + 1; next < std::min(nodes_.size(), place + 1 + kNextNodes); ++next) {
    for (size_t i = 0; i < nodes_[next].source_count(); ++i) {
      const GgmlTensor source = nodes_[next].source(i);
      if (!source || source.base() != nodes_[place]) continue;
      if (!is_norm_itself) return is_norm(ggml.op_name(nodes_[next].op())) ? norm_module(next, true) : std::string_view();
      if (const std::string_view module = weight_module(nodes_[next]); !module.empty()) return module;
    }
  }
  return {};
}

GraphLearner::Place GraphLearner::place_of(size_t place, const Read& read) const {
  const GgmlTensor node = nodes_[place];
  const std::string_view op = model_.library.functions().op_name(node.op());
  std::string_view of_weight = weight_module(node);
  if (of_weight.empty() && is_norm(op)) of_weight = norm_module(place, true);
  if (!of_weight.empty()) return {layer_of_module(of_weight), model_.names_.module_of_reader(of_weight, op)};
  std::string_view name = without_copy(node.name());
  std::string layer = module_of_node(name);
  if (layer.empty() && op == "ADD") {
    // A sum that is normed is of what has the norm.
    const std::string_view norm = norm_module(place, false);
    layer = layer_of_module(norm);
    if (!layer.empty()) return {layer, model_.names_.module_around(norm)};
  }
  if (layer.empty() && !name.starts_with("result_")) {
    layer = layer_of_inputs(read);
    // A node without a name is of the part that its only input is of.
    if (read.names.size() == 1 && is_numbered(name)) name = read.names.front();
  }
  return {layer, layer.empty() ? layer : model_.names_.module_of_op(layer, name, op)};
}

std::string GraphLearner::layer_of_inputs(const Read& read) const {
  std::string last;
  for (size_t i = 0; i < read.names.size(); ++i) {
    // The output of a layer is read by the one behind it.
    if (read.names[i].starts_with("l_out")) continue;
    std::string layer = module_of_node(read.names[i]);
    const auto known = layers_.find(read.producers[i]);
    if (layer.empty() && known != layers_.end()) layer = known->second;
    const bool is_later = layer.size() != last.size() ? layer.size() > last.size() : layer > last;
    if (is_later) last = std::move(layer);
  }
  return last;
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

const GraphLearner::KnownOp& GraphLearner::weight(GgmlTensor leaf) {
  KnownOp& known = model_.weights_[leaf.data()];
  if (known.id != TENSORTAP_NO_OP) return known;
  const std::string_view stored = leaf.name();
  known.value = model_.names_.weight(stored);
  if (void* buffer = TensorValues::buffer_of(leaf)) model_.weight_buffers_.insert(buffer);
  model_.samples_[leaf.data()] = sample_of(model_.library, leaf);
  if (!is_numbered(stored)) model_.named_weights_[std::string(stored)].insert(leaf.data());
  const bool from_file = model_.values.is_rearranged(leaf) && model_.files_.has(stored);
  const char* const name = known.value.c_str();
  const std::string module = model_.names_.module(module_of_weight(stored));
  const std::string attributes = attributes_of(model_.values.block_type(leaf), "", from_file);
  tensortap_op op = plain_op(name, "Initializer");
  op.module = module.empty() ? nullptr : module.c_str();
  op.outputs = &name;
  op.output_count = 1;
  op.attributes = attributes.empty() ? nullptr : attributes.c_str();
  known.id = tensortap_register_op(model_.session, &op);
  send_weight(leaf, known, from_file);
  return known;
}

void GraphLearner::send_weight(GgmlTensor leaf, const KnownOp& op, bool from_file) {
  if (tensortap_wants_op(model_.session, op.id) == 0) return;
  ValueScratch scratch;
  tensortap_tensor tensor{};
  const char* reason = nullptr;
  if (!from_file) {
    reason = model_.values.describe(leaf, 1, scratch, tensor);
  } else if (!model_.files_.read(leaf.name(), leaf.type(), leaf.ne(), model_.values.stored_bytes(leaf), scratch.fetched)) {
    reason = "weight that ggml rearranged, and that its file no longer has";
  } else {
    reason = model_.values.describe_fetched(leaf, scratch, tensor);
  }
  if (reason != nullptr) {
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
  const auto [place, is_new] = inputs_.emplace(leaf.address(), GraphInput{inputs_.size(), 0});
  GraphInput& of_graph = place->second;
  if (is_new) of_graph.of_name = ++input_counts_[name];
  KnownOp& known = model_.ops_[concat(name, "\nInput\n", of_graph.of_name, "\n", graph)];
  if (known.id == TENSORTAP_NO_OP) {
    known.value = name.empty() ? "input" : name;
    if (of_graph.of_name > 1) known.value += concat("#", of_graph.of_name);
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
  one.number = of_graph.number;
  one.id = known.id;
  one.rank = known.rank = std::max(known.rank, rank_of(leaf, false));
  return known;
}

}  // namespace tensortap::ggml
