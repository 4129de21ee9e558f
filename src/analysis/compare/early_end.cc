#include "compare/early_end.h"

#include <algorithm>
#include <string>

#include "base/json.h"
#include "base/json_members.h"
#include "base/text.h"
#include "query/failed_op.h"

namespace tensortap {
namespace {

// Why no op is named; "" where the capture came to its end, as far as its manifest says.
std::string reason_of(const DumpIndex& dump, const Json& manifest) {
  if (const Json* crash = member(manifest, "crash"); crash != nullptr) return text_in(*crash, "text");
  // Only our own layout has a manifest without fail.
  const bool unknown = manifest.empty() && dump.layout() == "tap";
  const Json* complete = member(manifest, "complete");
  const bool cut = complete != nullptr && complete->is_boolean() && !complete->get<bool>();
  return unknown || cut ? "the capture did not come to its end" : "";
}

}  // namespace

Json early_end_json(const DumpIndex& dump) {
  const Json manifest = manifest_json(dump);
  const Json* failed = member(manifest, "failed_op");
  // A program that caught the exception went on.
  if (failed != nullptr && !ended_program(*failed)) failed = nullptr;
  const std::string error = failed != nullptr ? failure_reason(*failed) : reason_of(dump, manifest);
  if (error.empty()) return nullptr;
  Json json = {{"op", nullptr}, {"type", nullptr}, {"step", nullptr}, {"error", error}, {"last_op", nullptr}, {"last_step", nullptr}};
  if (failed != nullptr) {
    json["op"] = text_or_null(text_in(*failed, "name"));
    json["type"] = text_or_null(text_in(*failed, "type"));
    if (const Json* step = member(*failed, "step"); step != nullptr && step->is_number_integer()) json["step"] = *step;
  }
  const auto rows = dump.rows();
  const auto last = std::ranges::max_element(rows, {}, &RecordRow::sequence);
  if (last != rows.end()) {
    json["last_op"] = op_of(dump, *last).name;
    json["last_step"] = last->step;
  }
  return json;
}

std::string early_end_text(const Json& end) {
  const std::string error = text_in(end, "error");
  const Json* step = member(end, "step");
  if (const std::string op = text_in(end, "op"); !op.empty()) {
    const std::string when = step == nullptr || step->is_null() ? "" : concat(" in step ", step->dump());
    return concat("op ", op, " (", text_in(end, "type"), ") failed", when, ": ", error);
  }
  const std::string last = text_in(end, "last_op");
  return last.empty() ? error : concat(error, "; the last record is of ", last, " in step ", end.at("last_step").dump());
}

}  // namespace tensortap
