#include "system/msit/tree/topology.h"

#include <utility>

#include "base/json.h"
#include "base/text.h"

namespace tensortap::msit {
namespace {

Json parameters_of(const std::string& text) {
  if (text.empty()) return Json::object();
  auto parsed = parse_json(text, "op_param.json");
  return parsed.ok() && parsed->is_object() ? *std::move(parsed) : Json::object();
}

std::vector<std::string> numbered(const std::string& owner, std::string_view kind, size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) names.push_back(concat(owner, "_", kind, "_", i));
  return names;
}

std::string document_name(const std::string& model, ModelPhase phase) {
  return phase == ModelPhase::kDecode || phase == ModelPhase::kTrain ? concat(model, "_", model_phase_name(phase)) : model;
}

}  // namespace

void Topology::add(OpId id, TopologyOperation operation) { operations_[id] = std::move(operation); }

Topology::Call& Topology::call_of(OpId id) {
  const auto [found, is_new] = calls_.try_emplace(id);
  if (!is_new) return found->second;
  const OpId parent = operations_.at(id).parent;
  if (operations_.contains(parent)) {
    call_of(parent).children.push_back(id);
  } else {
    roots_.push_back(id);
  }
  return calls_.at(id);
}

void Topology::see(OpId id, const RecordRow& row) {
  if (!operations_.contains(id)) return;
  Call& call = call_of(id);
  const Value value = row.storage == 0 ? Value{0, ++unknown_} : Value{row.storage, row.version};
  if (row.slot_kind == static_cast<uint8_t>(SlotKind::kInput)) {
    // The first record of an input is the value before the operation changed it.
    call.inputs.try_emplace(row.file_slot(), value);
    call.input_types.try_emplace(row.file_slot(), row.desc());
  } else {
    call.outputs[row.file_slot()] = value;
    call.output_types[row.file_slot()] = row.desc();
  }
}

std::string Topology::name_of(OpId id) const {
  const TopologyOperation& operation = operations_.at(id);
  return concat(operation.type, "_", operation.ids);
}

const std::string& Topology::Scope::name_of(const Value& value) {
  std::string& name = names[value];
  if (name.empty()) {
    name = concat(owner, "_internal_", internals.size());
    internals.push_back(name);
  }
  return name;
}

// Describes what is inside of an operation whose own tensors have these names.
void Topology::add_body(OpId id, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs, Json& node) const {
  const Call& call = calls_.at(id);
  if (call.children.empty()) return;
  Scope inside{name_of(id), {}, {}};
  size_t next = 0;
  for (const auto& [slot, value] : call.inputs) inside.names.try_emplace(value, inputs[next++]);
  next = 0;
  for (const auto& [slot, value] : call.outputs) inside.names.try_emplace(value, outputs[next++]);
  Json nodes = Json::array();
  for (const OpId child : call.children) nodes.push_back(node_of(child, inside));
  if (!inside.internals.empty()) node["internalTensors"] = inside.internals;
  node["nodes"] = std::move(nodes);
}

Json Topology::described(OpId id, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) const {
  const TopologyOperation& operation = operations_.at(id);
  Json node{{"opName", name_of(id)}, {"opType", operation.type}};
  node["param"] = calls_.at(id).children.empty() ? parameters_of(operation.parameters) : Json("");
  node["inTensors"] = inputs;
  node["outTensors"] = outputs;
  add_body(id, inputs, outputs, node);
  return node;
}

Json Topology::node_of(OpId id, Scope& around) const {
  const Call& call = calls_.at(id);
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  for (const auto& [slot, value] : call.inputs) inputs.push_back(around.name_of(value));
  for (const auto& [slot, value] : call.outputs) outputs.push_back(around.name_of(value));
  return described(id, inputs, outputs);
}

void Topology::note_types(OpId id, std::map<std::string, OperationTypes>& types) const {
  const Call& call = calls_.at(id);
  OperationTypes& own = types[name_of(id)];
  for (const auto& [slot, desc] : call.input_types) own.inputs.push_back(desc);
  for (const auto& [slot, desc] : call.output_types) own.outputs.push_back(desc);
  for (const OpId child : call.children) note_types(child, types);
}

TopologyDocument Topology::layer_of(OpId id) const {
  const Call& call = calls_.at(id);
  const std::string name = name_of(id);
  const auto inputs = numbered(name, "input", call.inputs.size());
  const auto outputs = numbered(name, "output", call.outputs.size());
  TopologyDocument document{concat(name, ".json"), to_json_text(described(id, inputs, outputs)), {}};
  note_types(id, document.types);
  return document;
}

// The keys are in the order in which the real caller's library sorts them.
TopologyDocument Topology::model_of(const std::string& of_class, ModelPhase phase) const {
  std::vector<OpId> own;
  for (const OpId id : roots_) {
    const TopologyOperation& operation = operations_.at(id);
    if (operation.model == of_class && operation.phase == phase) own.push_back(id);
  }
  const std::string model = document_name(of_class, phase);
  Names names;
  std::vector<std::string> inputs;
  std::set<Value> made;
  std::set<Value> read;
  for (const OpId id : own) {
    for (const auto& [slot, value] : calls_.at(id).inputs) {
      read.insert(value);
      if (made.contains(value) || names.contains(value)) continue;
      inputs.push_back(names[value] = concat(model, "_input_", inputs.size()));
    }
    for (const auto& [slot, value] : calls_.at(id).outputs) made.insert(value);
  }
  std::vector<std::string> outputs;
  for (const OpId id : own) {
    for (const auto& [slot, value] : calls_.at(id).outputs) {
      if (read.contains(value) || names.contains(value)) continue;
      outputs.push_back(names[value] = concat(model, "_output_", outputs.size()));
    }
  }
  Scope scope{model, std::move(names), {}};
  Json nodes = Json::array();
  for (const OpId id : own) {
    Json node = node_of(id, scope);
    Json ordered{{"inTensors", node["inTensors"]}, {"opName", node["opName"]}};
    ordered["outTensors"] = node["outTensors"];
    ordered["opType"] = node["opType"];
    if (node.contains("internalTensors")) ordered["internalTensors"] = std::move(node["internalTensors"]);
    if (node.contains("nodes")) ordered["nodes"] = std::move(node["nodes"]);
    nodes.push_back(std::move(ordered));
  }
  Json document;
  if (!inputs.empty()) document["inTensors"] = inputs;
  if (!scope.internals.empty()) document["internalTensors"] = scope.internals;
  document["modelName"] = model;
  document["nodes"] = std::move(nodes);
  if (!outputs.empty()) document["outTensors"] = outputs;
  TopologyDocument told{concat(model, ".json"), to_json_text(document), {}};
  for (const OpId id : own) note_types(id, told.types);
  return told;
}

std::vector<TopologyDocument> Topology::layers() {
  std::vector<TopologyDocument> documents;
  for (const OpId id : roots_) {
    if (told_.insert(id).second) documents.push_back(layer_of(id));
  }
  return documents;
}

std::vector<TopologyDocument> Topology::models() {
  std::vector<TopologyDocument> documents;
  for (const OpId id : roots_) {
    const TopologyOperation& operation = operations_.at(id);
    if (operation.model.empty() || !told_models_.emplace(operation.model, operation.phase).second) continue;
    documents.push_back(model_of(operation.model, operation.phase));
  }
  return documents;
}

void Topology::end_round() {
  calls_.clear();
  roots_.clear();
}

}  // namespace tensortap::msit
