#include "graph/missing_reasons.h"

#include "base/json.h"
#include "base/text.h"

namespace tensortap {
namespace {

constexpr std::array<std::string_view, 3> kKinds = {"ops", "graph_inputs", "weights"};  // keys of run.json
constexpr std::string_view kUnknown = "not captured";
constexpr std::string_view kNotWanted = "not asked for";

const Json* member(const Json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::string text_of(const Json& object, std::string_view key) {
  const Json* value = member(object, key);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

}  // namespace

MissingReasons::MissingReasons(std::string_view manifest) {
  usual_.fill(std::string(kUnknown));
  const Result<Json> run = parse_json(manifest, "run.json");
  if (!run.ok()) return;
  for (size_t kind = 0; kind < kKinds.size(); ++kind) {
    const Json* coverage = member(*run, kKinds[kind]);
    if (coverage == nullptr) continue;
    std::vector<std::string> reasons;
    const Json* lists = member(*coverage, "not_captured");
    for (const Json& list : lists != nullptr && lists->is_array() ? *lists : Json::array()) {
      const std::string reason = text_of(list, "reason");
      if (reason.empty()) continue;
      reasons.push_back(reason);
      const Json* examples = member(list, "examples");
      for (const Json& example : examples != nullptr && examples->is_array() ? *examples : Json::array()) {
        if (example.is_string()) named_.emplace(example.get<std::string>(), reason);
      }
    }
    const Json* not_wanted = member(*coverage, "not_wanted");
    if (not_wanted != nullptr && *not_wanted != Json(0)) reasons.emplace_back(kNotWanted);
    if (!reasons.empty()) usual_[kind] = join(reasons, ", or ");
  }
}

size_t MissingReasons::kind_of(const OpInfo& op) {
  if (op.type == kInputType) return 1;
  return op.type == kInitializerType ? 2 : 0;
}

std::string_view MissingReasons::reason(const OpInfo& op) const {
  const auto found = named_.find(op.name);
  return found == named_.end() ? std::string_view(usual_[kind_of(op)]) : std::string_view(found->second);
}

}  // namespace tensortap
