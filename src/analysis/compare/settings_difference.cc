#include "compare/settings_difference.h"

#include <algorithm>
#include <map>

#include "base/json.h"
#include "base/json_members.h"
#include "base/text.h"

namespace tensortap {
namespace {

constexpr size_t kMostSettings = 1000;
constexpr size_t kMostOfValue = 60;
constexpr size_t kMostListedSettings = 4;
constexpr std::string_view kVariable = "environment.";  // variables that are not set are not listed
// Facts beside the settings that change numbers, too.
constexpr const char* kFacts[] = {"cpu_capability", "threads"};

using Settings = std::map<std::string, std::string>;

std::string value_text(const Json& value) {
  std::string text = value.is_string() ? value.get<std::string>() : to_json_text(value);
  if (text.size() > kMostOfValue) text = concat(text.substr(0, kMostOfValue), "...");
  return text;
}

// "highest, then high": the values of a setting in the order in which the capture saw them.
std::string history_text(const Json& values) {
  std::vector<std::string> texts;
  for (const Json& value : values) texts.push_back(value_text(value));
  return join(texts, ", then ");
}

struct Program {
  std::string runtime;  // "pytorch": settings of two runtimes are not the same ones
  bool tells_all = false;
  Settings settings;
};

void add_settings(const Json& runtime, Program& program) {
  const Json* told = member(runtime, "settings");
  program.tells_all = told != nullptr && told->is_object() && told->size() <= kMostSettings;
  if (!program.tells_all) return;
  const Json* changed = member(runtime, "settings_changed");
  for (const auto& [name, value] : told->items()) {
    const Json* history = changed == nullptr ? nullptr : member(*changed, name.c_str());
    program.settings[name] = history != nullptr && history->is_array() ? history_text(*history) : value_text(value);
  }
}

Program program_of(const DumpIndex& dump) {
  Program program;
  const Json manifest = manifest_json(dump);
  const std::string source = text_in(manifest, "source");
  program.runtime = source.substr(0, source.find(' '));
  const Json* runtime = member(manifest, "runtime");
  if (runtime == nullptr) return program;
  add_settings(*runtime, program);
  for (const char* name : kFacts) {
    if (const Json* fact = member(*runtime, name); fact != nullptr) program.settings.try_emplace(name, value_text(*fact));
  }
  return program;
}

}  // namespace

std::vector<SettingDifference> settings_difference(const DumpIndex& a, const DumpIndex& b) {
  Program of_a = program_of(a);
  Program of_b = program_of(b);
  std::vector<SettingDifference> differences;
  if (of_a.runtime != of_b.runtime) return differences;
  for (Program* program : {&of_a, &of_b}) {
    const Program& other = program == &of_a ? of_b : of_a;
    for (const auto& [name, value] : other.settings) {
      if (program->tells_all && name.starts_with(kVariable)) program->settings.try_emplace(name, "not set");
    }
  }
  for (const auto& [name, value] : of_a.settings) {
    const auto found = of_b.settings.find(name);
    if (found != of_b.settings.end() && found->second != value) differences.push_back({name, value, found->second});
  }
  return differences;
}

std::string settings_text(const std::vector<SettingDifference>& differences) {
  if (differences.empty()) return "";
  std::vector<std::string> parts;
  for (size_t i = 0; i < std::min(differences.size(), kMostListedSettings); ++i) {
    const SettingDifference& one = differences[i];
    parts.push_back(concat(one.name, " ", one.a, " in A, ", one.b, " in B"));
  }
  if (differences.size() > kMostListedSettings) parts.push_back(concat(differences.size() - kMostListedSettings, " more"));
  return concat("settings differ: ", join(parts, "; "));
}

Json settings_json(const std::vector<SettingDifference>& differences) {
  Json list = Json::array();
  for (const SettingDifference& one : differences) list.push_back({{"name", one.name}, {"a", one.a}, {"b", one.b}});
  return list;
}

}  // namespace tensortap
