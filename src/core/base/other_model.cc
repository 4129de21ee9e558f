#include "base/other_model.h"

#include <algorithm>

#include "base/json_members.h"
#include "base/text.h"

namespace tensortap {
std::string other_model_text(const OtherModel& other) {
  std::vector<std::string> names;
  for (const std::string& name : other.running) {
    // A model may be called like its graph.
    if (std::ranges::find(names, quote(name)) == names.end()) names.push_back(quote(name));
  }
  const std::string runs = names.empty() ? "no running model has a name" : concat("names of running models: ", join(names, ", "));
  return concat("the model ", quote(other.name), other.origin.empty() ? "" : concat(" (", other.origin, ")"), " does not run; ", runs, ".",
                did_you_mean(other.name, other.running));
}

Json other_model_json(const OtherModel& other) {
  return {{"name", other.name}, {"origin", other.origin}, {"running", other.running}, {"text", other_model_text(other)}};
}

Json other_models_in_both(const Json& one, const Json& two) {
  Json both = Json::array();
  if (!one.is_array() || !two.is_array()) return both;
  for (const Json& model : one) {
    OtherModel other{text_in(model, "name"), text_in(model, "origin"), strings_in(model, "running")};
    const auto same = std::ranges::find_if(two, [&](const Json& entry) { return text_in(entry, "name") == other.name; });
    if (other.name.empty() || same == two.end()) continue;
    for (std::string& name : strings_in(*same, "running")) {
      if (std::ranges::find(other.running, name) == other.running.end()) other.running.push_back(std::move(name));
    }
    both.push_back(other_model_json(other));
  }
  return both;
}

}  // namespace tensortap
