#include "system/mindspore/config/dialect.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "plan/spec_keys.h"
#include "system/mindspore/config/iteration.h"
#include "system/mindspore/config/settings.h"
#include "system/mindspore/release.h"
#include "system/mindspore/statistics.h"
#include "tree/asynchronous_tree.h"

namespace tensortap::mindspore {
namespace {

constexpr uint64_t kSetDump = 2;

Payload payload_of(const Settings& settings) {
  if (settings.saved_data == "full") return Payload::kFull;
  return settings.saved_data == "statistic" ? Payload::kStatistics : Payload::kTensor;
}

Trigger trigger_of(const Settings& settings) {
  constexpr uint64_t kOverflowMode = 3;
  constexpr uint64_t kExceptionMode = 4;
  if (settings.op_debug_mode == kOverflowMode) return Trigger::kOverflow;
  if (settings.op_debug_mode == kExceptionMode) return Trigger::kException;
  return settings.dump_mode == kSetDump ? Trigger::kOnRequest : Trigger::kAlways;
}

void set_steps(const Settings& settings, CaptureSpec& spec) {
  Iterations iterations = parse_iteration(settings.iteration);
  const bool off = !(settings.e2e || settings.asynchronous);
  spec.steps = off ? StepSet::never() : std::move(iterations.steps);
  spec.first_step = static_cast<int64_t>(settings.initial_iteration);
  if (iterations.malformed == 0) return;
  spec.notes.push_back(concat("iteration ", quote(settings.iteration.substr(0, 80)), ": ", iterations.malformed,
                              iterations.malformed == 1 ? " part matches" : " parts match", " no iteration, as in MindSpore: ",
                              quote(iterations.first_malformed.substr(0, 80)), iterations.malformed == 1 ? "" : " and others"));
}

// One record has one digest, the first that was asked for; the writer of the layout computes the other one.
void set_statistics(const Settings& settings, CaptureSpec& spec) {
  if (spec.payload == Payload::kTensor) return;
  for (const std::string& item : settings.categories) {
    const Category* category = find_category(item);
    if (category == nullptr) continue;
    const StatisticColumn& column = *category->column;
    spec.stats |= column.needs;
    if (column.digest != DigestKind::kNone && spec.digest == "none") spec.digest = column.digest == DigestKind::kMd5 ? "md5" : "sha1";
  }
  // 0 would be all of them; this one is cheap.
  if (spec.stats == 0) stat_from_name("nan", spec.stats);
  spec.layout_options["statistic_category"] = join(settings.categories, ",");
}

void set_extras(const Settings& settings, CaptureSpec& spec) {
  spec.extras.weights = spec.outputs;
  spec.extras.graph_inputs = spec.outputs;
  spec.extras.graphs = true;
  spec.extras.execution_order = true;
  spec.extras.constants = true;
  spec.extras.attributes = settings.save_kernel_args;
}

void add_notes(const Settings& settings, CaptureSpec& spec) {
  spec.notes.insert(spec.notes.end(), settings.notes.begin(), settings.notes.end());
  spec.notes.insert(spec.notes.end(), settings.kernels.notes.begin(), settings.kernels.notes.end());
  if (settings.device_statistics) {
    spec.notes.emplace_back("stat_calc_mode \"device\": devices compute the statistics of tensors in their memory");
  } else if (settings.device_asked && settings.saved_data != "tensor") {
    spec.notes.emplace_back("stat_calc_mode \"device\": statistics are computed on the host, as MindSpore does here");
  }
}

// Statistics of DumpData files are tables of AscendCL's, which has fewer.
void set_dump_data_statistics(CaptureSpec& spec) {
  constexpr std::pair<std::string_view, std::string_view> kColumns[] = {
      {"max", "Max"},
      {"min", "Min"},
      {"avg", "Avg"},
      {"nan count", "Nan"},
      {"negative inf count", "Negative Inf"},
      {"positive inf count", "Positive Inf"},
      {"l2norm", "L2norm"},
  };
  const auto asked = spec.layout_options.extract("statistic_category");
  if (asked.empty()) return;
  std::vector<std::string> columns;
  std::vector<std::string> left_out;
  for (const std::string_view item : split(asked.mapped(), ',')) {
    const auto* const found = std::ranges::find(kColumns, item, [](const auto& column) { return column.first; });
    (found == std::end(kColumns) ? left_out : columns).emplace_back(found == std::end(kColumns) ? item : found->second);
  }
  if (!columns.empty()) spec.layout_options["stats_columns"] = join(columns, ",");
  if (left_out.empty()) return;
  spec.notes.push_back(concat("statistic_category: beside DumpData files (file_format \"bin\") there is no ", join(left_out, ", ")));
}

// Releases from 2.6 on write no such dump; theirs is that of the last one that did.
TreeForm asynchronous_form(const Release& release, GraphDump dumped) {
  if (release.since < std::array{2, 3, 0}) return TreeForm::kRank;
  if (dumped == GraphDump::kByGraphEngine) return TreeForm::kGe;
  if (release.since >= std::array{2, 4, 0}) return TreeForm::kStep;
  return dumped == GraphDump::kByAcl ? TreeForm::kOps : TreeForm::kGe;
}

// What the graph engine of an Ascend leaves: npy files are those of this layout in other folders, DumpData files AscendCL's.
void set_asynchronous_tree(const Settings& settings, const Profile& profile, CaptureSpec& spec) {
  const TreeForm form = asynchronous_form(*profile.release, settings.graph_dump);
  spec.layout_options["tree_form"] = tree_form_word(form);
  if (profile.release->since >= std::array{2, 6, 0}) {
    spec.notes.push_back(concat("without e2e_dump_settings an Ascend's dump is the graph engine's: MindSpore ", profile.release->name,
                                " leaves none any more, and the tree is that of 2.5"));
  }
  // The order of elements is that of the program in both: we have no device with another one.
  spec.plain_order = true;
  spec.extras.attributes = false;
  if (settings.npy && spec.trigger != Trigger::kException) {
    spec.extras.graphs = spec.extras.execution_order = form == TreeForm::kRank;
    spec.extras.constants = false;
    return;
  }
  spec.layout = "ge";
  spec.profile.clear();
  spec.layout_options.erase("config");
  spec.layout_options["scoped_names"] = "true";
  spec.layout_options["weights"] = "none";
  spec.extras = {.weights = spec.inputs, .read_inputs = true};
  set_dump_data_statistics(spec);
}

CaptureSpec to_spec(Settings settings, const Profile& profile, std::string_view text) {
  CaptureSpec spec;
  spec.dialect = "mindspore";
  spec.layout = "mindspore";
  spec.profile = profile_name(profile);
  spec.out = settings.path;
  add_notes(settings, spec);
  spec.include = std::move(settings.kernels.selectors);
  spec.inputs = settings.input_output != 2;
  spec.outputs = settings.input_output != 1;
  spec.payload = payload_of(settings);
  spec.non_finite = profile.release->config.non_finite;
  spec.trigger = trigger_of(settings);
  // MindSpore looks at what an op made, never at what it read.
  spec.overflow_ops = OverflowOps::kAll;
  spec.limits.max_triggers = settings.overflow_number;
  // A sample is a way to keep less; what the other modes look for may be anywhere in a tensor.
  if (settings.sample_mode == 1 && settings.op_debug_mode == 0) spec.sampling.head = settings.sample_num;
  set_steps(settings, spec);
  set_statistics(settings, spec);
  set_extras(settings, spec);
  if (settings.device_statistics) spec.device_stats = DeviceStats::kKernel;
  spec.devices = settings.devices;
  spec.layout_options["net_name"] = settings.net_name;
  spec.plain_order = settings.trans_flag;
  spec.layout_options["config"] = text;
  if (settings.asynchronous) set_asynchronous_tree(settings, profile, spec);
  return spec;
}

}  // namespace

bool recognise_config(std::string_view text) {
  const auto keys = json_keys(text);
  const auto is_section = [](const std::string& key) { return key == "common_dump_settings" || key == "e2e_dump_settings"; };
  return keys && std::ranges::any_of(*keys, is_section);
}

Result<CaptureSpec> parse_config(std::string_view text, std::string_view name, const DialectOptions& options) {
  TENSORTAP_ASSIGN_OR_RETURN(const Profile profile, parse_profile(options.profile));
  TENSORTAP_ASSIGN_OR_RETURN(Settings settings, read_settings(text, name, profile, options.strict));
  return to_spec(std::move(settings), profile, text);
}

Result<std::string> complete_profile(std::string_view profile) {
  TENSORTAP_ASSIGN_OR_RETURN(const Profile parsed, parse_profile(profile));
  return profile_name(parsed);
}

std::string full_capture(std::span<const std::string> ops, std::string_view folder) {
  Json kernels = Json::array();
  for (const std::string& op : ops) kernels.push_back(kernel_of_name(op));
  Json common = {{"op_debug_mode", 0}, {"dump_mode", 1}, {"path", folder}, {"net_name", "suspects"}};
  common.update(Json{{"iteration", "all"}, {"saved_data", "full"}, {"input_output", 0}, {"kernels", kernels}, {"support_device", {0}}});
  return to_json_text(Json{{"common_dump_settings", common}, {"e2e_dump_settings", {{"enable", true}, {"trans_flag", true}}}});
}

}  // namespace tensortap::mindspore
