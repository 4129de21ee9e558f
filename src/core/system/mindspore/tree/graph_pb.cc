// The numbers of fields and of types are those of MindSpore's debug_graph.proto.

#include <algorithm>
#include <map>
#include <utility>

#include "base/json.h"
#include "base/protobuf.h"
#include "base/text.h"
#include "system/mindspore/tree/graph_description.h"
#include "system/mindspore/tree/graph_values.h"
#include "trace/scoped_name.h"

namespace tensortap::mindspore {
namespace {

namespace model {
constexpr uint32_t kIrVersion = 1, kGraph = 4;
}
namespace graph {
constexpr uint32_t kNode = 1, kName = 2, kParameters = 3, kOutputs = 4, kConstants = 5, kRootName = 6;
}
namespace node {
constexpr uint32_t kInput = 1, kName = 2, kOpType = 3, kScope = 4, kAttribute = 5, kOutputType = 6, kFullName = 8, kSourceAddress = 9;
}
namespace named {  // inputs, parameters, outputs, constants and attributes
constexpr uint32_t kName = 1, kSecond = 2;
}
namespace type {
constexpr uint32_t kDataType = 1, kTensorType = 2, kSequenceType = 3;
constexpr uint32_t kElemType = 1, kShape = 2, kDim = 1, kSize = 1, kElemTypes = 1;
}  // namespace type
namespace value {
constexpr uint32_t kDtype = 1, kBool = 2, kInt = 3, kDouble = 6, kText = 7, kValues = 18;
}

constexpr int kDataEdge = 0;
enum : int { kTypeBool = 1, kTypeInt64 = 5, kTypeFloat64 = 12, kTypeString = 13, kTypeTensor = 14, kTypeTuple = 31 };

// By the numbers of DType; 0 where the enumeration has none.
constexpr int kElementTypes[kDTypeCount] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 46, 11, 12, 0, 0, 0, 0, 0, 0, 0, 48, 0, 0, 0, 0, 0, 13};

using PbWriter = protozero::pbf_writer;

void add_tensor_type(std::string& out, const TensorDesc& desc) {
  PbWriter writer(out);
  writer.add_enum(type::kDataType, kTypeTensor);
  PbWriter tensor(writer, type::kTensorType);
  // The tools want a type of every tensor; 0 is one that is not known.
  tensor.add_enum(type::kElemType, kElementTypes[static_cast<size_t>(dtype_info(desc.dtype).dtype)]);
  if (desc.dtype == DType::kUndefined) return;
  PbWriter shape(tensor, type::kShape);
  for (const int64_t size : desc.shape.dims()) {
    PbWriter dim(shape, type::kDim);
    dim.add_int64(type::kSize, size);
  }
}

std::string output_type(const GraphOp& op) {
  std::string text;
  if (output_count(op) == 1) {
    add_tensor_type(text, seen_output(op, 0));
    return text;
  }
  PbWriter writer(text);
  writer.add_enum(type::kDataType, kTypeTuple);
  std::string elements;
  PbWriter sequence(elements);
  for (size_t slot = 0; slot < output_count(op); ++slot) {
    std::string element;
    add_tensor_type(element, seen_output(op, slot));
    sequence.add_message(type::kElemTypes, element);
  }
  writer.add_message(type::kSequenceType, elements);
  return text;
}

std::string value_message(const Json& json) {
  std::string text;
  PbWriter writer(text);
  if (json.is_boolean()) {
    writer.add_enum(value::kDtype, kTypeBool);
    writer.add_bool(value::kBool, json.get<bool>());
  } else if (json.is_number_integer()) {
    writer.add_enum(value::kDtype, kTypeInt64);
    writer.add_int64(value::kInt, json.get<int64_t>());
  } else if (json.is_number()) {
    writer.add_enum(value::kDtype, kTypeFloat64);
    writer.add_double(value::kDouble, json.get<double>());
  } else if (json.is_array()) {
    writer.add_enum(value::kDtype, kTypeTuple);
    for (const Json& part : json) writer.add_message(value::kValues, value_message(part));
  } else {
    writer.add_enum(value::kDtype, kTypeString);
    writer.add_string(value::kText, json.is_string() ? json.get<std::string>() : to_json_text(json));
  }
  return text;
}

std::string named_message(std::string_view name, const std::string& second) {
  std::string text;
  PbWriter writer(text);
  writer.add_string(named::kName, name.data(), name.size());
  writer.add_message(named::kSecond, second);
  return text;
}

void add_attributes(PbWriter& writer, const std::string& attributes) {
  const Result<Json> parsed = parse_json(attributes, "attributes");
  if (!parsed.ok() || !parsed->is_object()) return;
  for (const auto& [name, json] : parsed->items()) writer.add_message(node::kAttribute, named_message(name, value_message(json)));
}

// A line for each node of the author's that the op implements, in the form of MindSpore's lines of source.
std::string source_address(const OpInfo& op) {
  std::string text;
  if (!op.source_location.empty()) text += concat("      # In file ", op.source_location, "/\n");
  for (const OriginalNode& original : op.originals) {
    if (!is_itself(original, op)) text += concat("      # Original node: (", original.name, ", ", original.type, ")\n");
  }
  return text.empty() ? "      # Original node: none is known\n" : text;
}

std::string_view scope_of(const GraphOp& op) { return op.scoped_name.substr(0, op.scoped_name.rfind('/')); }

void add_edge(PbWriter& writer, const std::string& name) {
  PbWriter edge(writer, node::kInput);
  edge.add_string(named::kName, name);
  edge.add_enum(named::kSecond, kDataEdge);
}

class GraphMessage {
 public:
  explicit GraphMessage(std::span<const GraphOp> ops) : ops_(ops), values_(graph_values(ops)), names_(ops.size()) {
    for (const size_t i : values_.parameters) names_[i] = ops[i].scoped_name;
    for (size_t i = 0; i < values_.nodes.size(); ++i) names_[values_.nodes[i]] = to_text(i + 1);
    for (const size_t i : values_.nodes) {
      for (const GraphInput& input : ops[i].inputs) add_item(input.value);
    }
  }

