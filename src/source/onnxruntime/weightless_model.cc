#include "source/onnxruntime/weightless_model.h"

#include "source/onnxruntime/node_writer.h"
#include "source/onnxruntime/onnx_fields.h"

namespace tensortap::onnxruntime {
namespace {

using protozero::pbf_reader;

std::string name_alone(std::string_view tensor) {
  std::string name;
  pbf_reader reader(field::view(tensor));
  while (reader.next(field::tensor::kName)) name = field::text(reader.get_view());
  std::string bytes;
  protozero::pbf_writer(bytes).add_string(field::tensor::kName, name);
  return bytes;
}

std::string graph_without_weights(std::string_view graph) {
  std::string bytes;
  pbf_reader reader(field::view(graph));
  field::RawField raw;
  while (field::next_raw(reader, raw)) {
    if (raw.tag == field::graph::kInitializer) {
      bytes += as_field(raw.tag, name_alone(raw.value));
    } else {
      bytes += raw.whole;
    }
  }
  return bytes;
}

}  // namespace

Result<std::string> without_weights(std::string_view bytes) {
  return field::guarded("the optimised model", [&]() -> Result<std::string> {
    std::string model;
    pbf_reader reader(field::view(bytes));
    field::RawField raw;
    while (field::next_raw(reader, raw)) {
      if (raw.tag == field::model::kGraph) {
        model += as_field(raw.tag, graph_without_weights(raw.value));
      } else {
        model += raw.whole;
      }
    }
    return model;
  });
}

}  // namespace tensortap::onnxruntime
