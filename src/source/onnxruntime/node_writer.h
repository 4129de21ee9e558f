// Writes the few kinds of nodes that taps are made of, as protobuf.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_NODE_WRITER_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_NODE_WRITER_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tensortap::onnxruntime {

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
std::string graph_attribute(std::string_view name, std::string_view graph);
// ValueInfoProto bytes of a tensor; `dims` may hold -1 for dimensions that are not fixed.
std::string tensor_value_info(std::string_view name, int32_t element_type, const std::vector<int64_t>& dims);
// ValueInfoProto bytes with only a name.
std::string untyped_value_info(std::string_view name);

struct OperatorSet {
  std::string_view domain;
  int64_t version;
};
// ModelProto bytes around a GraphProto.
std::string model_bytes(std::string_view graph, std::span<const OperatorSet> sets);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_NODE_WRITER_H_
