#include "source/onnxruntime/taps/registered_ops.h"

#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/json.h"
#include "base/text.h"
#include "source/onnxruntime/model/name_scope.h"
#include "source/onnxruntime/model/node_attributes.h"
#include "source/onnxruntime/origins/channel_block.h"
#include "tensortap/asking.h"

namespace tensortap::onnxruntime {
namespace {

// docs/capture_api.md
constexpr std::string_view kGraphOutputs = "graph_outputs";
constexpr std::string_view kBodyInputs = "body_inputs";
constexpr std::string_view kChannelBlock = "channel_block";
constexpr std::string_view kOverridable = "overridable";
constexpr std::string_view kConstant = "constant";
constexpr std::string_view kFilterOrder = "filter_order";
constexpr std::string_view kFilterBlock = "filter_block";
constexpr int64_t kFirstIrWithConstants = 4;  // before it, weights have to be listed as inputs

struct Producer {
  uint32_t entry = kNoEntry;
  uint32_t slot = 0;
  const BodySources* body = nullptr;  // of an input of a body
};
using ProducerScope = NameScope<Producer>;

constexpr size_t kNoOutput = SIZE_MAX;
// Numbers of the op's input that an input of its body begins with, and of the body's output that it goes on with.
struct BodyInput {
  size_t outside = 0;
  size_t inside = kNoOutput;
};

// The operators of ONNX: a Loop counts its first input, and its body hands out the condition first; a Scan has states and then what it cuts
// into slices, and before version 9 the lengths of sequences first.
std::optional<BodyInput> body_input(const Node& node, const Graph& body, size_t number) {
  if (!node.domain.empty() && node.domain != "ai.onnx") return std::nullopt;
  if (node.type == "Loop" && number > 0) return BodyInput{number, number == 1 ? 0 : number - 1};
  if (node.type != "Scan" || node.inputs.size() < body.inputs.size()) return std::nullopt;
  const Json attributes = attributes_of(node);
  const auto sliced = attributes.find("num_scan_inputs");
  if (sliced == attributes.end() || !sliced->is_number_integer()) return std::nullopt;
  const auto slices = sliced->get<int64_t>();
  const bool is_state = static_cast<int64_t>(number) + slices < static_cast<int64_t>(body.inputs.size());
  return BodyInput{number + node.inputs.size() - body.inputs.size(), is_state ? number : kNoOutput};
}

class Builder {
 public:
  Builder(const std::vector<NodeOrigin>& origins, const BlockedGraph* blocks, bool inputs_are_overridable, OpTable& table)
      : origins_(origins), blocks_(blocks), inputs_are_overridable_(inputs_are_overridable), table_(table) {}

  // Counts the names of the author's nodes, since a shared name is not used, and then chooses the names of the ops.
  void count_names(const Model& executed) {
    for (const NodeOrigin& origin : origins_) {
      if (origin.last != nullptr && last_seen_.insert(origin.last).second) ++name_counts_[origin.last->name];
    }
    names_.resize(executed.node_count);
    choose_names(executed.graph, "");
  }

  void graph(const Graph& graph, const std::string& path, uint32_t parent, const ProducerScope* outer) {
    ProducerScope scope(outer);
    std::unordered_set<std::string_view> inputs;
    for (const ValueInfo& input : graph.inputs) inputs.insert(input.name);
    std::unordered_set<std::string_view> weights;
    for (const Initializer& initializer : graph.initializers) weights.insert(initializer.name);
    for (size_t number = 0; number < graph.inputs.size(); ++number) {
      const ValueInfo& input = graph.inputs[number];
      const bool is_weight = weights.contains(input.name);  // of an old model, listed as an input too
      // A value that a Loop passes to its body has no separate op and is no op's output.
      Producer producer;
      if (parent != kNoEntry && outer != nullptr) producer.body = body_sources(graph, number, path, parent, *outer);
      if (parent == kNoEntry && !is_weight) producer.entry = pseudo(OpRole::kInput, input.name, path, parent);
      if (parent == kNoEntry) table_.by_input.push_back(producer.entry);
      if (!is_weight) scope.set(input.name, producer);
    }
    for (const Initializer& initializer : graph.initializers) {
      const BlockedWeight* blocked = blocked_weight(initializer);
      const bool renamed = blocked != nullptr && !blocked->name.empty();
      const uint32_t entry = pseudo(OpRole::kInitializer, renamed ? blocked->name : initializer.name, path, parent);
      table_.entries[entry].blocked = blocked;
      table_.entries[entry].initializer = &initializer;
      table_.entries[entry].overridable = inputs_are_overridable_ && parent == kNoEntry && inputs.contains(initializer.name);
      scope.set(initializer.name, {entry, 0});
    }
    std::unordered_set<std::string_view> results;
    for (const ValueInfo& output : graph.outputs) results.insert(output.name);
    for (const Node& node : graph.nodes) {
      this->node(node, path, parent, scope);
      OpEntry& entry = table_.entries[table_.by_node[node.index]];
      for (uint32_t slot = 0; slot < node.outputs.size(); ++slot) {
        if (results.contains(node.outputs[slot])) entry.graph_outputs.push_back(slot);
      }
    }
  }

