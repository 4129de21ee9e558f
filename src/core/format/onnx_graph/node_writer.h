// Writes nodes, values and models of ONNX, as protobuf.

#ifndef TENSORTAP_FORMAT_ONNX_GRAPH_NODE_WRITER_H_
#define TENSORTAP_FORMAT_ONNX_GRAPH_NODE_WRITER_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tensortap {

struct NodeText {
  std::string_view type;
  std::string name;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> attributes = {};  // AttributeProto bytes
  std::string_view domain = {};
};

// NodeProto bytes.
std::string node_bytes(const NodeText& node);
// `message` as field `tag` of an outer message.
std::string as_field(uint32_t tag, std::string_view message);
// AttributeProto bytes.
std::string int_attribute(std::string_view name, int64_t value);
std::string float_attribute(std::string_view name, float value);
std::string text_attribute(std::string_view name, std::string_view value);
std::string ints_attribute(std::string_view name, std::span<const int64_t> values);
std::string floats_attribute(std::string_view name, std::span<const float> values);
std::string texts_attribute(std::string_view name, std::span<const std::string> values);
std::string graph_attribute(std::string_view name, std::string_view graph);
// ValueInfoProto bytes of a tensor; `dims` may hold -1 for dimensions that are not fixed.
std::string tensor_value_info(std::string_view name, int32_t element_type, const std::vector<int64_t>& dims);
// ValueInfoProto bytes of a value of a type that is not known: checkers want some type, and an opaque one claims nothing.
std::string opaque_value_info(std::string_view name, std::string_view domain, std::string_view type);
// ValueInfoProto bytes with only a name.
std::string untyped_value_info(std::string_view name);

struct OperatorSet {
  std::string_view domain;
  int64_t version;
};
// ModelProto bytes around a GraphProto.
std::string model_bytes(std::string_view graph, std::span<const OperatorSet> sets);

}  // namespace tensortap

#endif  // TENSORTAP_FORMAT_ONNX_GRAPH_NODE_WRITER_H_
