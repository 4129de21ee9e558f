#include "session/runtime_facts.h"

#include "base/json.h"
#include "base/text.h"

namespace tensortap {

Status RuntimeFacts::add(std::string_view name, std::string_view json) {
  if (name.empty() || json.size() > kLongest) return invalid_argument(concat("a fact has a name and at most ", kLongest, " bytes"));
  const auto value = parse_json(json, name);
  if (!value.ok()) return value.status();
  const std::lock_guard lock(mutex_);
  if (facts_.size() == kMost && facts_.find(name) == facts_.end()) return invalid_argument(concat("there are ", kMost, " facts already"));
  facts_.insert_or_assign(std::string(name), std::string(json));
  return {};
}

void RuntimeFacts::miss(const char* name, int64_t step) {
  const std::lock_guard lock(mutex_);
  facts_.try_emplace(name, std::to_string(step));
}

Json RuntimeFacts::to_json() const {
  Json json = Json::object();
  const std::lock_guard lock(mutex_);
  for (const auto& [name, text] : facts_) {
    const auto value = parse_json(text, name);
    if (value.ok()) json[name] = *value;
  }
  return json;
}

std::string RuntimeFacts::text(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = facts_.find(name);
  const auto value = found == facts_.end() ? Result<Json>(Json()) : parse_json(found->second, name);
  return value.ok() && value->is_string() ? value->get<std::string>() : std::string();
}

Result<std::string> arguments_line(OpId op, int64_t step, uint32_t call, std::string_view json) {
  const auto arguments = parse_json(json, "arguments");
  if (!arguments.ok()) return arguments.status();
  if (!arguments->is_object()) return invalid_argument("the arguments of a call are no JSON object");
  return concat(to_json_text({{"op", op}, {"step", step}, {"call", call}, {"arguments", *arguments}}), "\n");
}

}  // namespace tensortap
