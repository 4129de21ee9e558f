#include "serve/op_answers.h"

#include <algorithm>
#include <optional>

#include "base/json.h"
#include "base/json_members.h"
#include "graph/graph_model.h"

namespace tensortap {
namespace {

Json forward_json(const ServedDump& dump, const OpInfo& op) {
  const std::string name = attribute_text(op, kForwardOp);
  if (name.empty()) return nullptr;
  const std::optional<OpId> found = dump.op_named(name);
  if (!found) return {{"op", name}, {"op_id", nullptr}, {"module", nullptr}, {"source", nullptr}};
  const OpInfo& forward = dump.index().ops()[*found];
  return {{"op", name}, {"op_id", *found}, {"module", text_or_null(forward.module)}, {"source", text_or_null(forward.source_location)}};
}

Json steps_json(const ServedDump& dump, std::span<const uint32_t> rows) {
  std::vector<int64_t> steps;
  for (const uint32_t row : rows) {
    const RecordRow& record = dump.rows()[row];
    if (record.phase != static_cast<uint8_t>(Phase::kLoad)) steps.push_back(record.step);
  }
  if (steps.empty()) return nullptr;
  std::ranges::sort(steps);
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return {{"first", steps.front()}, {"last", steps.back()}, {"count", steps.size()}};
}

}  // namespace

Result<Answer> ops_answer(const AskedDump& asked) {
  TENSORTAP_RETURN_IF_ERROR(asked.request.check_names({"dump", "type"}));
  const std::string type = asked.request.text("type");
  const auto all = asked.dump.index().ops();
  std::vector<OpId> ops;
  for (OpId id = 0; id < all.size(); ++id) {
    if (all[id].type == type) ops.push_back(id);
  }
  return json_answer({{"type", type}, {"ops", ops}});
}

Result<Answer> op_answer(const AskedDump& asked, const std::string& number) {
  TENSORTAP_RETURN_IF_ERROR(asked.request.check_names({"dump"}));
  const ServedDump& dump = asked.dump;
  TENSORTAP_ASSIGN_OR_RETURN(const OpId id, parse_op(dump, number));
  const OpInfo& op = dump.index().ops()[id];
  const auto rows = dump.rows_of(id);
  Json json;
  json["op_id"] = id;
  json["name"] = op.name;
  json["type"] = op.type;
  json["module"] = text_or_null(op.module);
  json["graph"] = text_or_null(op.graph);
  json["attributes"] = text_or_null(op.attributes);
  json["phase"] = rows.empty() ? Json(nullptr) : Json(phase_name(static_cast<Phase>(dump.rows()[rows.front()].phase)));
  json["source"] = text_or_null(op.source_location);
  json["source_lines"] = dump.source_lines(op);
  json["captured"] = !rows.empty();
  json["reason"] = dump.graph().reason(id);
  json["forward"] = forward_json(dump, op);
  json["originals"] = Json::array();
  for (const OriginalNode& node : op.originals) json["originals"].push_back({{"name", node.name}, {"type", node.type}});
  json["inserted_by_runtime"] = op.inserted_by_runtime;
  json["steps"] = steps_json(dump, rows);
  json["records"] = rows.size();
  return json_answer(json);
}

}  // namespace tensortap
