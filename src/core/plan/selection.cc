#include "plan/selection.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "plan/name_pattern.h"
#include "plan/spec_keys.h"
#include "plan/where.h"
#include "tensor/tensor.h"
#include "tensor/tensor_sketch.h"

namespace tensortap {
namespace {

Status wrong(std::string_view option, std::string_view what) { return invalid_argument(concat(option, ": ", what)); }

Status split_list(std::string_view option, const std::vector<std::string>& texts, std::vector<std::string>& parts) {
  for (const std::string& text : texts) {
    for (const std::string_view part : split(text, ',')) {
      if (trim(part).empty()) return wrong(option, concat(quote(text), " has an empty part; write names with single commas between them"));
      parts.emplace_back(trim(part));
    }
  }
  return {};
}

// --modules, and --types among their ops.
Status read_modules(const CaptureOptions& options, const std::vector<std::string>& types, CaptureSpec& spec) {
  if (!options.ops.empty()) {
    return wrong("--modules",
                 "exclude --ops: in a PyTorch program the names of ops begin with their module, as in --ops \"layers.3/softmax\"");
  }
  std::vector<std::string> modules;
  TENSORTAP_RETURN_IF_ERROR(split_list("--modules", options.modules, modules));
  for (const std::string& module : modules) {
    OpSelector selector;
    selector.kind = OpSelector::Kind::kModule;
    selector.text = module;
    selector.of_types = types;
    selector.origin = "--modules";
    spec.include.push_back(std::move(selector));
  }
  return {};
}

// --ops and --types each narrow the selection, as steps and slots do.
Status read_ops(const CaptureOptions& options, CaptureSpec& spec) {
  if (options.ops.empty() && options.types.empty() && options.modules.empty()) return {};
  std::vector<std::string> types;
  TENSORTAP_RETURN_IF_ERROR(split_list("--types", options.types, types));
  spec.include.clear();
  if (!options.modules.empty()) return read_modules(options, types, spec);
  for (const std::string& text : options.ops) {
    if (text.empty()) return wrong("--ops", "the regular expression is empty; leave the option out for every op");
    OpSelector selector;
    selector.kind = OpSelector::Kind::kNameRegex;
    selector.text = text;
    selector.of_types = types;
    selector.origin = "--ops";
    spec.include.push_back(std::move(selector));
  }
  if (!options.ops.empty()) return {};
  for (const std::string& type : types) {
    OpSelector selector;
    selector.kind = OpSelector::Kind::kType;
    selector.text = type;
    selector.origin = "--types";
    spec.include.push_back(std::move(selector));
  }
  return {};
}

Status read_steps(const CaptureOptions& options, CaptureSpec& spec) {
  if (!options.steps) return {};
  const Result<StepSet> steps = StepSet::parse(*options.steps);
  if (!steps.ok()) return steps.status().with_context("--steps");
  spec.steps = *steps;
  return {};
}

Status read_step_at(const CaptureOptions& options, CaptureSpec& spec) {
  if (!options.step_at) return {};
  if (options.step_at->empty())
    return wrong("--step-at", "the regular expression is empty; leave the option out for the program's own steps");
  if (const auto pattern = NamePattern::compile(*options.step_at); !pattern.ok()) return pattern.status().with_context("--step-at");
  spec.step_at = *options.step_at;
  return {};
}

constexpr Level kChoosableLevels[] = {Level::kOp, Level::kKernel, Level::kApi, Level::kModule, Level::kModel};

Status read_levels(const CaptureOptions& options, CaptureSpec& spec) {
  if (options.levels.empty()) return {};
  std::vector<std::string> levels;
  TENSORTAP_RETURN_IF_ERROR(split_list("--levels", options.levels, levels));
  for (const std::string& level : levels) {
    if (std::ranges::none_of(kChoosableLevels, [&](Level known) { return level == level_name(known); }))
      return wrong("--levels", concat(quote(level), " is not a level; write op, kernel, api, module, model or several, such as op,kernel"));
  }
  spec.levels = std::move(levels);
  return {};
}

Status read_slots(const CaptureOptions& options, CaptureSpec& spec) {
  if (!options.slots) return {};
  std::vector<std::string> slots;
  TENSORTAP_RETURN_IF_ERROR(split_list("--slots", {*options.slots}, slots));
  spec.inputs = false;
  spec.outputs = false;
  for (const std::string& slot : slots) {
    if (slot != "in" && slot != "out") return wrong("--slots", concat(quote(slot), " is not a slot; write in, out or in,out"));
    (slot == "in" ? spec.inputs : spec.outputs) = true;
  }
  return {};
}

Status read_where(const CaptureOptions& options, CaptureSpec& spec) {
  if (!options.where) return {};
  const auto parsed = WhereExpression::parse(*options.where);
  if (!parsed.ok()) return parsed.status().with_context("--where");
  spec.where = *options.where;
  return {};
}

Status read_payload(const CaptureOptions& options, CaptureSpec& spec) {
  struct Flag {
    bool given;
    std::string_view name;
    Payload payload;
  };
  const Flag flags[] = {{options.stats, "--stats", Payload::kStatistics},
                        {options.tensors, "--tensors", Payload::kTensor},
                        {options.full, "--full", Payload::kFull},
                        {options.describe, "--describe", Payload::kDescription}};
  const Flag* chosen = nullptr;
  for (const Flag& flag : flags) {
    if (!flag.given) continue;
    if (chosen != nullptr) {
      return invalid_argument(concat(chosen->name, " and ", flag.name, " exclude each other; --full keeps statistics and tensors both"));
    }
    chosen = &flag;
  }
  if (chosen != nullptr) spec.payload = chosen->payload;
  return {};
}

Status read_statistics(const CaptureOptions& options, CaptureSpec& spec) {
  std::vector<std::string> names;
  TENSORTAP_RETURN_IF_ERROR(split_list("--statistics", options.statistics, names));
  if (!names.empty()) spec.stats = 0;
  for (const std::string& name : names) {
    if (!stat_from_name(name, spec.stats)) return wrong("--statistics", no_statistic_text(name));
  }
  if (!names.empty() && (spec.payload == Payload::kTensor || spec.payload == Payload::kDescription)) {
    return wrong("--statistics", "needs --stats or --full: nothing is computed otherwise");
  }
  return {};
}

Status read_sketch(const CaptureOptions& options, CaptureSpec& spec) {
  if (options.channels) {
    int64_t axis = 0;
    if (!parse_integer(trim(*options.channels), axis) || axis < -kMaxRank || axis >= kMaxRank) {
      return wrong("--channels", concat(quote(*options.channels), " is not an axis; write a number from ", -kMaxRank, " to ", kMaxRank - 1,
                                        ", such as 1, or -1 for the last one"));
    }
    spec.sketch_axis = static_cast<int32_t>(axis);
  }
  if (!options.blocks) return {};
  uint64_t block = 0;
  if (!parse_unsigned(trim(*options.blocks), block) || std::ranges::find(kSketchBlocks, block) == kSketchBlocks.end())
    return wrong("--blocks", concat(quote(*options.blocks), " is not a size of blocks; write 16, 32 or 128"));
  spec.sketch_block = static_cast<uint32_t>(block);
  return {};
}

Status read_budget(const CaptureOptions& options, CaptureSpec& spec) {
  if (!options.budget) return {};
  std::string_view text = trim(*options.budget);
  const bool percent = text.ends_with('%');
  if (percent) text = trim(text.substr(0, text.size() - 1));
  double share = 0;
  if (!parse_number(text, share)) return wrong("--budget", concat(quote(*options.budget), " is not a share; write one such as 3%"));
  if (percent) share /= 100;
  if (!percent && share >= 1)
    return wrong("--budget", concat(quote(*options.budget), " is not a share below 1; write ", text, "% or 0.03"));
  if (!(share > 0 && share <= 1)) {
    return wrong("--budget", concat(quote(*options.budget), " is out of range; write more than 0% and at most 100%, such as 3%"));
  }
  spec.budget = share;
  return {};
}

Status read_bytes(std::string_view option, const std::optional<std::string>& text, uint64_t least, uint64_t& target) {
  if (!text) return {};
  uint64_t bytes = 0;
  if (!parse_bytes(*text, bytes))
    return wrong(option, concat(quote(*text), " is not a number of bytes; write one such as 4GiB, 100MB or 123456"));
  if (bytes < least) return wrong(option, concat(quote(*text), " would capture nothing; leave the option out for no limit"));
  target = bytes;
  return {};
}

Status read_limits(const CaptureOptions& options, CaptureSpec& spec) {
  TENSORTAP_RETURN_IF_ERROR(read_bytes("--max-bytes", options.max_bytes, 1, spec.limits.max_bytes));
  if (options.keep_free) TENSORTAP_RETURN_IF_ERROR(read_bytes("--keep-free", options.keep_free, 0, spec.limits.keep_free.emplace()));
  if (!options.stop_after) return {};
  int64_t steps = 0;
  if (!parse_integer(trim(*options.stop_after), steps) || steps < 1) {
    return wrong("--stop-after", concat(quote(*options.stop_after), " is not a number of steps from 1 on"));
  }
  spec.limits.stop_after = steps;
  return {};
}

Status read_texts(const CaptureOptions& options, CaptureSpec& spec) {
  struct Text {
    std::string_view option;
    const std::optional<std::string>* given;
    std::string* target;
  };
  const Text texts[] = {
      {"--layout", &options.layout, &spec.layout}, {"--profile", &options.profile, &spec.profile}, {"--out", &options.out, &spec.out}};
  for (const Text& text : texts) {
    if (!*text.given) continue;
    if ((*text.given)->empty()) return wrong(text.option, "the text is empty; leave the option out for the default");
    *text.target = **text.given;
  }
  return {};
}

Status read_mode(const CaptureOptions& options, CaptureSpec& spec) {
  if (options.mode.empty()) return {};
  const auto word = std::ranges::find(kAccessWords, options.mode);
  if (word == kAccessWords.end()) return wrong("--mode", concat(quote(options.mode), " is not a mode; write private or shared"));
  spec.access = static_cast<Access>(word - kAccessWords.begin());
  return {};
}

Status read_device_stats(const CaptureOptions& options, CaptureSpec& spec) {
  if (options.device_stats.empty()) return {};
  const auto word = std::ranges::find(kDeviceStatsWords, options.device_stats);
  if (word == kDeviceStatsWords.end()) {
    return wrong("--device-stats",
                 concat(quote(options.device_stats), " is no way to look at devices; write auto, host, kernel, operators, wait or off"));
  }
  spec.device_stats = static_cast<DeviceStats>(word - kDeviceStatsWords.begin());
  return {};
}

}  // namespace

Result<CaptureSpec> spec_from_options(const CaptureOptions& options) {
  CaptureSpec spec = options.config.value_or(CaptureSpec());
  TENSORTAP_RETURN_IF_ERROR(read_ops(options, spec));
  TENSORTAP_RETURN_IF_ERROR(read_steps(options, spec));
  TENSORTAP_RETURN_IF_ERROR(read_step_at(options, spec));
  TENSORTAP_RETURN_IF_ERROR(read_slots(options, spec));
  TENSORTAP_RETURN_IF_ERROR(read_levels(options, spec));
  TENSORTAP_RETURN_IF_ERROR(read_where(options, spec));
  TENSORTAP_RETURN_IF_ERROR(read_payload(options, spec));
  TENSORTAP_RETURN_IF_ERROR(read_statistics(options, spec));
  TENSORTAP_RETURN_IF_ERROR(read_sketch(options, spec));
  TENSORTAP_RETURN_IF_ERROR(read_budget(options, spec));
  TENSORTAP_RETURN_IF_ERROR(read_limits(options, spec));
  TENSORTAP_RETURN_IF_ERROR(read_texts(options, spec));
  TENSORTAP_RETURN_IF_ERROR(read_mode(options, spec));
  TENSORTAP_RETURN_IF_ERROR(read_device_stats(options, spec));
  spec.strict = spec.strict || options.strict;
  return spec;
}

}  // namespace tensortap