 private:
  static std::string in_graph(const std::string& path, std::string_view name) {
    return path.empty() ? std::string(name) : concat(path, "/", name);
  }

  // Where the value of an input of a Loop's or a Scan's body comes from: from an input of the op, and in later trips from an output of the
  // body. Null where it is a number that the runtime counts, or the op is another one.
  const BodySources* body_sources(const Graph& body, size_t number, const std::string& path, uint32_t parent, const ProducerScope& outer) {
    const Node& node = *table_.entries[parent].node;
    const std::optional<BodyInput> input = body_input(node, body, number);
    if (!input || input->outside >= node.inputs.size()) return nullptr;
    BodySources sources;
    const std::string_view value = node.inputs[input->outside];
    const Producer made = outer.find(value, {});
    if (made.body != nullptr) sources = *made.body;
    if (made.entry != kNoEntry) {
      const OpEntry& maker = table_.entries[made.entry];
      sources.push_back({maker.graph, maker.role == OpRole::kNode ? value : maker.value});
    }
    if (input->inside < body.outputs.size()) sources.push_back({path, body.outputs[input->inside].name});
    return sources.empty() ? nullptr : &table_.body_sources.emplace_back(std::move(sources));
  }

  // The rule for the names of ops; see docs/onnxruntime.md.
  void choose_names(const Graph& graph, const std::string& path) {
    for (const Node& node : graph.nodes) {
      const Node* last = origins_[node.index].last;
      if (last == nullptr || last->name.empty() || name_counts_[last->name] != 1) continue;
      std::string name = in_graph(path, last->name);
      if (used_.insert(name).second) names_[node.index] = std::move(name);
    }
    // After those, so that no name that the runtime invented takes one that the author gave to another node.
    for (const Node& node : graph.nodes) {
      std::string& name = names_[node.index];
      if (!name.empty()) continue;
      name = in_graph(path, first_output(node));
      for (int i = 2; !used_.insert(name).second; ++i) name = concat(in_graph(path, first_output(node)), "#", i);
    }
    for (const Node& node : graph.nodes) {
      for (const Subgraph& body : node.subgraphs) choose_names(*body.graph, concat(names_[node.index], "/", body.attribute));
    }
  }

  static std::string_view first_output(const Node& node) {
    for (const std::string_view output : node.outputs) {
      if (!output.empty()) return output;
    }
    return node.name.empty() ? node.type : node.name;
  }

  const BlockedWeight* blocked_weight(const Initializer& initializer) const {
    if (blocks_ == nullptr) return nullptr;
    const auto found = blocks_->weights.find(&initializer);
    return found == blocks_->weights.end() ? nullptr : &found->second;
  }

  uint32_t pseudo(OpRole role, std::string_view value, const std::string& path, uint32_t parent) {
    OpEntry entry;
    entry.role = role;
    entry.type = role == OpRole::kInput ? "Input" : "Initializer";
    entry.value = value;
    entry.graph = path;
    entry.parent = parent;
    entry.name = in_graph(path, value);
    for (int i = 2; !used_.insert(entry.name).second; ++i) entry.name = concat(in_graph(path, value), "#", i);
    table_.entries.push_back(std::move(entry));
    return static_cast<uint32_t>(table_.entries.size() - 1);
  }

