#include "source/onnxruntime/model/onnx_model.h"

#include "base/text.h"
#include "format/onnx_graph/onnx_fields.h"
#include "source/onnxruntime/model/value_kinds.h"

namespace tensortap::onnxruntime {
namespace {

using onnx_field::text;
using protozero::pbf_reader;

constexpr int kMaxGraphDepth = 64;
constexpr int kMaxTypeDepth = 16;

ValueKind sequence_of(ValueKind element) {
  if (element == ValueKind::kTensor || element == ValueKind::kNotStated) return ValueKind::kSequence;
  return element == ValueKind::kMap ? ValueKind::kSequenceOfMaps : ValueKind::kOther;
}

ValueKind optional_of(ValueKind element) {
  if (element == ValueKind::kTensor || element == ValueKind::kNotStated) return ValueKind::kOptionalTensor;
  return element == ValueKind::kSequence ? ValueKind::kOptionalSequence : ValueKind::kOther;
}

Dimension read_dimension(pbf_reader reader) {
  Dimension dimension;
  while (reader.next()) {
    if (reader.tag() == onnx_field::type::kDimensionValue && reader.wire_type() == protozero::pbf_wire_type::varint) {
      dimension.size = reader.get_int64();
      if (dimension.size < 0) dimension.size = -1;
    } else if (reader.tag() == onnx_field::type::kDimensionName && reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
      dimension.name = text(reader.get_view());
    } else {
      reader.skip();
    }
  }
  return dimension;
}

void read_tensor_type(pbf_reader reader, ValueInfo& info) {
  while (reader.next()) {
    if (reader.tag() == onnx_field::type::kElementType && reader.wire_type() == protozero::pbf_wire_type::varint) {
      info.element_type = reader.get_int32();
    } else if (reader.tag() == onnx_field::type::kShape) {
      info.has_shape = true;
      pbf_reader shape = reader.get_message();
      while (shape.next(onnx_field::type::kDimension)) {
        if (info.dims.size() >= onnx_field::kMostDims) throw protozero::invalid_length_exception();
        info.dims.push_back(read_dimension(shape.get_message()));
      }
    } else {
      reader.skip();
    }
  }
}

// The kind that a TypeProto states; element type and shape go to `info`.
ValueKind read_type(pbf_reader reader, ValueInfo& info, int depth) {
  if (depth > kMaxTypeDepth) return ValueKind::kOther;
  auto inner = [&](pbf_reader message) {
    ValueKind kind = ValueKind::kNotStated;
    while (message.next(onnx_field::type::kElementType)) kind = read_type(message.get_message(), info, depth + 1);
    return kind;
  };
  ValueKind kind = ValueKind::kNotStated;
  while (reader.next()) {
    switch (reader.tag()) {
      case onnx_field::type::kTensor:
        read_tensor_type(reader.get_message(), info);
        kind = ValueKind::kTensor;
        break;
      case onnx_field::type::kSequence:
        kind = sequence_of(inner(reader.get_message()));
        break;
      case onnx_field::type::kOptional:
        kind = optional_of(inner(reader.get_message()));
        break;
      case onnx_field::type::kMap:
        reader.skip();
        kind = ValueKind::kMap;
        break;
      case onnx_field::type::kSparse:
        reader.skip();
        kind = ValueKind::kSparse;
        break;
      default:
        reader.skip();
    }
  }
  return kind;
}

ValueInfo read_value_info(pbf_reader reader) {
  ValueInfo info;
  while (reader.next()) {
    if (reader.tag() == onnx_field::value_info::kName) {
      info.name = text(reader.get_view());
    } else if (reader.tag() == onnx_field::value_info::kType) {
      info.kind = read_type(reader.get_message(), info, 0);
    } else {
      reader.skip();
    }
  }
  return info;
}

std::string_view read_tensor_name(pbf_reader reader) {
  std::string_view name;
  while (reader.next(onnx_field::tensor::kName)) name = text(reader.get_view());
  return name;
}

class Reader {
 public:
  Graph graph(std::string_view bytes, int depth) {
    if (depth > kMaxGraphDepth) throw protozero::invalid_length_exception();
    Graph graph;
    graph.bytes = bytes;
    pbf_reader reader(onnx_field::view(bytes));
    while (reader.next()) {
      switch (reader.tag()) {
        case onnx_field::graph::kNode:
          graph.nodes.push_back(node(text(reader.get_view()), depth));
          break;
        case onnx_field::graph::kInitializer: {
          const auto tensor = reader.get_view();
          graph.initializers.push_back({read_tensor_name(pbf_reader(tensor)), text(tensor)});
          break;
        }
        case onnx_field::graph::kName:
          graph.name = text(reader.get_view());
          break;
        case onnx_field::graph::kInput:
          graph.inputs.push_back(read_value_info(reader.get_message()));
          break;
        case onnx_field::graph::kOutput:
          graph.outputs.push_back(read_value_info(reader.get_message()));
          break;
        case onnx_field::graph::kValueInfo:
          graph.value_infos.push_back(read_value_info(reader.get_message()));
          break;
        default:
          reader.skip();
      }
    }
    return graph;
  }

