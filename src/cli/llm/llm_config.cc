#include "cli/llm/llm_config.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/llm/llm_checks.h"
#include "registry/registry.h"

namespace tensortap::cli {
namespace {

constexpr const char* kDialect = "msit";
constexpr const char* kTime = "time";  // option of a layout whose dumps are called after their time
constexpr const char* kName = "the command line";
// What a config file leaves to the command line.
constexpr std::array<const char*, 4> kTexts = {"opname", "time", "stp", "output"};
constexpr std::array<const char*, 3> kFlags = {"sd", "tiling", "symlink"};
// What it takes from it.
constexpr std::array<const char*, 4> kReplaced = {"ids", "child", "er", "device"};

void add_words(const LlmWords& words, Json& config) {
  for (const char* key : kTexts) {
    if (words.has(key)) config[key] = words.text(key);
  }
  for (const char* key : kFlags) {
    if (words.has(key)) config[key] = "true";
  }
  if (const auto types = words.given.find("type"); types != words.given.end()) config["type"] = join(types->second, ",");
}

// Says where a selection was made as a person typed it: keys have the names of options.
void name_options(CaptureSpec& spec) {
  for (OpSelector& selector : spec.include) {
    const bool by_type = selector.kind == OpSelector::Kind::kOperationType;
    selector.origin = by_type ? "-opname" : selector.kind == OpSelector::Kind::kId ? "-ids" : "-child";
  }
  for (std::string& note : spec.notes) {
    const size_t key = note.find(": ");
    if (key != std::string::npos) note = concat("-", note.substr(key + 2));
  }
}

Result<CaptureSpec> spec_of_words(const LlmWords& words) {
  Json config = {{"dump_enable", "true"}};
  add_words(words, config);
  for (const char* key : kReplaced) {
    if (words.has(key)) config[key] = words.text(key);
  }
  TENSORTAP_ASSIGN_OR_RETURN(CaptureSpec spec, read_config(to_json_text(config), kName, kDialect));
  name_options(spec);
  return spec;
}

// Positions are those of the file, so that it is read by itself first.
Result<CaptureSpec> spec_of_file(const LlmWords& words) {
  const std::string path = words.text("config");
  TENSORTAP_ASSIGN_OR_RETURN(const std::string text, read_llm_config(path));
  TENSORTAP_ASSIGN_OR_RETURN(CaptureSpec alone, read_config(text, path, kDialect));
  std::vector<std::string> repeated;
  TENSORTAP_ASSIGN_OR_RETURN(Json config, parse_json(text, path, repeated));
  Json over = Json::object();
  add_words(words, over);
  // There a config asks for tensors, whatever -type says.
  if (words.has("type")) over["type"] = concat(over["type"].get<std::string>(), ",tensor");
  config.update(over);
  TENSORTAP_ASSIGN_OR_RETURN(CaptureSpec spec, read_config(to_json_text(config), path, kDialect));
  spec.follow = {std::filesystem::absolute(path).string(), to_json_text(over)};
  spec.notes = std::move(alone.notes);
  for (const char* key : kReplaced) {
    if (words.has(key)) spec.notes.push_back(concat("-", key, " has no effect beside -config, as in msit: the file says it"));
  }
  return spec;
}

}  // namespace

Result<CaptureSpec> llm_spec(const LlmWords& words, const std::string& output, const std::string& timestamp) {
  TENSORTAP_ASSIGN_OR_RETURN(CaptureSpec spec, words.has("config") ? spec_of_file(words) : spec_of_words(words));
  const std::span<const LayoutOption> options = find_layout(spec.layout)->options;
  const bool names_dump = std::ranges::find(options, kTime, &LayoutOption::name) != options.end();
  if (names_dump) spec.layout_options[kTime] = timestamp;
  spec.out = names_dump ? output : join_path(output, concat("msit_dump_", timestamp));
  spec.access = Access::kShared;
  spec.strict = words.has("strict");
  return spec;
}

}  // namespace tensortap::cli
