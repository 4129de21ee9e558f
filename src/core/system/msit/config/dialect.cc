#include "system/msit/config/dialect.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "plan/spec_reader.h"
#include "system/msit/config/dump_settings.h"
#include "tensor/tensor_stats.h"

namespace tensortap::msit {
namespace {

constexpr std::string_view kSwitch = "dump_enable";
constexpr size_t kMostRepeated = 10;

constexpr std::array kKeys = {
    ConfigKey{"", kSwitch, "text", "\"true\", \"false\"", "\"false\"", "Whether anything is captured."},
    ConfigKey{"", "ids", "text", "numbers joined by _, several by commas", "\"\"",
              "Ids of the operations to keep, such as 2,3_1; empty = all, unless `opname` names some."},
    ConfigKey{"", "child", "text", "\"true\", \"false\"", "\"true\"",
              "Whether the operations inside those of `ids` are kept, too; without `ids`, whether more than root operations are kept."},
    ConfigKey{"", "er", "text", "pairs of numbers joined by commas, \"all\", \"none\"", "\"0,0\"",
              "Rounds to keep, the first and the last of each range."},
    ConfigKey{"", "device", "text", "numbers joined by commas", "\"\"",
              "Numbers of the devices whose processes are captured; empty = all."},
    ConfigKey{"", "opname", "text", "words joined by commas", "\"\"",
              "Beginnings of types of operations to keep, besides those of `ids`; upper and lower case alike."},
    ConfigKey{"", "time", "text", "\"0\", \"1\", \"2\", \"3\"", "\"3\"",
              "When tensors are looked at: before (0), after (1), both (2), inputs before and outputs after (3)."},
    ConfigKey{"", "stp", "text", "\"0\", \"1\", \"2\"", "\"2\"", "Which tensors are kept: inputs (0), outputs (1) or both (2)."},
    ConfigKey{"", "sd", "text", "\"true\", \"false\"", "\"false\"", "Whether only type and shape of a tensor are kept."},
    ConfigKey{"", "tiling", "text", "\"true\", \"false\"", "\"false\"", "Whether each kernel has a file that tells how it was launched."},
    ConfigKey{"", "symlink", "text", "\"true\", \"false\"", "\"false\"",
              "Whether a tensor that already exists in the dump becomes a link to it."},
    ConfigKey{
        "", "type", "text", "words joined by commas", "\"tensor,model\"",
        "What is written: tensor; with it stats: statistics instead of data; op, kernel: tables; layer, model: topology; onnx: that as "
        "ONNX models; cpu_profiling: times."},
    ConfigKey{"", "output", "text", "a folder", "\"\"", "Where the dump goes; empty = as without a config."},
};

// Of neither ids nor types everything is kept, or what is at the root of the tree.
std::vector<OpSelector> selectors_of(Settings& settings) {
  std::vector<OpSelector> selectors = std::move(settings.ids);
  selectors.insert(selectors.end(), std::make_move_iterator(settings.types.begin()), std::make_move_iterator(settings.types.end()));
  if (!selectors.empty() || settings.children) return selectors;
  OpSelector roots;
  roots.kind = OpSelector::Kind::kEvery;
  roots.text = "root";
  roots.optional = true;
  roots.origin = "child";
  return {std::move(roots)};
}

// When only times are asked for, the session sees the operations but looks at none of their tensors.
std::vector<OpSelector> exclusions_of(const Settings& settings) {
  if (settings.writes_tensors()) return {};
  OpSelector every;
  every.kind = OpSelector::Kind::kEvery;
  every.optional = true;
  every.origin = "type";
  every.text = "op";
  return {std::move(every)};
}

Payload payload_of(const Settings& settings) {
  if (!settings.has(DumpType::kTensor)) return Payload::kDescription;
  if (settings.has(DumpType::kStats)) return Payload::kStatistics;
  return settings.description ? Payload::kDescription : Payload::kTensor;
}

std::string tables_of(const Settings& settings) {
  std::vector<std::string> tables;
  for (const DumpType type : {DumpType::kOp, DumpType::kKernel}) {
    if (settings.has(type)) tables.emplace_back(kDumpTypes[static_cast<size_t>(type)]);
  }
  return join(tables, ",");
}

// The real system describes root operations for either word.
std::string topology_of(const Settings& settings) {
  if (settings.has(DumpType::kModel)) return "layer,model";
  return settings.has(DumpType::kLayer) ? "layer" : "";
}

CaptureSpec to_spec(Settings settings) {
  constexpr MomentChoice kMoments[] = {MomentChoice::kBefore, MomentChoice::kAfter, MomentChoice::kBoth, MomentChoice::kInBeforeOutAfter};
  CaptureSpec spec;
  spec.dialect = "msit";
  spec.layout = "msit";
  if (settings.links) spec.layout_options["links"] = "true";
  if (const std::string tables = tables_of(settings); !tables.empty()) spec.layout_options["tables"] = tables;
  if (const std::string topology = topology_of(settings); !topology.empty()) spec.layout_options["topology"] = topology;
  if (settings.has(DumpType::kCpuProfiling)) spec.layout_options["times"] = "true";
  if (settings.has(DumpType::kOnnx)) spec.layout_options["onnx"] = "true";
  if (settings.tiling) spec.layout_options["tiling"] = "true";
  if (settings.tiling && !settings.has(DumpType::kKernel)) spec.layout_options["kernels"] = "false";
  if (!settings.has(DumpType::kTensor)) spec.layout_options["tensors"] = "false";
  spec.payload = payload_of(settings);
  if (spec.payload == Payload::kStatistics) spec.stats = kStatMin | kStatMax | kStatMean | kStatL2;
  spec.include = selectors_of(settings);
  if (settings.writes()) spec.exclude = exclusions_of(settings);
  spec.steps = settings.enabled && settings.writes() ? std::move(settings.rounds) : StepSet::never();
  spec.devices = std::move(settings.devices);
  const bool tensors = settings.has(DumpType::kTensor);
  spec.inputs = settings.slots != 1 || !tensors;
  spec.outputs = settings.slots != 0 || !tensors;
  spec.moment = kMoments[settings.time];
  spec.levels = {"op", "module"};
  if (settings.tiling || settings.has(DumpType::kKernel)) spec.levels.emplace_back("kernel");
  spec.out = std::move(settings.out);
  spec.notes = std::move(settings.notes);
  // Weights and inputs of a graph come with the operations that read them.
  spec.extras.weights = spec.inputs;
  spec.extras.graph_inputs = true;
  spec.extras.read_inputs = true;
  return spec;
}

}  // namespace

std::span<const ConfigKey> keys() { return kKeys; }

bool recognise_config(std::string_view text) {
  const auto keys = json_keys(text);
  return keys && std::ranges::find(*keys, kSwitch) != keys->end();
}

Result<CaptureSpec> parse_config(std::string_view text, std::string_view name, const DialectOptions& /*options*/) {
  std::vector<std::string> repeated;
  TENSORTAP_ASSIGN_OR_RETURN(const Json json, parse_json(text, name, repeated));
  const SpecValue config(json, text, name);
  if (!json.is_object()) return config.wrong_type("an object");
  Settings settings;
  for (const std::string& key : repeated) {
    if (settings.notes.size() < kMostRepeated)
      settings.notes.push_back(concat(name, ": the key ", quote(key), " appears twice; the last one counts"));
  }
  TENSORTAP_RETURN_IF_ERROR(read_settings(config, settings));
  return to_spec(std::move(settings));
}

}  // namespace tensortap::msit
