#include "source/atb/reported_graphs.h"

#include <algorithm>
#include <vector>

#include "base/json.h"
#include "base/text.h"

namespace tensortap::atb {
namespace {

constexpr size_t kLongestName = 4096;
constexpr uint64_t kMostNames = 100'000;  // of tensors in one graph

using Names = std::vector<std::string>;

std::string text_of(const Json& node, const char* key) {
  const auto found = node.find(key);
  return found != node.end() && found->is_string() ? found->get<std::string>() : std::string();
}

uint64_t number_of(const Json& node, const char* key) {
  const auto found = node.find(key);
  return found != node.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

// Files are called by it, and msit's readers take these characters.
Status check_name(std::string_view name) {
  const auto is_known = [](char c) { return is_letter_or_digit(c) || c == '_' || c == '-' || c == '.'; };
  if (!name.empty() && name.size() <= kLongestName && std::ranges::all_of(name, is_known)) return {};
  return invalid_argument(concat(quote(name.substr(0, 80)), " is no name of an operation; its topology is left out"));
}

// Writes one graph; counts the names it makes, since the numbers in it are whatever the caller says.
class Writer {
 public:
  // The names of a root operation's own tensors.
  Names own(const std::string& name, const char* kind, uint64_t count) {
    names_ += std::min(count, kMostNames);
    Names names;
    for (uint64_t i = 0; i < count && names_ < kMostNames; ++i) names.push_back(concat(name, "_", kind, "_", i));
    return names;
  }

  // A node whose inputs and outputs have these names, with the members that the file has.
  Json node(const Json& graph, const Names& inputs, const Names& outputs) {
    Json json = Json::object();
    for (const char* key : {"opName", "opType", "param"}) {
      if (const auto found = graph.find(key); found != graph.end()) json[key] = *found;
    }
    json["inTensors"] = inputs;
    json["outTensors"] = outputs;
    add_inside(graph, inputs, outputs, json);
    return json;
  }

  // What is inside of a node: its own tensors and nodes.
  void add_inside(const Json& graph, const Names& inputs, const Names& outputs, Json& json) {
    const Names internals = own(text_of(graph, "opName"), "internal", number_of(graph, "internalTensorNum"));
    if (!internals.empty()) json["internalTensors"] = internals;
    const auto nodes = graph.find("nodes");
    if (nodes == graph.end() || !nodes->is_array() || nodes->empty()) return;
    Names all = inputs;
    all.insert(all.end(), outputs.begin(), outputs.end());
    all.insert(all.end(), internals.begin(), internals.end());
    Json inside = Json::array();
    for (const Json& child : *nodes) {
      if (child.is_object()) inside.push_back(node(child, picked(child, "inTensorIds", all), picked(child, "outTensorIds", all)));
    }
    json["nodes"] = std::move(inside);
  }

  [[nodiscard]] bool is_too_large() const { return names_ >= kMostNames; }

 private:
  // The tensors that a child has by number among its parent's inputs, outputs and internal ones.
  Names picked(const Json& child, const char* key, const Names& all) {
    Names names;
    const auto ids = child.find(key);
    if (ids == child.end() || !ids->is_array()) return names;
    for (const Json& id : *ids) {
      if (!id.is_number_unsigned() || id.get<uint64_t>() >= all.size() || ++names_ >= kMostNames) break;
      names.push_back(all[id.get<uint64_t>()]);
    }
    return names;
  }

  uint64_t names_ = 0;
};

Names texts_of(const Json& node, const char* key) {
  Names texts;
  const auto found = node.find(key);
  if (found == node.end() || !found->is_array()) return texts;
  for (const Json& one : *found) texts.push_back(one.is_string() ? one.get<std::string>() : std::string());
  return texts;
}

Status too_large(std::string_view name) {
  return invalid_argument(concat("the graph of ", quote(name.substr(0, 80)), " has too many tensors; its topology is left out"));
}

}  // namespace

Result<std::string> ReportedGraphs::add_operation(std::string_view operation, std::string_view graph) {
  TENSORTAP_RETURN_IF_ERROR(check_name(operation));
  TENSORTAP_ASSIGN_OR_RETURN(const Json json, parse_json(graph, concat("the graph of ", operation)));
  const std::string name(operation);
  if (!json.is_object() || text_of(json, "opName") != name)
    return invalid_argument(concat("the graph of ", quote(operation), " has another name inside; its topology is left out"));
  Writer writer;
  const Json node = writer.node(json, writer.own(name, "input", number_of(json, "inTensorNum")),
                                writer.own(name, "output", number_of(json, "outTensorNum")));
  if (writer.is_too_large()) return too_large(operation);
  if (operations_.size() < kMostOperations) operations_.insert_or_assign(name, std::string(graph));
  return to_json_text(node);
}

Result<std::string> ReportedGraphs::add_model(std::string_view model, std::string_view graph) {
  TENSORTAP_RETURN_IF_ERROR(check_name(model));
  TENSORTAP_ASSIGN_OR_RETURN(Json json, parse_json(graph, concat("the graph of ", model)));
  const auto nodes = json.is_object() ? json.find("nodes") : json.end();
  if (nodes == json.end() || !nodes->is_array()) return invalid_argument(concat("the graph of ", quote(model), " has no nodes"));
  Writer writer;
  for (Json& node : *nodes) {
    if (!node.is_object()) continue;
    const std::string type = text_of(node, "opName");
    const std::string name = concat(type, "_", nodes_++);
    node["opName"] = name;
    node["opType"] = type;
    const auto added = operations_.find(name);
    if (added == operations_.end()) continue;
    const Result<Json> operation = parse_json(added->second, name);
    if (operation.ok()) writer.add_inside(*operation, texts_of(node, "inTensors"), texts_of(node, "outTensors"), node);
  }
  if (writer.is_too_large()) return too_large(model);
  return to_json_text(json);
}

}  // namespace tensortap::atb
