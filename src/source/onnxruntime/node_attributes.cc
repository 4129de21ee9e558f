#include "source/onnxruntime/node_attributes.h"

#include "base/json.h"
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
};

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
    for (const float value : reader.get_packed_float()) add(attribute, json_number(static_cast<double>(value)));
  } else if (reader.tag() == onnx_field::attribute::kFloats) {
    add(attribute, json_number(static_cast<double>(reader.get_float())));
  } else {
    add(attribute, std::string(onnx_field::text(reader.get_view())));
  }
}

void read_field(pbf_reader& reader, Attribute& attribute) {
  switch (reader.tag()) {
    case onnx_field::attribute::kName:
      attribute.name = onnx_field::text(reader.get_view());
      return;
    case onnx_field::attribute::kFloat:
      attribute.value = json_number(static_cast<double>(reader.get_float()));
      return;
    case onnx_field::attribute::kInt:
      attribute.value = reader.get_int64();
      return;
    case onnx_field::attribute::kString:
      attribute.value = std::string(onnx_field::text(reader.get_view()));
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

}  // namespace

Json attributes_of(const Node& node) {
  Json object = Json::object();
  const Status read = onnx_field::guarded("a node", [&]() -> Status {
    pbf_reader reader(onnx_field::view(node.bytes));
    while (reader.next(onnx_field::node::kAttribute)) {
      Attribute attribute;
      pbf_reader inner = reader.get_message();
      while (inner.next()) read_field(inner, attribute);
      if (attribute.list_size > kMaxListed) {
        object[attribute.name] = concat("[", attribute.list_size, " values]");
      } else if (attribute.list_size > 0) {
        object[attribute.name] = std::move(attribute.list);
      } else if (attribute.kind != nullptr) {
        object[attribute.name] = attribute.kind;
      } else {
        object[attribute.name] = std::move(attribute.value);
      }
    }
    return {};
  });
  return read.ok() ? object : Json::object();
}

std::string attributes_json(const Node& node) { return to_json_text(attributes_of(node)); }

}  // namespace tensortap::onnxruntime
