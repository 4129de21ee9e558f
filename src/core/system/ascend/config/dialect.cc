#include "system/ascend/config/dialect.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "plan/spec_keys.h"
#include "system/ascend/config/acl_settings.h"
#include "system/ascend/config/selectors.h"
#include "system/ascend/statistics.h"

namespace tensortap::ascend {
namespace {

ExceptionDetail detail_of(Scene scene) {
  if (scene == Scene::kDetail) return ExceptionDetail::kDetail;
  return scene == Scene::kNorm ? ExceptionDetail::kNorm : ExceptionDetail::kBrief;
}

std::string_view scene_name(const Settings& settings) {
  if (settings.overflow) return "overflow";
  if (settings.is_exception()) return "exception";
  return settings.scene == Scene::kWatcher ? "watcher" : "model";
}

void set_trigger(const Settings& settings, CaptureSpec& spec) {
  if (settings.overflow) spec.trigger = Trigger::kOverflow;
  if (settings.scene == Scene::kWatcher) spec.trigger = Trigger::kWatch;
  if (!settings.is_exception()) return;
  spec.trigger = Trigger::kException;
  spec.exception_detail = detail_of(settings.scene);
  spec.extras.attributes = spec.exception_detail != ExceptionDetail::kBrief;
}

void set_payload(const Settings& settings, CaptureSpec& spec) {
  const bool both = settings.overflow || settings.is_exception() || settings.mode == Mode::kAll;
  spec.inputs = both || settings.mode == Mode::kInput;
  spec.outputs = both || settings.mode == Mode::kOutput;
  spec.payload = Payload::kTensor;
  if (!settings.statistics || settings.is_exception()) return;
  spec.payload = Payload::kStatistics;
  std::vector<std::string> columns;
  for (const std::string_view column : settings.columns) {
    spec.stats |= stats_of_word(column);
    columns.emplace_back(column);
  }
  spec.layout_options["stats_columns"] = join(columns, ",");
}

// If the dump looks for something special, its default level is that of ops alone.
void set_levels(const Settings& settings, CaptureSpec& spec) {
  const bool special = settings.overflow || settings.scene != Scene::kNone;
  spec.levels.clear();
  if (settings.level != DumpLevel::kKernel) spec.levels.emplace_back("op");
  if (settings.level == DumpLevel::kOp || (special && settings.level == DumpLevel::kDefault)) return;
  spec.levels.emplace_back("kernel");
}

// Weights are inputs of ops and nothing else; inputs of the graph are ops, which come with those that read them.
void set_extras(const Settings& settings, CaptureSpec& spec) {
  const bool watches = settings.scene == Scene::kWatcher;
  spec.extras.weights = spec.inputs;
  spec.extras.graph_inputs = !watches;
  spec.extras.read_inputs = !watches;
}

CaptureSpec to_spec(Settings settings) {
  CaptureSpec spec;
  spec.dialect = "acl";
  spec.layout = "ge";
  spec.out = settings.out.empty() ? "." : settings.out;
  spec.notes = std::move(settings.notes);
  spec.layout_options["scene"] = scene_name(settings);
  spec.layout_options["weights"] = "none";
  spec.steps = settings.asks() ? settings.steps : StepSet::never();
  set_trigger(settings, spec);
  set_payload(settings, spec);
  set_levels(settings, spec);
  set_extras(settings, spec);
  if (settings.asks()) set_selectors(settings, spec);
  return spec;
}

}  // namespace

bool recognise_config(std::string_view text) {
  const auto keys = json_keys(text);
  return keys && std::ranges::find(*keys, "dump") != keys->end();
}

Result<CaptureSpec> parse_config(std::string_view text, std::string_view name, const DialectOptions& options) {
  TENSORTAP_ASSIGN_OR_RETURN(Settings settings, read_settings(text, name, options.at_start));
  return to_spec(std::move(settings));
}

std::string full_capture(std::span<const std::string> ops, std::string_view folder) {
  return to_json_text(
      Json{{"dump", {{"dump_path", folder}, {"dump_mode", "all"}, {"dump_list", Json::array({Json{{"layer", Json(ops)}}})}}}});
}

}  // namespace tensortap::ascend
