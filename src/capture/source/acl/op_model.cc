#include "source/acl/op_model.h"

#include <algorithm>
#include <array>

#include "base/protobuf.h"
#include "base/text.h"
#include "source/acl/element_kinds.h"

namespace tensortap::acl_source {
namespace {

using Writer = protozero::pbf_writer;

// Field numbers of onnx.proto.
namespace onnx_field {
constexpr uint32_t kIrVersion = 1, kModelGraph = 7, kOpsetImport = 8, kOpsetVersion = 2;
constexpr uint32_t kGraphNode = 1, kGraphName = 2, kGraphInitializer = 5, kGraphInput = 11, kGraphOutput = 12;
constexpr uint32_t kNodeInput = 1, kNodeOutput = 2, kNodeName = 3, kNodeType = 4, kNodeAttribute = 5;
constexpr uint32_t kAttributeName = 1, kFloat = 2, kInt = 3, kString = 4, kFloats = 7, kInts = 8, kStrings = 9, kAttributeType = 20;
constexpr uint32_t kValueName = 1, kValueType = 2, kTensorType = 1, kElementType = 1, kShape = 2, kDimension = 1, kDimensionValue = 1;
constexpr uint32_t kTensorDims = 1, kTensorDataType = 2, kTensorName = 8, kTensorRawData = 9;
}  // namespace onnx_field

// Of AttributeProto.type.
enum AttributeType : int { kIsFloat = 1, kIsInt = 2, kIsString = 3, kIsFloats = 6, kIsInts = 7, kIsStrings = 8 };

// Read by every release of ONNX Runtime that is supported.
constexpr int64_t kIr = 8;
constexpr int64_t kOpset = 19;

struct Renamed {
  std::string_view theirs;
  std::string_view onnx;
};
constexpr std::array kTypes = {
    Renamed{"RealDiv", "Div"},          Renamed{"Maximum", "Max"},      Renamed{"Minimum", "Min"},       Renamed{"BatchMatMul", "MatMul"},
    Renamed{"BatchMatMulV2", "MatMul"}, Renamed{"MatMulV2", "MatMul"},  Renamed{"SoftmaxV2", "Softmax"}, Renamed{"TransposeD", "Transpose"},
    Renamed{"ConcatD", "Concat"},       Renamed{"ConcatV2D", "Concat"}, Renamed{"Power", "Pow"},
};
constexpr std::array kAttributes = {
    Renamed{"dst_type", "to"},   Renamed{"concat_dim", "axis"}, Renamed{"transpose_x1", "transA"}, Renamed{"transpose_x2", "transB"},
    Renamed{"adj_x1", "transA"}, Renamed{"adj_x2", "transB"},   Renamed{"axes", "axes"},
};

template <size_t N>
std::string_view renamed(const std::array<Renamed, N>& table, std::string_view name) {
  const auto row = std::ranges::find(table, name, &Renamed::theirs);
  return row == table.end() ? name : row->onnx;
}

using OpAttributes = std::map<std::string, aclopAttr::Value>;

bool takes_transposed(const OpAttributes& attributes, const char* name) {
  const auto found = attributes.find(name);
  const auto* value = found == attributes.end() ? nullptr : std::get_if<int64_t>(&found->second);
  return value != nullptr && *value != 0;
}

// The operator as ONNX has it.
struct Translation {
  std::string type;
  OpAttributes attributes;
};

Status translate_matmul(const OpText& op, Translation& made) {
  const bool transposed = takes_transposed(made.attributes, "transA") || takes_transposed(made.attributes, "transB");
  if (!transposed && op.inputs.size() == 2) {
    made.attributes.clear();
    return {};
  }
  // Gemm has transposition and a bias, for matrices.
  for (size_t i = 0; i < op.inputs.size() && i < 2; ++i) {
    if (op.inputs[i]->dims.size() != 2) return invalid_argument("transposed products and biases are supported for matrices only");
  }
  made.type = "Gemm";
  return {};
}

Result<Translation> translate(const OpText& op) {
  Translation made{std::string(renamed(kTypes, op.type)), {}};
  if (op.attributes != nullptr) {
    for (const auto& [name, value] : op.attributes->values) made.attributes[std::string(renamed(kAttributes, name))] = value;
  }
  if (made.type == "MatMul") TENSORTAP_RETURN_IF_ERROR(translate_matmul(op, made));
  if (made.type == "Cast") {
    const auto found = made.attributes.find("to");
    const auto* number = found == made.attributes.end() ? nullptr : std::get_if<int64_t>(&found->second);
    const aclDataType type = number != nullptr    ? static_cast<aclDataType>(*number)
                             : op.outputs.empty() ? ACL_DT_UNDEFINED
                                                  : op.outputs[0]->type;
    made.attributes = {{"to", int64_t{onnx_number(type)}}};
  }
  const auto axes = made.attributes.find("axes");
  if (made.type == "Softmax" && axes != made.attributes.end()) {
    const auto* list = std::get_if<std::vector<int64_t>>(&axes->second);
    if (list == nullptr || list->size() != 1) return invalid_argument("Softmax runs along one axis");
    made.attributes = {{"axis", list->front()}};
  }
  return made;
}

std::string attribute_bytes(const std::string& name, const aclopAttr::Value& value) {
  namespace f = onnx_field;
  std::string bytes;
  Writer writer(bytes);
  writer.add_string(f::kAttributeName, name);
  AttributeType type = kIsInt;
  if (const auto* number = std::get_if<int64_t>(&value)) {
    writer.add_int64(f::kInt, *number);
  } else if (const auto* real = std::get_if<float>(&value)) {
    type = kIsFloat;
    writer.add_float(f::kFloat, *real);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    type = kIsString;
    writer.add_bytes(f::kString, *text);
  } else if (const auto* numbers = std::get_if<std::vector<int64_t>>(&value)) {
    type = kIsInts;
    for (const int64_t item : *numbers) writer.add_int64(f::kInts, item);
  } else if (const auto* reals = std::get_if<std::vector<float>>(&value)) {
    type = kIsFloats;
    for (const float item : *reals) writer.add_float(f::kFloats, item);
  } else if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    type = kIsStrings;
    for (const std::string& item : *texts) writer.add_bytes(f::kStrings, item);
  }
  writer.add_enum(f::kAttributeType, type);
  return bytes;
}

// With the shape when all of it is known.
Result<std::string> value_bytes(const std::string& name, const aclTensorDesc& desc, bool with_shape) {
  namespace f = onnx_field;
  if (onnx_number(desc.type) == 0) return unsupported(concat(element_name(desc.type), " is no type of ONNX"));
  std::string tensor;
  Writer tensor_writer(tensor);
  tensor_writer.add_int32(f::kElementType, onnx_number(desc.type));
  if (with_shape && !desc.unknown_rank) {
    std::string shape;
    Writer shape_writer(shape);
    for (const int64_t dim : desc.dims) {
      std::string dimension;
      if (dim >= 0) Writer(dimension).add_int64(f::kDimensionValue, dim);
      shape_writer.add_message(f::kDimension, dimension);
    }
    tensor_writer.add_message(f::kShape, shape);
  }
  std::string type;
  Writer(type).add_message(f::kTensorType, tensor);
  std::string bytes;
  Writer writer(bytes);
  writer.add_string(f::kValueName, name);
  writer.add_message(f::kValueType, type);
  return bytes;
}

std::string constant_bytes(const std::string& name, const aclTensorDesc& desc) {
  namespace f = onnx_field;
  std::string bytes;
  Writer writer(bytes);
  for (const int64_t dim : desc.dims) writer.add_int64(f::kTensorDims, dim);
  writer.add_int32(f::kTensorDataType, onnx_number(desc.type));
  writer.add_string(f::kTensorName, name);
  writer.add_bytes(f::kTensorRawData, reinterpret_cast<const char*>(desc.constant.data()), desc.constant.size());
  return bytes;
}

std::string op_node_bytes(const OpText& op, const Translation& translated) {
  namespace f = onnx_field;
  std::string bytes;
  Writer writer(bytes);
  for (size_t i = 0; i < op.inputs.size(); ++i) writer.add_string(f::kNodeInput, concat("x", i));
  for (size_t i = 0; i < op.outputs.size(); ++i) writer.add_string(f::kNodeOutput, concat("y", i));
  writer.add_string(f::kNodeName, std::string(op.type));
  writer.add_string(f::kNodeType, translated.type);
  for (const auto& [name, value] : translated.attributes) writer.add_message(f::kNodeAttribute, attribute_bytes(name, value));
  return bytes;
}

}  // namespace

