// The protobuf form of a compiled graph (debugger.ModelProto), read field by field: only what an op's name and inputs need.

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/protobuf.h"
#include "base/text.h"
#include "system/mindspore/tree/tree_graphs.h"

namespace tensortap::mindspore {
namespace {

// Field numbers of debugger.ModelProto and of the messages in it.
constexpr uint32_t kModelGraph = 4;
constexpr uint32_t kGraphNode = 1;
constexpr uint32_t kGraphParameters = 3;
constexpr uint32_t kGraphConstants = 5;
constexpr uint32_t kNodeInput = 1;
constexpr uint32_t kNodeName = 2;
constexpr uint32_t kNodeType = 3;
constexpr uint32_t kNodeFullName = 8;
constexpr uint32_t kNodeSource = 9;
constexpr uint32_t kNameField = 1;  // of an input, a parameter, a constant
constexpr uint32_t kConstantValue = 2;
constexpr uint32_t kConstantFullName = 3;
constexpr uint32_t kValueInt = 3;
constexpr uint32_t kValueUint = 4;

struct RawNode {
  std::string_view name;
  std::string_view type;
  std::string_view full_name;
  std::string_view source;
  std::vector<std::string_view> inputs;
};

struct RawConstant {
  std::string_view full_name;
  uint64_t number = 0;
};

struct RawGraph {
  std::vector<RawNode> nodes;
  std::vector<std::string_view> parameters;
  std::unordered_map<std::string_view, RawConstant> constants;
};

std::string_view text_of(protozero::pbf_reader& reader) {
  const auto view = reader.get_view();
  return {view.data(), view.size()};
}

std::string_view name_of(protozero::pbf_reader message) {
  std::string_view name;
  while (message.next(kNameField)) name = text_of(message);
  return name;
}

RawNode read_node(protozero::pbf_reader message) {
  RawNode node;
  while (message.next()) {
    switch (message.tag()) {
      case kNodeInput:
        node.inputs.push_back(name_of(message.get_message()));
        break;
      case kNodeName:
        node.name = text_of(message);
        break;
      case kNodeType:
        node.type = text_of(message);
        break;
      case kNodeFullName:
        node.full_name = text_of(message);
        break;
      case kNodeSource:
        node.source = text_of(message);
        break;
      default:
        message.skip();
    }
  }
  return node;
}

uint64_t read_number(protozero::pbf_reader value) {
  uint64_t number = 0;
  while (value.next()) {
    if (value.tag() == kValueInt || value.tag() == kValueUint) {
      number = value.get_uint64();
    } else {
      value.skip();
    }
  }
  return number;
}

void read_constant(protozero::pbf_reader message, RawGraph& graph) {
  std::string_view key;
  RawConstant constant;
  while (message.next()) {
    switch (message.tag()) {
      case kNameField:
        key = text_of(message);
        break;
      case kConstantValue:
        constant.number = read_number(message.get_message());
        break;
      case kConstantFullName:
        constant.full_name = text_of(message);
        break;
      default:
        message.skip();
    }
  }
  graph.constants.insert_or_assign(key, constant);
}

void read_graph(protozero::pbf_reader message, RawGraph& graph) {
  while (message.next()) {
    switch (message.tag()) {
      case kGraphNode:
        graph.nodes.push_back(read_node(message.get_message()));
        break;
      case kGraphParameters:
        graph.parameters.push_back(name_of(message.get_message()));
        break;
      case kGraphConstants:
        read_constant(message.get_message(), graph);
        break;
      default:
        message.skip();
    }
  }
}

// "train.py:41" out of a call stack's lines, "# In file DIR/train.py:41, 8~30/..." or "# In file DIR/train.py(41)/...". Lines that stand
// for a whole function ("19~26") count only when there is no other.
std::string source_location(std::string_view stack) {
  constexpr std::string_view kMark = "In file ";
  std::string whole_function;
  for (size_t at = stack.find(kMark); at != std::string_view::npos; at = stack.find(kMark, at)) {
    at += kMark.size();
    std::string_view place = stack.substr(at, std::min(stack.find('\n', at), stack.size()) - at);
    const size_t end = place.find_first_of(":(");
    if (end == std::string_view::npos) continue;
    const size_t slash = place.substr(0, end).rfind('/');
    const std::string_view file = place.substr(slash + 1, end - slash - 1);
    place.remove_prefix(end + 1);
    const size_t digits = std::min(place.find_first_not_of("0123456789"), place.size());
    if (digits == 0) continue;
    std::string location = concat(file, ":", place.substr(0, digits));
    if (!place.substr(digits).starts_with('~')) return location;
    if (whole_function.empty()) whole_function = std::move(location);
  }
  return whole_function;
}

// Follows inputs through the nodes that only hand values on.
class InputResolver {
 public:
  explicit InputResolver(const RawGraph& graph) : graph_(graph) {
    for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
      numbers_.emplace(graph.nodes[i].name, i);
      budget_ += kStepsForAnInput * (graph.nodes[i].inputs.size() + 1);
    }
  }

