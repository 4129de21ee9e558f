// Models of ONNX, written field by field.

#include "base/protobuf.h"
#include "command/command.h"

namespace command {
namespace {

constexpr int32_t kFloat = 1;

// The numbers of the fields in onnx.proto.
namespace field {
constexpr uint32_t kTensorDims = 1, kTensorType = 2, kTensorName = 8, kTensorRaw = 9, kTensorExternal = 13, kTensorLocation = 14;
constexpr uint32_t kEntryKey = 1, kEntryValue = 2;
constexpr uint32_t kDimensionValue = 1, kDimensionName = 2, kShapeDimension = 1, kTypeElement = 1, kTypeShape = 2, kTypeTensor = 1;
constexpr uint32_t kValueName = 1, kValueType = 2;
constexpr uint32_t kNodeInput = 1, kNodeOutput = 2, kNodeName = 3, kNodeType = 4;
constexpr uint32_t kGraphNode = 1, kGraphName = 2, kGraphWeight = 5, kGraphInput = 11, kGraphOutput = 12;
constexpr uint32_t kModelVersion = 1, kModelGraph = 7, kModelOpset = 8, kOpsetVersion = 2;
}  // namespace field

std::string tensor_bytes(const Weight& weight) {
  std::string bytes;
  protozero::pbf_writer tensor(bytes);
  for (const int64_t size : weight.dims) tensor.add_int64(field::kTensorDims, size);
  tensor.add_int32(field::kTensorType, kFloat);
  tensor.add_string(field::kTensorName, weight.name);
  if (weight.external.empty()) {
    tensor.add_bytes(field::kTensorRaw, reinterpret_cast<const char*>(weight.values.data()), weight.values.size() * sizeof(float));
    return bytes;
  }
  std::string entry;
  protozero::pbf_writer writer(entry);
  writer.add_string(field::kEntryKey, "location");
  writer.add_string(field::kEntryValue, weight.external);
  tensor.add_message(field::kTensorExternal, entry);
  tensor.add_int32(field::kTensorLocation, 1);
  return bytes;
}

std::string node_bytes(const Node& node) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  for (const std::string& name : node.inputs) writer.add_string(field::kNodeInput, name);
  for (const std::string& name : node.outputs) writer.add_string(field::kNodeOutput, name);
  writer.add_string(field::kNodeName, node.name);
  writer.add_string(field::kNodeType, node.type);
  return bytes;
}

// A float tensor of this name; of any shape without one.
std::string value_bytes(const std::string& name, const std::vector<int64_t>* dims) {
  std::string shape;
  for (const int64_t size : dims == nullptr ? std::vector<int64_t>() : *dims) {
    std::string dimension;
    protozero::pbf_writer writer(dimension);
    if (size < 0) {
      writer.add_string(field::kDimensionName, "N");
    } else {
      writer.add_int64(field::kDimensionValue, size);
    }
    protozero::pbf_writer(shape).add_message(field::kShapeDimension, dimension);
  }
  std::string tensor;
  protozero::pbf_writer(tensor).add_int32(field::kTypeElement, kFloat);
  if (dims != nullptr) protozero::pbf_writer(tensor).add_message(field::kTypeShape, shape);
  std::string type;
  protozero::pbf_writer(type).add_message(field::kTypeTensor, tensor);
  std::string value;
  protozero::pbf_writer(value).add_string(field::kValueName, name);
  protozero::pbf_writer(value).add_message(field::kValueType, type);
  return value;
}

}  // namespace

std::string model(const std::vector<Node>& nodes, const std::vector<int64_t>& shape, const std::vector<Weight>& weights) {
  std::string graph;
  protozero::pbf_writer graph_writer(graph);
  for (const Node& node : nodes) graph_writer.add_message(field::kGraphNode, node_bytes(node));
  graph_writer.add_string(field::kGraphName, "g");
  for (const Weight& weight : weights) graph_writer.add_message(field::kGraphWeight, tensor_bytes(weight));
  graph_writer.add_message(field::kGraphInput, value_bytes("x", &shape));
  graph_writer.add_message(field::kGraphOutput, value_bytes("y", nullptr));
  std::string opset;
  protozero::pbf_writer(opset).add_int64(field::kOpsetVersion, 17);
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_int64(field::kModelVersion, 8);
  writer.add_message(field::kModelGraph, graph);
  writer.add_message(field::kModelOpset, opset);
  return bytes;
}

const std::vector<float>& small_weights() {
  static const std::vector<float> values = {0.25F, -1.5F, 2, 0.5F, -0.75F, 1, 0.125F, -2, 1.25F, 0.375F, -0.5F, 3};
  return values;
}

const std::vector<float>& small_bias() {
  static const std::vector<float> values = {0.5F, -0.25F, 1, -1};
  return values;
}

std::string small_model() {
  return model({{"MatMul", "matmul_1", {"x", "w"}, {"m"}},
                {"Add", "add_1", {"m", "b"}, {"a"}},
                {"Relu", "relu_1", {"a"}, {"r"}},
                {"Softmax", "softmax_1", {"r"}, {"y"}}},
               {2, 3}, {{"w", {3, 4}, small_weights()}, {"b", {4}, small_bias()}});
}

std::string nonfinite_model() {
  return model({{"Div", "div_1", {"one", "x"}, {"d"}}, {"Exp", "exp_1", {"d"}, {"y"}}}, {2, 3}, {{"one", {}, {1}}});
}

std::string chain_model() {
  return model({{"Neg", "neg_1", {"x"}, {"n"}}, {"Floor", "floor_1", {"n"}, {"f"}}, {"Ceil", "ceil_1", {"f"}, {"y"}}});
}

}  // namespace command
