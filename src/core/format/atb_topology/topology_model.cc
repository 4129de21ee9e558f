#include "format/atb_topology/topology_model.h"

#include <array>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "format/atb_topology/parameter_attributes.h"
#include "format/onnx_graph/node_writer.h"
#include "format/onnx_graph/onnx_fields.h"

namespace tensortap {
namespace {

constexpr std::string_view kDomain = "atb";
constexpr std::string_view kUnknownType = "tensor";
constexpr size_t kMostBytes = size_t{std::numeric_limits<int32_t>::max()};  // of a protobuf message

// An operation that is not taken apart.
struct Operation {
  std::string name;
  std::string type;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> attributes;
};

struct Plain {
  Operation whole;  // the topology's own
  std::vector<Operation> operations;
};

// Words of Python's JSON that JSON has not, outside of texts, as msit reads them: as nothing.
std::string without_constants(std::string_view text) {
  std::string plain;
  bool in_text = false;
  for (size_t at = 0; at < text.size(); ++at) {
    bool is_constant = false;
    for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
      if (in_text || !text.substr(at).starts_with(word)) continue;
      plain += "null";
      at += word.size() - 1;
      is_constant = true;
      break;
    }
    if (is_constant) continue;
    plain += text[at];
    if (text[at] == '"') in_text = !in_text;
    if (in_text && text[at] == '\\' && at + 1 < text.size()) plain += text[++at];
  }
  return plain;
}

// Reads the nodes and takes nested ones apart.
class Reader {
 public:
  Reader(std::string_view name, int64_t level) : name_(name), level_(level) {}

  Result<Plain> read(const Json& topology) {
    if (!topology.is_object()) return error("", "is no object");
    const bool is_model = !topology.contains("opName") && topology.contains("modelName");
    TENSORTAP_ASSIGN_OR_RETURN(plain_.whole, operation(topology, "", is_model));
    TENSORTAP_RETURN_IF_ERROR(take(topology, "", 0, is_model));
    return std::move(plain_);
  }

 private:
  [[nodiscard]] Status error(const std::string& place, std::string_view what) const {
    return invalid_argument(concat(name_, ": ", place.empty() ? "the topology" : place, " ", what,
                                   ". A topology of msit is an object with opName, opType, inTensors, outTensors and nodes like it"));
  }

  Status take(const Json& node, const std::string& place, int64_t depth, bool is_model) {
    const auto nodes = node.find("nodes");
    const bool is_deep = level_ != kAllLevels && (depth == 0 ? level_ == 0 : depth >= level_);
    if (nodes == node.end() || is_deep) {
      TENSORTAP_ASSIGN_OR_RETURN(Operation one, operation(node, place, is_model));
      plain_.operations.push_back(std::move(one));
      return {};
    }
    if (!nodes->is_array()) return error(place, "has nodes that are no list");
    for (size_t i = 0; i < nodes->size(); ++i) {
      const std::string inside = concat(place, place.empty() ? "" : ".", "nodes[", i, "]");
      if (!(*nodes)[i].is_object()) return error(inside, "is no object");
      TENSORTAP_RETURN_IF_ERROR(take((*nodes)[i], inside, depth + 1, false));
    }
    return {};
  }

  Result<Operation> operation(const Json& node, const std::string& place, bool is_model) const {
    Operation result;
    TENSORTAP_ASSIGN_OR_RETURN(result.name, text(node, is_model ? "modelName" : "opName", place));
    TENSORTAP_ASSIGN_OR_RETURN(result.type, text(node, is_model ? "modelName" : "opType", place));
    TENSORTAP_ASSIGN_OR_RETURN(result.inputs, names(node, "inTensors", place));
    TENSORTAP_ASSIGN_OR_RETURN(result.outputs, names(node, "outTensors", place));
    const auto parameters = node.find("param");
    if (parameters == node.end() || parameters->is_null() || parameters->empty()) return result;
    if (const auto* no_text = parameters->get_ptr<const std::string*>(); no_text != nullptr && no_text->empty()) return result;
    if (!parameters->is_object()) return error(place, "has a param that is no object");
    result.attributes = parameter_attributes(*parameters);
    return result;
  }

  [[nodiscard]] Result<std::string> text(const Json& node, const char* key, const std::string& place) const {
    const auto found = node.find(key);
    if (found == node.end()) return error(place, concat("has no ", key));
    if (!found->is_string() || found->get_ref<const std::string&>().empty())
      return error(place, concat("has an ", key, " that is no text"));
    return found->get<std::string>();
  }

  [[nodiscard]] Result<std::vector<std::string>> names(const Json& node, const char* key, const std::string& place) const {
    std::vector<std::string> result;
    const auto found = node.find(key);
    if (found == node.end()) return result;
    if (!found->is_array()) return error(place, concat("has ", key, " that are no list"));
    for (const Json& name : *found) {
      if (!name.is_string()) return error(place, concat("has ", key, " with something that is no text"));
      result.push_back(name.get<std::string>());
    }
    return result;
  }