  [[nodiscard]] std::string text(std::string_view name) const {
    std::string text;
    PbWriter writer(text);
    uint32_t constants = 0;
    for (const size_t i : values_.nodes) {
      writer.add_message(graph::kNode, node_message(i));
      for (auto item = items_.lower_bound({i, 0}); item != items_.end() && item->first.first == i; ++item) {
        writer.add_message(graph::kNode, item_message(ops_[i], item->first, item->second));
        constants = std::max(constants, item->first.second + 1);
      }
    }
    writer.add_string(graph::kName, name.data(), name.size());
    for (const size_t i : values_.parameters) writer.add_message(graph::kParameters, named_message(names_[i], output_type(ops_[i])));
    for (const size_t i : values_.nodes) {
      if (!values_.is_read[i] && ops_[i].info->graph.empty())
        writer.add_message(graph::kOutputs, named_message(names_[i], output_type(ops_[i])));
    }
    for (uint32_t i = 0; i < constants; ++i) writer.add_message(graph::kConstants, named_message(constant_name(i), value_message(i)));
    writer.add_string(graph::kRootName, "0");
    return text;
  }

 private:
  using Output = std::pair<size_t, uint32_t>;  // position of the op, slot

  static std::string constant_name(uint32_t slot) { return concat("cst", slot + 1); }

  // As in MindSpore, an op with several outputs is read through a separate node for each output that is read.
  void add_item(const GraphValue& value) {
    const GraphOp* producer = producer_of(ops_, value);
    if (producer == nullptr || is_pseudo_op(*producer->info) || output_count(*producer) == 1) return;
    items_.try_emplace({value.producer, value.slot}, items_.size());
  }

  [[nodiscard]] std::string item_name(size_t item) const { return to_text(values_.nodes.size() + 1 + item); }

  [[nodiscard]] std::string item_message(const GraphOp& op, const Output& output, size_t item) const {
    std::string text;
    PbWriter writer(text);
    add_edge(writer, names_[output.first]);
    add_edge(writer, constant_name(output.second));
    writer.add_string(node::kName, item_name(item));
    writer.add_string(node::kOpType, "TupleGetItem");
    const std::string_view scope = scope_of(op);
    writer.add_string(node::kScope, scope.data(), scope.size());
    std::string type;
    add_tensor_type(type, seen_output(op, output.second));
    writer.add_message(node::kOutputType, type);
    writer.add_string(node::kFullName, concat(scope, "/TupleGetItem-op", item));
    writer.add_string(node::kSourceAddress, source_address(*op.info));
    return text;
  }

  [[nodiscard]] std::string node_message(size_t position) const {
    const GraphOp& op = ops_[position];
    std::string text;
    PbWriter writer(text);
    for (const GraphInput& input : op.inputs) {
      if (producer_of(ops_, input.value) == nullptr) continue;
      const auto item = items_.find({input.value.producer, input.value.slot});
      add_edge(writer, item == items_.end() ? names_[input.value.producer] : item_name(item->second));
    }
    writer.add_string(node::kName, names_[position]);
    writer.add_string(node::kOpType, op.info->type);
    const std::string_view scope = scope_of(op);
    writer.add_string(node::kScope, scope.data(), scope.size());
    if (!op.info->attributes.empty()) add_attributes(writer, op.info->attributes);
    writer.add_message(node::kOutputType, output_type(op));
    writer.add_string(node::kFullName, op.scoped_name.data(), op.scoped_name.size());
    writer.add_string(node::kSourceAddress, source_address(*op.info));
    return text;
  }

  std::span<const GraphOp> ops_;
  GraphValues values_;
  std::vector<std::string> names_;
  std::map<Output, size_t> items_;  // their numbers
};

}  // namespace

std::string graph_pb(const TreeRules& rules, std::span<const GraphOp> ops) {
  std::string text;
  PbWriter writer(text);
  writer.add_int64(model::kIrVersion, 1);
  writer.add_message(model::kGraph, GraphMessage(ops).text(rules.older_graph_text ? "kernel_graph_0" : "kernel_graph0"));
  return text;
}

}  // namespace tensortap::mindspore
