#include "source/onnxruntime/model/node_attributes.h"

#include <cmath>

#include "base/json.h"
#include "base/utf8.h"
#include "format/onnx_graph/onnx_fields.h"

namespace tensortap::onnxruntime {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

constexpr size_t kMaxListed = 64;

struct Attribute {
  std::string name;
  Json value;                 // of a single number or text
  Json list = Json::array();  // of a repeated one
  size_t list_size = 0;
  const char* kind = nullptr;  // of what is not shown
  bool loses = false;          // a value that JSON does not hold as it is
};

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

Json number(double value, Attribute& attribute) {
  attribute.loses |= !std::isfinite(value);
  return json_number(value);
}

Json string(std::string_view value, Attribute& attribute) {
  attribute.loses |= !is_utf8(value);
  return std::string(value);
}

void add(Attribute& attribute, Json value) {
  if (attribute.list_size++ < kMaxListed) attribute.list.push_back(std::move(value));
}

void read_list(pbf_reader& reader, Attribute& attribute) {
  const bool packed = reader.wire_type() == pbf_wire_type::length_delimited;
  if (reader.tag() == onnx_field::attribute::kInts && packed) {
    for (const int64_t value : reader.get_packed_int64()) add(attribute, value);
  } else if (reader.tag() == onnx_field::attribute::kInts) {
    add(attribute, reader.get_int64());
  } else if (reader.tag() == onnx_field::attribute::kFloats && packed) {
    for (const float value : reader.get_packed_float()) add(attribute, number(static_cast<double>(value), attribute));
  } else if (reader.tag() == onnx_field::attribute::kFloats) {
    add(attribute, number(static_cast<double>(reader.get_float()), attribute));
  } else {
    add(attribute, string(onnx_field::text(reader.get_view()), attribute));
  }
}

void read_field(pbf_reader& reader, Attribute& attribute) {
  switch (reader.tag()) {
    case onnx_field::attribute::kName:
      attribute.name = onnx_field::text(reader.get_view());
      return;
    case onnx_field::attribute::kFloat:
      attribute.value = number(static_cast<double>(reader.get_float()), attribute);
      return;
    case onnx_field::attribute::kInt:
      attribute.value = reader.get_int64();
      return;
    case onnx_field::attribute::kString:
      attribute.value = string(onnx_field::text(reader.get_view()), attribute);
      return;
    case onnx_field::attribute::kFloats:
    case onnx_field::attribute::kInts:
    case onnx_field::attribute::kStrings:
      return read_list(reader, attribute);
    case onnx_field::attribute::kTensor:
      attribute.kind = "[tensor]";
      return reader.skip();
    case onnx_field::attribute::kGraph:
    case onnx_field::attribute::kGraphs:
      attribute.kind = "[graph]";
      return reader.skip();
    default:
      reader.skip();
  }
}

// What people see of it.
Json shown(Attribute& attribute) {
  if (attribute.list_size > kMaxListed) return concat("[", attribute.list_size, " values]");
  if (attribute.list_size > 0) return std::move(attribute.list);
  return attribute.kind != nullptr ? Json(attribute.kind) : std::move(attribute.value);
}

Json kept(std::string_view proto, Attribute& attribute, AttributeBytes& bytes) {
  // Without a value it is an empty list, or of a kind that is not shown: its bytes know which.
  const bool is_whole = !attribute.loses && attribute.list_size <= kMaxListed && (attribute.list_size > 0 || !attribute.value.is_null());
  Json text = shown(attribute);
  if (is_whole) return text;
  if (bytes.most < bytes.text.size() || bytes.most - bytes.text.size() < proto.size()) {
    ++bytes.left_out;
    return text;
  }
  const uint64_t offset = bytes.text.size();
  bytes.text += proto;
  return {{"ref", {offset, proto.size()}}, {"text", std::move(text)}};
}

}  // namespace

Json attributes_of(const Node& node, AttributeBytes* bytes) {
  Json object = Json::object();
  const Status read = onnx_field::guarded("a node", [&]() -> Status {
    pbf_reader reader(onnx_field::view(node.bytes));
    while (reader.next(onnx_field::node::kAttribute)) {
      Attribute attribute;
      const std::string_view proto = onnx_field::text(reader.get_view());
      pbf_reader inner(onnx_field::view(proto));
      while (inner.next()) read_field(inner, attribute);
      Json value = bytes == nullptr ? shown(attribute) : kept(proto, attribute, *bytes);
      object[attribute.name] = std::move(value);
    }
    return {};
  });
  return read.ok() ? object : Json::object();
}

std::string attributes_json(const Node& node) { return to_json_text(attributes_of(node)); }

}  // namespace tensortap::onnxruntime