  std::string_view name_;
  int64_t level_;
  Plain plain_;
};

// Gives every value one maker, and knows the types of values.
class Values {
 public:
  explicit Values(const Plain& plain) {
    for (const std::string& name : plain.whole.inputs) is_input(name);
    names_.insert(plain.whole.outputs.begin(), plain.whole.outputs.end());
    for (const Operation& operation : plain.operations) {
      names_.insert(operation.inputs.begin(), operation.inputs.end());
      names_.insert(operation.outputs.begin(), operation.outputs.end());
    }
  }

  // The value that currently has this name. An empty name is an omitted input.
  std::string read(const std::string& name) {
    if (!name.empty() && !newest_.contains(name)) is_input(name);
    return name.empty() ? name : newest_.at(name);
  }

  std::string make(const std::string& name) {
    if (name.empty()) return name;
    const auto [found, is_new] = newest_.try_emplace(name, name);
    if (!is_new) found->second = free_name(name);
    return found->second;
  }

  // Null for a name that nothing made.
  const std::string* find(const std::string& name) const {
    const auto found = newest_.find(name);
    return found == newest_.end() ? nullptr : &found->second;
  }

  void note_type(const std::string& value, const TensorDesc& desc) {
    if (!value.empty() && dtype_info(desc.dtype).onnx != 0) types_.try_emplace(value, desc);
  }

  // ValueInfoProto bytes.
  [[nodiscard]] std::string info(const std::string& value) const {
    const auto found = types_.find(value);
    if (found == types_.end()) return opaque_value_info(value, kDomain, kUnknownType);
    const auto dims = found->second.shape.dims();
    return tensor_value_info(value, dtype_info(found->second.dtype).onnx, {dims.begin(), dims.end()});
  }

  [[nodiscard]] const std::vector<std::string>& inputs() const { return inputs_; }
  [[nodiscard]] const std::map<std::string, TensorDesc>& types() const { return types_; }

 private:
  void is_input(const std::string& name) {
    if (!name.empty() && newest_.try_emplace(name, name).second) inputs_.push_back(name);
  }

  std::string free_name(const std::string& name) {
    uint64_t& number = numbers_[name];
    std::string free;
    do {
      free = concat(name, ".", ++number);
    } while (!names_.insert(free).second);
    return free;
  }

  std::map<std::string, std::string> newest_;  // by the topology's name
  std::set<std::string> names_;                // all that are taken
  std::map<std::string, uint64_t> numbers_;
  std::vector<std::string> inputs_;
  std::map<std::string, TensorDesc> types_;
};

void note_types(Values& values, const std::vector<std::string>& names, const std::vector<TensorDesc>& types) {
  for (size_t i = 0; i < names.size() && i < types.size(); ++i) values.note_type(names[i], types[i]);
}

// Writes the graph's nodes into `graph`.
void add_nodes(Plain& plain, const TypesOf& types, Values& values, std::string& graph) {
  note_types(values, plain.whole.inputs, types(plain.whole.name).inputs);
  for (Operation& operation : plain.operations) {
    NodeText node{operation.type, operation.name, {}, {}, std::move(operation.attributes), kDomain};
    for (const std::string& name : operation.inputs) node.inputs.push_back(values.read(name));
    for (const std::string& name : operation.outputs) node.outputs.push_back(values.make(name));
    const OperationTypes known = types(operation.name);
    note_types(values, node.inputs, known.inputs);
    note_types(values, node.outputs, known.outputs);
    graph += as_field(onnx_field::graph::kNode, node_bytes(node));
  }
}

std::string graph_of(Plain& plain, const TypesOf& types) {
  Values values(plain);
  std::string graph;
  add_nodes(plain, types, values, graph);
  graph += as_field(onnx_field::graph::kName, plain.whole.name);
  std::set<std::string> told;
  for (const std::string& name : values.inputs()) {
    told.insert(name);
    graph += as_field(onnx_field::graph::kInput, values.info(name));
  }
  const std::vector<TensorDesc> known = types(plain.whole.name).outputs;
  std::set<std::string> outputs;
  for (size_t i = 0; i < plain.whole.outputs.size(); ++i) {
    const std::string* value = values.find(plain.whole.outputs[i]);
    if (value == nullptr || !outputs.insert(*value).second) continue;
    if (i < known.size()) values.note_type(*value, known[i]);
    told.insert(*value);
    graph += as_field(onnx_field::graph::kOutput, values.info(*value));
  }
  for (const auto& [value, type] : values.types()) {
    if (!told.contains(value)) graph += as_field(onnx_field::graph::kValueInfo, values.info(value));
  }
  return graph;
}

}  // namespace

Result<std::string> topology_model(std::string_view text, std::string_view name, int64_t level, const TypesOf& types) {
  std::vector<std::string> repeated;
  TENSORTAP_ASSIGN_OR_RETURN(const Json topology, parse_json(without_constants(text), name, repeated));
  TENSORTAP_ASSIGN_OR_RETURN(Plain plain, Reader(name, level).read(topology));
  constexpr std::array kSets = {OperatorSet{kDomain, 1}};
  std::string model = model_bytes(graph_of(plain, types), kSets);
  if (model.size() > kMostBytes) return unsupported(concat(name, ": the model of it would have more than 2 GiB, which ONNX does not hold"));
  return model;
}

}  // namespace tensortap
