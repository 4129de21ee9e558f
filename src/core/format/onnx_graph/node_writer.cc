#include "format/onnx_graph/node_writer.h"

#include "format/onnx_graph/onnx_fields.h"

namespace tensortap {

using protozero::pbf_writer;

namespace {

template <class AddValue>
std::string attribute(std::string_view name, int32_t type, AddValue&& add_value) {
  std::string bytes;
  pbf_writer writer(bytes);
  writer.add_string(onnx_field::attribute::kName, name.data(), name.size());
  add_value(writer);
  writer.add_enum(onnx_field::attribute::kType, type);
  return bytes;
}

}  // namespace

std::string node_bytes(const NodeText& node) {
  std::string bytes;
  pbf_writer writer(bytes);
  for (const std::string& input : node.inputs) writer.add_string(onnx_field::node::kInput, input);
  for (const std::string& output : node.outputs) writer.add_string(onnx_field::node::kOutput, output);
  writer.add_string(onnx_field::node::kName, node.name);
  writer.add_string(onnx_field::node::kOpType, node.type.data(), node.type.size());
  for (const std::string& attribute : node.attributes) writer.add_message(onnx_field::node::kAttribute, attribute);
  if (!node.domain.empty()) writer.add_string(onnx_field::node::kDomain, node.domain.data(), node.domain.size());
  return bytes;
}

std::string as_field(uint32_t tag, std::string_view message) {
  std::string bytes;
  pbf_writer(bytes).add_message(tag, message.data(), message.size());
  return bytes;
}

std::string int_attribute(std::string_view name, int64_t value) {
  return attribute(name, onnx_field::attribute::kTypeIsInt,
                   [&](pbf_writer& writer) { writer.add_int64(onnx_field::attribute::kInt, value); });
}

std::string float_attribute(std::string_view name, float value) {
  return attribute(name, onnx_field::attribute::kTypeIsFloat,
                   [&](pbf_writer& writer) { writer.add_float(onnx_field::attribute::kFloat, value); });
}

std::string text_attribute(std::string_view name, std::string_view value) {
  return attribute(name, onnx_field::attribute::kTypeIsString,
                   [&](pbf_writer& writer) { writer.add_bytes(onnx_field::attribute::kString, value.data(), value.size()); });
}

std::string ints_attribute(std::string_view name, std::span<const int64_t> values) {
  return attribute(name, onnx_field::attribute::kTypeIsInts, [&](pbf_writer& writer) {
    for (const int64_t value : values) writer.add_int64(onnx_field::attribute::kInts, value);
  });
}

std::string floats_attribute(std::string_view name, std::span<const float> values) {
  return attribute(name, onnx_field::attribute::kTypeIsFloats, [&](pbf_writer& writer) {
    for (const float value : values) writer.add_float(onnx_field::attribute::kFloats, value);
  });
}

std::string texts_attribute(std::string_view name, std::span<const std::string> values) {
  return attribute(name, onnx_field::attribute::kTypeIsStrings, [&](pbf_writer& writer) {
    for (const std::string& value : values) writer.add_bytes(onnx_field::attribute::kStrings, value);
  });
}

std::string graph_attribute(std::string_view name, std::string_view graph) {
  return attribute(name, onnx_field::attribute::kTypeIsGraph,
                   [&](pbf_writer& writer) { writer.add_message(onnx_field::attribute::kGraph, graph.data(), graph.size()); });
}

std::string tensor_value_info(std::string_view name, int32_t element_type, const std::vector<int64_t>& dims) {
  std::string bytes;
  pbf_writer info(bytes);
  info.add_string(onnx_field::value_info::kName, name.data(), name.size());
  std::string tensor_bytes;
  pbf_writer tensor(tensor_bytes);
  tensor.add_int32(onnx_field::type::kElementType, element_type);
  // Made apart: protozero leaves out an empty sub-message, but an empty shape is what says "scalar".
  std::string shape;
  pbf_writer shape_writer(shape);
  for (const int64_t dim : dims) {
    std::string dimension;
    if (dim >= 0) pbf_writer(dimension).add_int64(onnx_field::type::kDimensionValue, dim);
    shape_writer.add_message(onnx_field::type::kDimension, dimension);
  }
  tensor.add_message(onnx_field::type::kShape, shape);
  info.add_message(onnx_field::value_info::kType, as_field(onnx_field::type::kTensor, tensor_bytes));
  return bytes;
}

std::string opaque_value_info(std::string_view name, std::string_view domain, std::string_view type) {
  std::string opaque;
  pbf_writer writer(opaque);
  writer.add_string(onnx_field::type::kOpaqueDomain, domain.data(), domain.size());
  writer.add_string(onnx_field::type::kOpaqueName, type.data(), type.size());
  std::string bytes;
  pbf_writer info(bytes);
  info.add_string(onnx_field::value_info::kName, name.data(), name.size());
  info.add_message(onnx_field::value_info::kType, as_field(onnx_field::type::kOpaque, opaque));
  return bytes;
}

std::string untyped_value_info(std::string_view name) {
  std::string bytes;
  pbf_writer(bytes).add_string(onnx_field::value_info::kName, name.data(), name.size());
  return bytes;
}

std::string model_bytes(std::string_view graph, std::span<const OperatorSet> sets) {
  constexpr int64_t kIrVersion = 8;
  std::string model;
  pbf_writer writer(model);
  writer.add_int64(onnx_field::model::kIrVersion, kIrVersion);
  writer.add_message(onnx_field::model::kGraph, graph.data(), graph.size());
  for (const OperatorSet& set : sets) {
    std::string bytes;
    pbf_writer set_writer(bytes);
    set_writer.add_string(onnx_field::opset::kDomain, set.domain.data(), set.domain.size());
    set_writer.add_int64(onnx_field::opset::kVersion, set.version);
    writer.add_message(onnx_field::model::kOpsetImport, bytes);
  }
  return model;
}

}  // namespace tensortap
