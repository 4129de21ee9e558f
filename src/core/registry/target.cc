#include <algorithm>
#include <climits>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "registry/registry.h"

namespace tensortap {
namespace {

template <class Rows>
std::vector<std::string> names_of(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(row.name);
  return names;
}

// The config that a spec was read from, for positions.
struct ConfigText {
  std::string_view text;
  std::string_view name;
};

// "name:line:column: key: what", as far as the position is known: only the native language has these keys.
Status wrong_key(const ConfigText& config, const std::string& section, const std::string& key, std::string_view what) {
  const std::string path = key.empty() ? section : concat(section, ".", key);
  const std::string problem = concat(path, ": ", what);
  if (config.name.empty()) return invalid_argument(problem);
  const Result<Json> json = parse_json(config.text, config.name);
  const bool written = json.ok() && json->is_object() && json->contains(section) &&
                       (key.empty() || ((*json)[section].is_object() && (*json)[section].contains(key)));
  if (!written) return invalid_argument(concat(config.name, ": ", problem));
  const std::string pointer = key.empty() ? concat("/", section) : concat("/", section, "/", key);
  return invalid_argument(concat(config.name, ":", json_position(config.text, pointer), ": ", problem));
}

Status check_option(const Layout& layout, const std::string& name, const std::string& value, const ConfigText& config) {
  const auto option = std::ranges::find(layout.options, name, &LayoutOption::name);
  if (option != layout.options.end()) {
    const Status status = option->check == nullptr ? Status() : option->check(value);
    return status.ok() ? Status() : wrong_key(config, "layout_options", name, status.message());
  }
  const std::vector<std::string> valid = names_of(layout.options);
  const std::string list = valid.empty() ? std::string("it has none") : concat("valid: ", join(valid, ", "));
  return wrong_key(config, "layout_options", name,
                   concat("unknown option of the layout ", quote(layout.name), "; ", list, ".", did_you_mean(name, valid)));
}

// An extra for which a layout has to write separate files.
struct ExtraKey {
  bool Extras::*asked;
  ExtraFile file;
  const char* name;
};
constexpr ExtraKey kExtraKeys[] = {{&Extras::graphs, ExtraFile::kGraphs, "graphs"},
                                   {&Extras::execution_order, ExtraFile::kExecutionOrder, "execution_order"},
                                   {&Extras::constants, ExtraFile::kConstants, "constants"},
                                   {&Extras::topology, ExtraFile::kTopology, "topology"}};

Status check_extras(const Layout& layout, const Extras& extras, const ConfigText& config) {
  std::vector<std::string> written;
  for (const ExtraKey& one : kExtraKeys) {
    if ((layout.extras & static_cast<uint8_t>(one.file)) != 0) written.emplace_back(one.name);
  }
  for (const ExtraKey& one : kExtraKeys) {
    if (!(extras.*one.asked) || std::ranges::find(written, one.name) != written.end()) continue;
    const std::string instead = written.empty() ? std::string("leave it out") : concat("it writes ", join(written, ", "));
    return wrong_key(config, "extras", one.name, concat("the layout ", quote(layout.name), " does not write this; ", instead));
  }
  return {};
}

Status check_profile(const Layout& layout, const std::string& profile, const ConfigText& config) {
  if (profile.empty()) return {};
  if (!layout.has_profiles)
    return wrong_key(config, "profile", "", concat("the layout ", quote(layout.name), " has no profiles; leave out ", quote(profile)));
  const Result<std::string> complete = complete_profile(profile);
  return complete.ok() ? Status() : wrong_key(config, "profile", "", complete.status().message());
}

// Longer ones are refused by the system, but only when the model is loaded and the dump begins.
Status check_out(const std::string& out, const ConfigText& config) {
  constexpr size_t kMostPathBytes = PATH_MAX - 2 * NAME_MAX;  // the names of the dump's own files come behind it
  if (out.size() > kMostPathBytes) {
    return wrong_key(config, "out", "", concat("a path of ", out.size(), " bytes, and a path has at most ", kMostPathBytes));
  }
  for (const std::string_view name : split(out, '/')) {
    if (name.size() > NAME_MAX)
      return wrong_key(config, "out", "", concat("a name of ", name.size(), " bytes, and a name has at most ", NAME_MAX));
  }
  return {};
}

}  // namespace

Status check_payload(const Layout& layout, const CaptureSpec& spec, std::string_view text, std::string_view name) {
  const bool measures = spec.payload == Payload::kStatistics || spec.payload == Payload::kFull;
  if (!measures || layout.keeps.stats != 0) return {};
  return wrong_key({text, name}, "payload", "", concat("the layout ", quote(layout.name), " keeps no statistics; use \"tensor\""));
}

Status check_target(const CaptureSpec& spec, std::string_view text, std::string_view name) {
  const ConfigText config{text, name};
  const Layout* layout = find_layout(spec.layout);
  if (layout == nullptr || layout->create == nullptr) {
    const std::vector<std::string> valid = written_layouts();
    const std::string problem = concat(layout == nullptr ? "unknown layout " : "dumps are read and not written in the layout ",
                                       quote(spec.layout), "; valid: ", join(valid, ", "), ".");
    return wrong_key(config, "layout", "", layout == nullptr ? problem + did_you_mean(spec.layout, valid) : problem);
  }
  for (const auto& [option, value] : spec.layout_options) TENSORTAP_RETURN_IF_ERROR(check_option(*layout, option, value, config));
  TENSORTAP_RETURN_IF_ERROR(check_payload(*layout, spec, text, name));
  TENSORTAP_RETURN_IF_ERROR(check_extras(*layout, spec.extras, config));
  if (spec.asks_for_sketch() && !layout->keeps.sketches)
    return wrong_key(config, "sketch", "",
                     concat("the layout ", quote(layout->name), " has no place for sketches; use \"tap\", or leave it out"));
  TENSORTAP_RETURN_IF_ERROR(check_out(spec.out, config));
  return check_profile(*layout, spec.profile, config);
}

void leave_layout(CaptureSpec& spec) {
  spec.profile.clear();
  spec.layout_options.clear();
  for (const ExtraKey& one : kExtraKeys) spec.extras.*one.asked = false;
}

}  // namespace tensortap