Result<std::string> op_model(const OpText& op) {
  namespace f = onnx_field;
  TENSORTAP_ASSIGN_OR_RETURN(const Translation translated, translate(op));
  std::string graph;
  Writer graph_writer(graph);
  graph_writer.add_message(f::kGraphNode, op_node_bytes(op, translated));
  graph_writer.add_string(f::kGraphName, std::string(op.type));
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const std::string name = concat("x", i);
    TENSORTAP_ASSIGN_OR_RETURN(const std::string value, value_bytes(name, *op.inputs[i], true));
    if (op.inputs[i]->is_constant) {
      graph_writer.add_message(f::kGraphInitializer, constant_bytes(name, *op.inputs[i]));
    } else {
      graph_writer.add_message(f::kGraphInput, value);
    }
  }
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    TENSORTAP_ASSIGN_OR_RETURN(const std::string value, value_bytes(concat("y", i), *op.outputs[i], false));
    graph_writer.add_message(f::kGraphOutput, value);
  }
  std::string opset;
  Writer(opset).add_int64(f::kOpsetVersion, kOpset);
  std::string model;
  Writer writer(model);
  writer.add_int64(f::kIrVersion, kIr);
  writer.add_message(f::kModelGraph, graph);
  writer.add_message(f::kOpsetImport, opset);
  return model;
}

}  // namespace tensortap::acl_source
