#include "source/onnxruntime/model_editor.h"

#include "source/onnxruntime/node_writer.h"
#include "source/onnxruntime/onnx_fields.h"

namespace tensortap::onnxruntime {
namespace {

using protozero::pbf_reader;

// Copies a message field by field; `change` appends another field in the place of `raw` and returns true, or leaves it as it is.
template <class Change>
std::string copy_fields(std::string_view message, Change&& change) {
  std::string bytes;
  pbf_reader reader(field::view(message));
  field::RawField raw;
  while (field::next_raw(reader, raw)) {
    if (!change(raw, bytes)) bytes += raw.whole;
  }
  return bytes;
}

std::string_view name_of(std::string_view message, uint32_t name_tag) {
  std::string_view name;
  pbf_reader reader(field::view(message));
  while (reader.next(name_tag)) name = field::text(reader.get_view());
  return name;
}

// Reads only the keys of a node's attributes, so that the many nodes without nested graphs are copied whole.
bool has_nested_graph(std::string_view node) {
  pbf_reader attributes(field::view(node));
  while (attributes.next(field::node::kAttribute)) {
    pbf_reader reader(attributes.get_view());
    while (reader.next()) {
      if (reader.tag() == field::attribute::kGraph || reader.tag() == field::attribute::kGraphs) return true;
      reader.skip();
    }
  }
  return false;
}

class WeightCopier {
 public:
  explicit WeightCopier(const WeightEditor& edit) : edit_(edit) {}

  std::string graph(std::string_view bytes) {
    return copy_fields(bytes, [this](const field::RawField& raw, std::string& copy) {
      if (raw.tag == field::graph::kInitializer) return copy += as_field(raw.tag, weight(raw.value)), true;
      if (raw.tag != field::graph::kNode || !has_nested_graph(raw.value)) return false;
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
    return copy_fields(bytes, [this](const field::RawField& raw, std::string& copy) {
      if (raw.tag != field::node::kAttribute) return false;
      copy += as_field(raw.tag, attribute(raw.value));
      return true;
    });
  }

  std::string attribute(std::string_view bytes) {
    return copy_fields(bytes, [this](const field::RawField& raw, std::string& copy) {
      if (raw.tag != field::attribute::kGraph && raw.tag != field::attribute::kGraphs) return false;
      copy += as_field(raw.tag, graph(raw.value));
      return true;
    });
  }

  const WeightEditor& edit_;
  Status status_;
};

template <class EditGraph>
Result<std::string> edit_graph(std::string_view model, EditGraph&& edit) {
  return field::guarded("the optimised model", [&]() -> Result<std::string> {
    return copy_fields(model, [&](const field::RawField& raw, std::string& copy) {
      if (raw.tag != field::model::kGraph) return false;
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
    return copy_fields(tensor, [](const field::RawField& raw, std::string&) {
      return raw.tag != field::tensor::kName && raw.tag != field::tensor::kDims && raw.tag != field::tensor::kDataType;
    });
  });
}

Result<std::string> without_inputs(std::string_view model, const std::set<std::string_view>& names) {
  return edit_graph(model, [&](std::string_view graph) {
    return copy_fields(graph, [&](const field::RawField& raw, std::string&) {
      return raw.tag == field::graph::kInput && names.contains(name_of(raw.value, field::value_info::kName));
    });
  });
}

}  // namespace tensortap::onnxruntime