  void node(const Node& node, const std::string& path, uint32_t parent, ProducerScope& scope) {
    const auto number = static_cast<uint32_t>(table_.entries.size());
    OpEntry entry;
    entry.node = &node;
    entry.type = node.type;
    entry.graph = path;
    entry.parent = parent;
    entry.name = names_[node.index];
    entry.inserted = origins_[node.index].inserted;
    for (const Node* original : origins_[node.index].nodes) {
      entry.originals.emplace_back(original->name.empty() ? first_output(*original) : original->name);
      entry.original_types.emplace_back(original->type);
    }
    for (const std::string_view input : node.inputs) {
      const Producer producer = input.empty() ? Producer{} : scope.find(input, {});
      entry.producers.push_back(producer.entry);
      entry.producer_slots.push_back(producer.slot);
      entry.body_sources.push_back(producer.body);
      const bool weight = producer.entry != kNoEntry && table_.entries[producer.entry].role == OpRole::kInitializer;
      entry.inputs.push_back(weight ? table_.entries[producer.entry].value : input);
    }
    table_.by_node[node.index] = number;
    table_.entries.push_back(std::move(entry));
    for (const Subgraph& body : node.subgraphs) graph(*body.graph, concat(names_[node.index], "/", body.attribute), number, &scope);
    for (uint32_t i = 0; i < node.outputs.size(); ++i) scope.set(node.outputs[i], {number, i});
  }

  const std::vector<NodeOrigin>& origins_;
  const BlockedGraph* const blocks_;
  const bool inputs_are_overridable_;
  OpTable& table_;
  std::vector<std::string> names_;  // by Node::index
  std::unordered_set<std::string> used_;
  std::unordered_set<const Node*> last_seen_;
  std::unordered_map<std::string_view, int> name_counts_;
};

std::vector<const char*> pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> result;
  for (const std::string& text : texts) result.push_back(text.c_str());
  return result;
}

std::vector<std::string> copies(const std::vector<std::string_view>& texts) { return {texts.begin(), texts.end()}; }

// The node's own attributes, the outputs that are needed after all other ops have run, and the blocks of its images.
Json described_attributes(const OpEntry& entry, AttributeBytes& bytes) {
  Json attributes = attributes_of(*entry.node, &bytes);
  if (!entry.graph_outputs.empty()) attributes[std::string(kGraphOutputs)] = entry.graph_outputs;
  for (size_t slot = 0; slot < entry.body_sources.size(); ++slot) {
    if (entry.body_sources[slot] == nullptr) continue;
    Json& sources = attributes[std::string(kBodyInputs)][std::to_string(slot)];
    for (const BodySource& one : *entry.body_sources[slot]) sources.push_back({one.graph, std::string(one.value)});
  }
  if (entry.channel_block != 0) attributes[std::string(kChannelBlock)] = entry.channel_block;
  return attributes;
}

// By entry, "" of pseudo-ops. The values that JSON cannot store whole go to the session first, since ops refer to them.
std::vector<std::string> hand_over_attributes(tensortap_session* session, const OpTable& table) {
  std::vector<std::string> texts(table.entries.size());
  const auto describe = [&](AttributeBytes& bytes) {
    for (size_t i = 0; i < texts.size(); ++i) {
      if (table.entries[i].node != nullptr) texts[i] = to_json_text(described_attributes(table.entries[i], bytes));
    }
  };
  AttributeBytes bytes;
  describe(bytes);
  if (bytes.text.empty()) return texts;
  tensortap_document document{};
  document.size = sizeof(document);
  document.path = "attributes.bin";
  document.data = bytes.text.data();
  document.bytes = bytes.text.size();
  if (tensortap_add_document(session, &document) != TENSORTAP_OK) {
    AttributeBytes none;
    none.most = 0;
    describe(none);
  } else if (bytes.left_out > 0) {
    tensortap_note(session, concat(bytes.left_out, " values of attributes are not in attributes.bin, which holds at most ",
                                   AttributeBytes::kMost >> 20, " MiB")
                                .c_str());
  }
  return texts;
}

tensortap_op_id register_node(tensortap_session* session, const OpEntry& entry, const OpIds& ids, const std::string& attributes,
                              uint32_t flags) {
  const auto inputs = copies(entry.inputs);
  const auto outputs = copies(entry.node->outputs);
  const auto input_names = pointers(inputs);
  const auto output_names = pointers(outputs);
  const auto originals = pointers(entry.originals);
  const auto original_types = pointers(entry.original_types);
  const std::string type(entry.type);
  const std::string domain(entry.node->domain);
  OpIds producers;
  for (const uint32_t producer : entry.producers) producers.push_back(producer == kNoEntry ? TENSORTAP_NO_OP : ids[producer]);
  tensortap_op op{};
  op.size = sizeof(op);
  op.name = entry.name.c_str();
  op.type = type.c_str();
  op.domain = domain.c_str();
  op.graph = entry.graph.c_str();
  op.originals = originals.data();
  op.original_count = originals.size();
  op.original_types = original_types.data();
  op.inputs = input_names.data();
  op.input_count = input_names.size();
  op.producers = producers.data();
  op.producer_slots = entry.producer_slots.data();
  op.outputs = output_names.data();
  op.output_count = output_names.size();
  op.attributes = attributes.c_str();
  op.parent = entry.parent == kNoEntry ? TENSORTAP_NO_OP : ids[entry.parent];
  op.flags = flags | (entry.inserted ? TENSORTAP_OP_INSERTED_BY_RUNTIME : 0);
  return tensortap_register_op(session, &op);
}

std::string pseudo_attributes(const OpEntry& entry) {
  Json attributes = Json::object();
  if (entry.overridable) attributes[std::string(kOverridable)] = true;
  if (entry.constant) attributes[std::string(kConstant)] = true;
  if (entry.blocked != nullptr) {
    attributes[std::string(kFilterOrder)] = to_text(entry.blocked->order);
    attributes[std::string(kFilterBlock)] = entry.channel_block;
  }
  return attributes.empty() ? "" : to_json_text(attributes);
}

tensortap_op_id register_pseudo(tensortap_session* session, const OpEntry& entry, const OpIds& ids, uint32_t flags) {
  const std::string type(entry.type);
  const std::string value(entry.value);
  const char* output = value.c_str();
  tensortap_op op{};
  op.size = sizeof(op);
  op.name = entry.name.c_str();
  op.type = type.c_str();
  op.graph = entry.graph.c_str();
  op.outputs = &output;
  op.output_count = 1;
  const auto originals = pointers(entry.originals);
  const auto original_types = pointers(entry.original_types);
  op.originals = originals.data();
  op.original_count = originals.size();
  op.original_types = original_types.data();
  const std::string attributes = pseudo_attributes(entry);
  op.attributes = attributes.c_str();
  op.flags = flags;
  op.parent = entry.parent == kNoEntry ? TENSORTAP_NO_OP : ids[entry.parent];
  return tensortap_register_op(session, &op);
}

}  // namespace

