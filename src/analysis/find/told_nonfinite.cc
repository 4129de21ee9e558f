#include "find/told_nonfinite.h"

#include <algorithm>
#include <string>

#include "base/json.h"
#include "base/json_members.h"

namespace tensortap {

Json told_nonfinite(const DumpIndex& dump) {
  if (dump.completeness().state != DumpState::kIncomplete) return nullptr;
  const Json manifest = manifest_json(dump);
  const Json* told = member(manifest, "first_nonfinite");
  if (told == nullptr || !told->is_object()) return nullptr;
  const Json* step = member(*told, "step");
  const std::string op = text_in(*told, "op");
  const std::string slot = text_in(*told, "slot");
  if (step == nullptr || !step->is_number_integer() || op.empty()) return nullptr;
  const bool is_there = std::ranges::any_of(dump.rows(), [&](const RecordRow& row) {
    return row.step == step->get<int64_t>() && slot_name(static_cast<SlotKind>(row.slot_kind), row.slot_index) == slot &&
           op_of(dump, row).name == op;
  });
  if (is_there) return nullptr;
  Json json = {{"step", *step}, {"op", op}, {"type", text_in(*told, "type")}, {"slot", slot}};
  for (const char* key : {"nan", "pos_inf", "neg_inf"}) json[key] = count_in(*told, key);
  for (const char* key : {"index", "source"}) json[key] = member_or_null(*told, key);
  for (const char* key : {"module", "phase", "forward"}) json[key] = nullptr;
  json["told_by"] = "run.json";
  return json;
}

}  // namespace tensortap
