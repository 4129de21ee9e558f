#include "cli/files/model_ops.h"

#include <filesystem>
#include <map>
#include <tuple>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "tensortap/onnxruntime.h"

namespace tensortap::cli {
namespace {

std::vector<std::string> texts_of(const Json& op, const char* key) {
  std::vector<std::string> texts;
  const auto list = op.find(key);
  if (list == op.end() || !list->is_array()) return texts;
  for (const Json& text : *list) texts.push_back(text.is_string() ? text.get<std::string>() : std::string());
  return texts;
}

std::string plain_text(const Json& op, const char* key) {
  const auto text = op.find(key);
  return text != op.end() && text->is_string() ? text->get<std::string>() : std::string();
}

OpInfo op_from_json(const Json& json) {
  OpInfo op;
  op.name = plain_text(json, "name");
  op.type = plain_text(json, "type");
  op.domain = plain_text(json, "domain");
  op.graph = plain_text(json, "graph");
  const auto types = texts_of(json, "original_types");
  for (std::string& name : texts_of(json, "originals")) {
    const size_t place = op.originals.size();
    op.originals.push_back({std::move(name), place < types.size() ? types[place] : std::string()});
  }
  const auto inserted = json.find("inserted");
  op.inserted_by_runtime = inserted != json.end() && *inserted == true;
  for (std::string& name : texts_of(json, "inputs")) op.inputs.push_back({std::move(name), kNoOp, 0});
  op.outputs = texts_of(json, "outputs");
  return op;
}

// Tells each input who makes it: an op of the same graph.
void link_producers(std::vector<OpInfo>& ops) {
  std::map<std::pair<std::string, std::string>, std::pair<OpId, uint32_t>> makers;
  for (OpId id = 0; id < ops.size(); ++id) {
    for (uint32_t slot = 0; slot < ops[id].outputs.size(); ++slot) {
      makers.try_emplace({ops[id].graph, ops[id].outputs[slot]}, std::pair(id, slot));
    }
  }
  for (OpInfo& op : ops) {
    for (OpInput& input : op.inputs) {
      const auto maker = makers.find({op.graph, input.name});
      if (maker != makers.end()) std::tie(input.producer, input.producer_slot) = maker->second;
    }
  }
}

}  // namespace

Result<ModelOps> ops_of_model(const std::string& model, const std::string& runtime, const std::vector<std::string>& custom_ops) {
  Json request = {{"model", model}};
  if (!runtime.empty()) request["runtime"] = runtime;
  if (!custom_ops.empty()) request["custom_ops"] = custom_ops;
  char* text = nullptr;
  const int code = tensortap_onnxruntime_describe(to_json_text(request).c_str(), &text);
  const std::string report = text == nullptr ? "{}" : text;
  tensortap_free(text);
  TENSORTAP_ASSIGN_OR_RETURN(const Json answer, parse_json(report, "the description of the model"));
  if (code != TENSORTAP_OK) {
    const std::string message = plain_text(answer, "error");
    return Status(static_cast<StatusCode>(code), message.empty() ? "the model cannot be described" : message);
  }
  ModelOps described;
  described.names.push_back(std::filesystem::path(model).stem().string());
  if (const std::string graph = plain_text(answer, "name"); !graph.empty()) described.names.push_back(graph);
  for (const Json& op : answer.value("ops", Json::array())) described.ops.push_back(op_from_json(op));
  link_producers(described.ops);
  return described;
}

}  // namespace tensortap::cli
