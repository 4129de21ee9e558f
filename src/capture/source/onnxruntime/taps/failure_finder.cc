#include "source/onnxruntime/taps/failure_finder.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "source/onnxruntime/model/plain_image.h"
#include "source/onnxruntime/model/weight_reader.h"
#include "source/onnxruntime/runtime/element_types.h"
#include "source/onnxruntime/taps/model_description.h"
#include "source/onnxruntime/taps/value_keeper.h"

namespace tensortap::onnxruntime {
namespace {

Result<OwnedValue> weight_value(const PreparedModel& model, const OpEntry& entry) {
  WeightReader reader(model.external_folder());
  TENSORTAP_ASSIGN_OR_RETURN(TensorProto data, reader.read(*entry.initializer));
  std::string plain;
  if (entry.blocked != nullptr) TENSORTAP_RETURN_IF_ERROR(put_in_order(*entry.blocked, entry.channel_block, plain, data));
  if (data.element_type == kElementString) return unsupported("strings are not copied");
  tensortap_tensor tensor{};
  tensor.size = sizeof(tensor);
  tensor.dtype = dtype_number(data.element_type);
  tensor.data = data.raw.data();
  tensor.dims = data.dims.data();
  tensor.rank = static_cast<uint32_t>(data.dims.size());
  return make_value(model.library()->api(), tensor);
}

}  // namespace

// "... while running Div node. Name:'Div_3' Status Message: ..." The innermost node is the last one named.
NamedNode node_in_message(std::string_view message) {
  constexpr std::string_view kBefore = "while running ";
  constexpr std::string_view kBetween = " node. Name:'";
  const size_t begin = message.rfind(kBefore);
  if (begin == std::string_view::npos) return {};
  const size_t middle = message.find(kBetween, begin);
  if (middle == std::string_view::npos) return {};
  const size_t name_begin = middle + kBetween.size();
  const size_t name_end = message.find("' Status Message", name_begin);
  const size_t type_begin = begin + kBefore.size();
  return {message.substr(type_begin, middle - type_begin),
          message.substr(name_begin, name_end == std::string_view::npos ? 0 : name_end - name_begin)};
}

uint32_t find_failed_op(const PreparedModel& model, const TappedSession& session, const Run& run, const std::string& message) {
  const NamedNode named = node_in_message(message);
  const OpTable& ops = model.ops();
  // Nodes run in the order of the file, so the one that failed follows the last that was done.
  const uint32_t last_node = run.last_tap == UINT32_MAX ? UINT32_MAX : session.taps()[run.last_tap].node;
  uint32_t best = kNoEntry;
  for (uint32_t entry = 0; entry < ops.entries.size(); ++entry) {
    const OpEntry& op = ops.entries[entry];
    if (op.role != OpRole::kNode || op.node->type != named.type || op.node->name != named.name) continue;
    if (best == kNoEntry) best = entry;
    if (last_node == UINT32_MAX || op.node->index > last_node) return entry;
  }
  return best;
}

FailedOp collect_failed_inputs(const PreparedModel& model, const TappedSession& session, uint32_t entry,
                               const std::vector<NamedValue>& inputs) {
  const OpTable& ops = model.ops();
  const OpEntry& op = ops.entries[entry];
  FailedOp failed;
  failed.entry = entry;
  failed.inputs.resize(op.node->inputs.size());
  failed.copies.resize(op.node->inputs.size());
  ValueKeeper keeper(ops);
  for (size_t i = 0; i < op.producers.size(); ++i) {
    const OpEntry* producer = op.producers[i] == kNoEntry ? nullptr : &ops.entries[op.producers[i]];
    if (producer != nullptr && producer->role == OpRole::kNode) keeper.want(op.producers[i], op.producer_slots[i]);
  }
  Run again;
  again.listener = &keeper;
  const RunOutcome outcome = session.run(inputs, again);
  for (size_t i = 0; i < op.producers.size(); ++i) {
    const OpEntry* producer = op.producers[i] == kNoEntry ? nullptr : &ops.entries[op.producers[i]];
    if (producer == nullptr) continue;
    failed.inputs[i].channels = channels_read(model.blocks(), *op.node, i);
    if (producer->role == OpRole::kNode) {
      failed.copies[i] = keeper.take(op.producers[i], op.producer_slots[i]);
    } else if (producer->role == OpRole::kInitializer) {
      auto weight = weight_value(model, *producer);
      if (weight.ok()) failed.copies[i] = *std::move(weight);
    } else {
      const auto input = std::ranges::find(inputs, producer->value, &NamedValue::name);
      if (input != inputs.end()) failed.inputs[i].value = input->value;
    }
    if (failed.copies[i]) failed.inputs[i].value = failed.copies[i].get();
  }
  return failed;
}

namespace {

// Finds a value of this graph or of one inside it; null = the graph does not describe it.
const ValueInfo* find_value(const Graph& graph, std::string_view name) {
  for (const auto* infos : {&graph.outputs, &graph.value_infos}) {
    const auto found = std::ranges::find(*infos, name, &ValueInfo::name);
    if (found != infos->end()) return &*found;
  }
  for (const Node& node : graph.nodes) {
    for (const Subgraph& inside : node.subgraphs) {
      if (const ValueInfo* found = find_value(*inside.graph, name); found != nullptr) return found;
    }
  }
  return nullptr;
}

// What it would have made, as far as the graph says.
Json describe_outputs(const PreparedModel& model, const OpEntry& op) {
  Json outputs = Json::array();
  for (const std::string_view name : op.node->outputs) {
    const ValueInfo* const info = find_value(model.executed().graph, name);
    Json output = info == nullptr ? Json{{"dtype", nullptr}, {"shape", nullptr}} : describe_value(*info);
    output["name"] = std::string(name);
    // The graph counts the channels that fill up a block.
    if (op.channel_block > 0) output["shape"] = nullptr;
    outputs.push_back(std::move(output));
  }
  return outputs;
}

// Its number among the nodes, by which files of exceptions are named.
size_t task_of(const PreparedModel& model, uint32_t entry) {
  const auto& entries = model.ops().entries;
  return static_cast<size_t>(
      std::count_if(entries.begin(), entries.begin() + entry, [](const OpEntry& op) { return op.role == OpRole::kNode; }));
}

}  // namespace

Json describe_failure(const PreparedModel& model, const FailedOp& failed, const std::string& message) {
  const OpEntry& op = model.ops().entries[failed.entry];
  Json inputs = Json::array();
  for (size_t i = 0; i < failed.inputs.size(); ++i) {
    Json input = {{"name", std::string(op.inputs[i])}, {"dtype", nullptr}, {"shape", nullptr}};
    TensorScratch scratch;
    tensortap_tensor tensor{};
    if (failed.inputs[i].value != nullptr && view_tensor(model.library()->api(), failed.inputs[i].value, scratch, tensor).ok()) {
      PlainImage image;
      image.describe(failed.inputs[i].channels, model.blocks().block, tensor);
      input["dtype"] = element_type(onnx_type_of(tensor.dtype)).name;
      input["shape"] = std::vector<int64_t>(tensor.dims, tensor.dims + tensor.rank);
    }
    inputs.push_back(std::move(input));
  }
  return {
      {"name", op.name},           {"type", std::string(op.type)},         {"message", message}, {"graph", op.graph},
      {"originals", op.originals}, {"task", task_of(model, failed.entry)}, {"inputs", inputs},   {"outputs", describe_outputs(model, op)}};
}

}  // namespace tensortap::onnxruntime