  [[nodiscard]] uint32_t node_count() const { return node_count_; }

 private:
  Node node(std::string_view bytes, int depth) {
    Node node;
    node.bytes = bytes;
    node.index = node_count_++;
    pbf_reader reader(onnx_field::view(bytes));
    while (reader.next()) {
      switch (reader.tag()) {
        case onnx_field::node::kInput:
          node.inputs.push_back(text(reader.get_view()));
          break;
        case onnx_field::node::kOutput:
          node.outputs.push_back(text(reader.get_view()));
          break;
        case onnx_field::node::kName:
          node.name = text(reader.get_view());
          break;
        case onnx_field::node::kOpType:
          node.type = text(reader.get_view());
          break;
        case onnx_field::node::kDomain:
          node.domain = text(reader.get_view());
          break;
        case onnx_field::node::kAttribute:
          subgraphs(reader.get_message(), depth, node);
          break;
        default:
          reader.skip();
      }
    }
    if (node.domain == "ai.onnx") node.domain = "";
    return node;
  }

  void subgraphs(pbf_reader reader, int depth, Node& node) {
    std::string_view name;
    std::vector<std::string_view> graphs;
    while (reader.next()) {
      if (reader.tag() == onnx_field::attribute::kName) {
        name = text(reader.get_view());
      } else if (reader.tag() == onnx_field::attribute::kGraph || reader.tag() == onnx_field::attribute::kGraphs) {
        graphs.push_back(text(reader.get_view()));
      } else {
        reader.skip();
      }
    }
    for (const std::string_view bytes : graphs) node.subgraphs.push_back({name, std::make_unique<Graph>(graph(bytes, depth + 1))});
  }

  uint32_t node_count_ = 0;
};

OperatorSetVersion opset_of(pbf_reader reader) {
  OperatorSetVersion opset;
  while (reader.next()) {
    if (reader.tag() == onnx_field::opset::kDomain) {
      opset.domain = text(reader.get_view());
    } else if (reader.tag() == onnx_field::opset::kVersion) {
      opset.version = reader.get_int64();
    } else {
      reader.skip();
    }
  }
  if (opset.domain == "ai.onnx") opset.domain = "";
  return opset;
}

}  // namespace

std::string_view to_text(ValueKind kind) {
  switch (kind) {
    case ValueKind::kSequence:
      return "sequence";
    case ValueKind::kOptionalTensor:
      return "optional tensor";
    case ValueKind::kOptionalSequence:
      return "optional sequence";
    case ValueKind::kMap:
      return "map";
    case ValueKind::kSequenceOfMaps:
      return "sequence of maps";
    case ValueKind::kSparse:
      return "sparse tensor";
    case ValueKind::kOther:
      return "value of an unknown kind";
    default:
      return "tensor";
  }
}

bool is_outside(const Initializer& initializer) {
  try {
    pbf_reader reader(onnx_field::view(initializer.bytes));
    return reader.next(onnx_field::tensor::kExternalData);
  } catch (const protozero::exception&) {
    return false;
  }
}

bool is_ort_format(std::string_view bytes) { return bytes.size() >= 8 && bytes.substr(4, 4) == "ORTM"; }

Result<Model> read_model(std::string_view bytes, std::string_view name) {
  return onnx_field::guarded(name, [&]() -> Result<Model> {
    if (bytes.empty()) return corrupt(concat(name, " is empty: not an ONNX model."));
    Model model;
    model.bytes = bytes;
    Reader graphs;
    bool has_graph = false;
    bool has_version = false;
    pbf_reader reader(onnx_field::view(bytes));
    while (reader.next()) {
      if (reader.tag() == onnx_field::model::kGraph) {
        if (has_graph) return corrupt(concat(name, " holds two graphs: not an ONNX model as exporters write them."));
        model.graph = graphs.graph(text(reader.get_view()), 0);
        has_graph = true;
      } else if (reader.tag() == onnx_field::model::kIrVersion) {
        model.ir_version = reader.get_int64();
        has_version = true;
      } else if (reader.tag() == onnx_field::model::kOpsetImport) {
        model.opsets.push_back(opset_of(reader.get_message()));
        has_version = true;
      } else {
        model.has_functions |= reader.tag() == onnx_field::model::kFunctions;
        reader.skip();
      }
    }
    if (!has_graph || !has_version) return corrupt(concat(name, " is not an ONNX model: it holds no graph or no version."));
    model.node_count = graphs.node_count();
    track_value_kinds(model);
    return model;
  });
}

}  // namespace tensortap::onnxruntime