OpTable build_op_table(const Model& executed, const std::vector<NodeOrigin>& origins, const BlockedGraph* blocks) {
  OpTable table;
  table.by_node.assign(executed.node_count, kNoEntry);
  Builder builder(origins, blocks, executed.ir_version >= kFirstIrWithConstants, table);
  builder.count_names(executed);
  builder.graph(executed.graph, "", kNoEntry, nullptr);
  if (blocks == nullptr) return table;
  table.unknown_channels = blocks->unknown;
  for (OpEntry& entry : table.entries) {
    const bool in_blocks = entry.node == nullptr ? entry.blocked != nullptr : is_blocked(*blocks, *entry.node);
    if (in_blocks) entry.channel_block = blocks->block;
  }
  return table;
}

OpIds register_ops(tensortap_session* session, const OpTable& table, uint32_t flags) {
  const std::vector<std::string> attributes = hand_over_attributes(session, table);
  if (table.unknown_channels > 0) {
    tensortap_note(session, concat("the number of channels is not known of the images that ", table.unknown_channels,
                                   " ops make in blocks of channels: their records also hold what fills up the blocks")
                                .c_str());
  }
  OpIds ids;
  ids.reserve(table.entries.size());
  for (const OpEntry& entry : table.entries) {
    const bool is_node = entry.role == OpRole::kNode;
    ids.push_back(is_node ? register_node(session, entry, ids, attributes[ids.size()], flags)
                          : register_pseudo(session, entry, ids, flags));
  }
  return ids;
}

}  // namespace tensortap::onnxruntime
