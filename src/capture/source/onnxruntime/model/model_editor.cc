#include "source/onnxruntime/model/model_editor.h"

#include "format/onnx_graph/node_writer.h"
#include "format/onnx_graph/onnx_fields.h"

namespace tensortap::onnxruntime {
namespace {

using protozero::pbf_reader;

// Copies a message field by field; `change` appends another field in the place of `raw` and returns true, or leaves it as it is.
template <class Change>
std::string copy_fields(std::string_view message, Change&& change) {
  std::string bytes;
  pbf_reader reader(onnx_field::view(message));
  onnx_field::RawField raw;
  while (onnx_field::next_raw(reader, raw)) {
    if (!change(raw, bytes)) bytes += raw.whole;
  }
  return bytes;
}

std::string_view name_of(std::string_view message, uint32_t name_tag) {
  std::string_view name;
  pbf_reader reader(onnx_field::view(message));
  while (reader.next(name_tag)) name = onnx_field::text(reader.get_view());
  return name;
}

// Reads only the keys of a node's attributes, so that the many nodes without nested graphs are copied whole.
bool has_nested_graph(std::string_view node) {
  pbf_reader attributes(onnx_field::view(node));
  while (attributes.next(onnx_field::node::kAttribute)) {
    pbf_reader reader(attributes.get_view());
    while (reader.next()) {
      if (reader.tag() == onnx_field::attribute::kGraph || reader.tag() == onnx_field::attribute::kGraphs) return true;
      reader.skip();
    }
  }
  return false;
}

class WeightCopier {
 public:
  explicit WeightCopier(const WeightEditor& edit) : edit_(edit) {}

  std::string graph(std::string_view bytes) {
    return copy_fields(bytes, [this](const onnx_field::RawField& raw, std::string& copy) {
      if (raw.tag == onnx_field::graph::kInitializer) return copy += as_field(raw.tag, weight(raw.value)), true;
      if (raw.tag != onnx_field::graph::kNode || !has_nested_graph(raw.value)) return false;
      return copy += as_field(raw.tag, node(raw.value)), true;
    });
  }

  [[nodiscard]] const Status& status() const { return status_; }

 private:
  std::string weight(std::string_view tensor) {
    if (!status_.ok()) return {};
    auto edited = edit_(tensor);
    if (edited.ok()) return *std::move(edited);
    status_ = edited.status();
    return {};
  }

  std::string node(std::string_view bytes) {
    return copy_fields(bytes, [this](const onnx_field::RawField& raw, std::string& copy) {
      if (raw.tag != onnx_field::node::kAttribute) return false;
      copy += as_field(raw.tag, attribute(raw.value));
      return true;
    });
  }

  std::string attribute(std::string_view bytes) {
    return copy_fields(bytes, [this](const onnx_field::RawField& raw, std::string& copy) {
      if (raw.tag != onnx_field::attribute::kGraph && raw.tag != onnx_field::attribute::kGraphs) return false;
      copy += as_field(raw.tag, graph(raw.value));
      return true;
    });
  }

  const WeightEditor& edit_;
  Status status_;
};

template <class EditGraph>
Result<std::string> edit_graph(std::string_view model, EditGraph&& edit) {
  return onnx_field::guarded("the optimised model", [&]() -> Result<std::string> {
    return copy_fields(model, [&](const onnx_field::RawField& raw, std::string& copy) {
      if (raw.tag != onnx_field::model::kGraph) return false;
      copy += as_field(raw.tag, edit(raw.value));
      return true;
    });
  });
}

}  // namespace

Result<std::string> edit_weights(std::string_view model, const WeightEditor& edit) {
  WeightCopier copier(edit);
  TENSORTAP_ASSIGN_OR_RETURN(std::string bytes, edit_graph(model, [&](std::string_view graph) { return copier.graph(graph); }));
  TENSORTAP_RETURN_IF_ERROR(copier.status());
  return bytes;
}

Result<std::string> without_weights(std::string_view model) {
  return edit_weights(model, [](std::string_view tensor) -> Result<std::string> {
    return copy_fields(tensor, [](const onnx_field::RawField& raw, std::string&) {
      return raw.tag != onnx_field::tensor::kName && raw.tag != onnx_field::tensor::kDims && raw.tag != onnx_field::tensor::kDataType;
    });
  });
}

Result<std::string> without_inputs(std::string_view model, const std::set<std::string_view>& names) {
  return edit_graph(model, [&](std::string_view graph) {
    return copy_fields(graph, [&](const onnx_field::RawField& raw, std::string&) {
      return raw.tag == onnx_field::graph::kInput && names.contains(name_of(raw.value, onnx_field::value_info::kName));
    });
  });
}

}  // namespace tensortap::onnxruntime