  std::vector<NodeInput> inputs_of(const RawNode& node) {
    std::vector<NodeInput> inputs;
    for (const std::string_view name : node.inputs) resolve(name, kDeepest, inputs);
    return inputs;
  }

 private:
  static constexpr int kDeepest = 64;
  static constexpr size_t kStepsForAnInput = 64;
  static constexpr size_t kMostInputs = 65536;  // of a node: slots have 16 bits

  void resolve(std::string_view name, int depth, std::vector<NodeInput>& inputs) {
    if (depth == 0 || budget_ == 0 || inputs.size() >= kMostInputs) return;
    --budget_;
    const auto found = numbers_.find(name);
    if (found == numbers_.end()) {
      const auto constant = graph_.constants.find(name);
      const bool named = constant != graph_.constants.end() && !constant->second.full_name.empty();
      inputs.push_back({kNoNode, 0, std::string(named ? constant->second.full_name : name)});
      return;
    }
    const RawNode& node = graph_.nodes[found->second];
    if (node.type == "UpdateState") return;  // orders side effects, carries no value
    if (node.type == "MakeTuple") {
      for (const std::string_view part : node.inputs) resolve(part, depth - 1, inputs);
    } else if ((node.type == "Load" || node.type == "Depend") && !node.inputs.empty()) {
      resolve(node.inputs[0], depth - 1, inputs);
    } else if (node.type == "TupleGetItem" && node.inputs.size() >= 2) {
      resolve_item(node, depth, inputs);
    } else {
      inputs.push_back({found->second, 0, {}});
    }
  }

  void resolve_item(const RawNode& node, int depth, std::vector<NodeInput>& inputs) {
    const auto constant = graph_.constants.find(node.inputs[1]);
    const uint64_t item = constant == graph_.constants.end() ? 0 : constant->second.number;
    std::vector<NodeInput> tuple;
    resolve(node.inputs[0], depth - 1, tuple);
    if (tuple.size() == 1 && tuple[0].node != kNoNode && tuple[0].slot == 0 && item < kMostInputs) {
      tuple[0].slot = static_cast<uint32_t>(item);
      inputs.push_back(std::move(tuple[0]));
    } else if (item < tuple.size()) {
      inputs.push_back(std::move(tuple[item]));
    }
  }

  const RawGraph& graph_;
  std::unordered_map<std::string_view, uint32_t> numbers_;
  size_t budget_ = 0;  // tuples of tuples grow without bound in a hostile graph
};

}  // namespace

void read_graph_message(std::string_view bytes, std::vector<GraphNode>& nodes, std::vector<GraphParameter>& parameters,
                        std::string& damage) {
  RawGraph raw;
  try {
    protozero::pbf_reader model(bytes.data(), bytes.size());
    while (model.next()) {
      if (model.tag() == kModelGraph) {
        read_graph(model.get_message(), raw);
      } else {
        model.skip();
      }
    }
  } catch (const protozero::exception& error) {
    damage = error.what();
  }
  InputResolver resolver(raw);
  for (const RawNode& node : raw.nodes) {
    nodes.push_back({std::string(node.full_name), std::string(node.type), source_location(node.source), resolver.inputs_of(node)});
  }
  for (const std::string_view parameter : raw.parameters) parameters.push_back({std::string(parameter), false});
  // Without the text of the graph: a loaded value is a parameter with a state, not data that comes in.
  std::unordered_set<std::string_view> loaded;
  for (const RawNode& node : raw.nodes) {
    if (node.type == "Load" && !node.inputs.empty()) loaded.insert(node.inputs[0]);
  }
  for (GraphParameter& parameter : parameters) parameter.is_weight = loaded.contains(parameter.name);
}

}  // namespace tensortap::mindspore
