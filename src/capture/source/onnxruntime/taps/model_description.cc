#include "source/onnxruntime/taps/model_description.h"

#include "base/json.h"
#include "source/onnxruntime/runtime/element_types.h"

namespace tensortap::onnxruntime {

Json describe_value(const ValueInfo& info) {
  Json shape;
  if (info.has_shape) {
    shape = Json::array();
    for (const Dimension& dim : info.dims) {
      shape.push_back(dim.size >= 0 ? Json(dim.size) : dim.name.empty() ? Json() : Json(std::string(dim.name)));
    }
  }
  return {
      {"name", std::string(info.name)}, {"kind", to_text(info.kind)}, {"dtype", element_type(info.element_type).name}, {"shape", shape}};
}

Json describe_op(const OpEntry& entry) {
  Json op = {{"name", entry.name},
             {"type", std::string(entry.type)},
             {"graph", entry.graph},
             {"originals", entry.originals},
             {"original_types", entry.original_types}};
  Json inputs = Json::array();
  Json outputs = Json::array();
  if (entry.node != nullptr) {
    for (const auto input : entry.inputs) inputs.push_back(std::string(input));
    for (const auto output : entry.node->outputs) outputs.push_back(std::string(output));
    op["domain"] = std::string(entry.node->domain);
    op["inserted"] = entry.inserted;
  } else {
    outputs.push_back(std::string(entry.value));
  }
  op["inputs"] = std::move(inputs);
  op["outputs"] = std::move(outputs);
  return op;
}

Json describe_model(const PreparedModel& model) {
  Json description = {{"source", "onnxruntime " + model.library()->version()},
                      {"name", std::string(model.executed().graph.name)},
                      {"inputs", Json::array()},
                      {"outputs", Json::array()},
                      {"ops", Json::array()}};
  for (const ValueInfo& info : model.inputs()) description["inputs"].push_back(describe_value(info));
  for (const ValueInfo& info : model.executed().graph.outputs) description["outputs"].push_back(describe_value(info));
  for (const OpEntry& entry : model.ops().entries) description["ops"].push_back(describe_op(entry));
  return description;
}

}  // namespace tensortap::onnxruntime
