#include "source/onnxruntime/node_writer.h"

#include "source/onnxruntime/onnx_fields.h"

namespace tensortap::onnxruntime {

using protozero::pbf_writer;

std::string node_bytes(const NodeText& node) {
  std::string bytes;
  pbf_writer writer(bytes);
  for (const std::string& input : node.inputs) writer.add_string(field::node::kInput, input);
  for (const std::string& output : node.outputs) writer.add_string(field::node::kOutput, output);
  writer.add_string(field::node::kName, node.name);
  writer.add_string(field::node::kOpType, node.type.data(), node.type.size());
  for (const std::string& attribute : node.attributes) writer.add_message(field::node::kAttribute, attribute);
  if (!node.domain.empty()) writer.add_string(field::node::kDomain, node.domain.data(), node.domain.size());
  return bytes;
}

std::string as_field(uint32_t tag, std::string_view message) {
  std::string bytes;
  pbf_writer(bytes).add_message(tag, message.data(), message.size());
  return bytes;
}

std::string int_attribute(std::string_view name, int64_t value) {
  std::string bytes;
  pbf_writer writer(bytes);
  writer.add_string(field::attribute::kName, name.data(), name.size());
  writer.add_int64(field::attribute::kInt, value);
  writer.add_enum(field::attribute::kType, field::attribute::kTypeIsInt);
  return bytes;
}

std::string graph_attribute(std::string_view name, std::string_view graph) {
  std::string bytes;
  pbf_writer writer(bytes);
  writer.add_string(field::attribute::kName, name.data(), name.size());
  writer.add_message(field::attribute::kGraph, graph.data(), graph.size());
  writer.add_enum(field::attribute::kType, field::attribute::kTypeIsGraph);
  return bytes;
}

std::string tensor_value_info(std::string_view name, int32_t element_type, const std::vector<int64_t>& dims) {
  std::string bytes;
  pbf_writer info(bytes);
  info.add_string(field::value_info::kName, name.data(), name.size());
  std::string tensor_bytes;
  pbf_writer tensor(tensor_bytes);
  tensor.add_int32(field::type::kElementType, element_type);
  // Made apart: protozero leaves out an empty sub-message, but an empty shape is what says "scalar".
  std::string shape;
  pbf_writer shape_writer(shape);
  for (const int64_t dim : dims) {
    std::string dimension;
    if (dim >= 0) pbf_writer(dimension).add_int64(field::type::kDimensionValue, dim);
    shape_writer.add_message(field::type::kDimension, dimension);
  }
  tensor.add_message(field::type::kShape, shape);
  info.add_message(field::value_info::kType, as_field(field::type::kTensor, tensor_bytes));
  return bytes;
}

std::string untyped_value_info(std::string_view name) {
  std::string bytes;
  pbf_writer(bytes).add_string(field::value_info::kName, name.data(), name.size());
  return bytes;
}

std::string model_bytes(std::string_view graph, std::span<const OperatorSet> sets) {
  constexpr int64_t kIrVersion = 8;
  std::string model;
  pbf_writer writer(model);
  writer.add_int64(field::model::kIrVersion, kIrVersion);
  writer.add_message(field::model::kGraph, graph.data(), graph.size());
  for (const OperatorSet& set : sets) {
    std::string bytes;
    pbf_writer set_writer(bytes);
    set_writer.add_string(field::opset::kDomain, set.domain.data(), set.domain.size());
    set_writer.add_int64(field::opset::kVersion, set.version);
    writer.add_message(field::model::kOpsetImport, bytes);
  }
  return model;
}

}  // namespace tensortap::onnxruntime
