// A spec in plain English, one sentence a line.

#include <algorithm>
#include <array>
#include <map>

#include "base/counted.h"
#include "base/text.h"
#include "plan/capture_plan.h"
#include "plan/selector_set.h"
#include "plan/spec_keys.h"
#include "tensor/statistics.h"

namespace tensortap {
namespace {

constexpr size_t kMostListed = 8;
constexpr std::string_view kLeftBehind[] = {"its name, type and the inputs it had",
                                            "its name, type, attributes and the inputs it had, with their types and shapes",
                                            "its name, type, attributes and the inputs it had, the registers and the call stack"};
constexpr size_t kLongestOption = 200;  // bytes of a layout option that are shown

std::string percent(double share) { return concat(static_cast<double>(static_cast<int64_t>(share * 1e6 + 0.5)) / 1e4, " %"); }

std::string list_selectors(const std::vector<OpSelector>& selectors) {
  std::vector<std::string> texts;
  for (const OpSelector& selector : selectors) {
    if (texts.size() == kMostListed) {
      texts.push_back(concat("and ", selectors.size() - kMostListed, " more"));
      break;
    }
    std::string text = selector_text(selector);
    std::vector<std::string> slots;
    for (const uint32_t slot : selector.input_slots) slots.push_back(concat("in", slot));
    for (const uint32_t slot : selector.output_slots) slots.push_back(concat("out", slot));
    if (!slots.empty()) text += concat(", only ", join(slots, ", "));
    texts.push_back(std::move(text));
  }
  return join(texts, "; ");
}

// Then the selection of ops, steps and form says nothing.
bool is_about_failures_alone(const CaptureSpec& spec) { return spec.trigger == Trigger::kException && spec.limits.ring_ops == 0; }

// Sizes as people ask for them: 2 GiB, 4 GB.
std::string size_text(uint64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  uint64_t count = bytes;
  for (; count >= 1024 && count % 1024 == 0 && unit + 1 < kUnits.size(); ++unit) count /= 1024;
  return unit == 0 || bytes % 1'000'000 == 0 ? bytes_text(bytes) : concat(count, " ", kUnits[unit]);
}

// Of which ops the trigger keeps what.
void say_selection(const CaptureSpec& spec, std::vector<std::string>& lines) {
  const bool always = spec.trigger == Trigger::kAlways;
  const std::string slots = spec.inputs && spec.outputs ? "inputs and outputs" : spec.inputs ? "inputs" : "outputs";
  if (spec.include.empty()) {
    lines.push_back(concat(always ? "Every op is captured: its " : "This holds for every op; kept are its ", slots, "."));
  } else if (always) {
    lines.push_back(concat("The ", slots, " of ops are captured that any of these picks: ", list_selectors(spec.include), "."));
  } else {
    lines.push_back(concat("This holds for ops that any of these picks: ", list_selectors(spec.include), ". Kept are their ", slots, "."));
  }
}

void say_what(const CaptureSpec& spec, std::vector<std::string>& lines) {
  if (spec.trigger == Trigger::kException)
    lines.push_back(
        concat("Nothing is captured unless an op fails; then ", kLeftBehind[static_cast<size_t>(spec.exception_detail)], " are."));
  if (is_about_failures_alone(spec)) return lines.push_back("This holds for every op in every step, whatever else is selected.");
  if (spec.trigger == Trigger::kWatch) {
    lines.push_back(concat("Who overwrites a tensor is looked for: after ",
                           spec.watchers.empty() ? "every op" : concat("each op that any of these picks: ", list_selectors(spec.watchers)),
                           ", the last outputs of the captured ops are looked at again."));
  }
  if (spec.trigger == Trigger::kOnRequest) lines.push_back("An op is captured only while the program asks for it.");
  if (spec.trigger == Trigger::kOverflow) {
    lines.push_back(concat("An op is captured only when one of its outputs holds NaN or Inf",
                           spec.overflow_ops == OverflowOps::kMakers ? " although none of its inputs does" : "",
                           "; the records of its inputs come with it."));
    if (spec.limits.max_triggers > 0) lines.push_back(concat("After ", spec.limits.max_triggers, " such ops no more are captured."));
  }
  say_selection(spec, lines);
  if (!spec.single_ops) lines.push_back("Only ops of models are captured, none that is called by itself.");
  if (!spec.model_ops) lines.push_back("Only ops that are called by themselves are captured, none of a model.");
  if (spec.levels != CaptureSpec{}.levels) lines.push_back(concat("Captured are the levels ", join(spec.levels, " and "), "."));
  if (!spec.exclude.empty()) lines.push_back(concat("Left out: ", list_selectors(spec.exclude), "."));
  if (spec.inputs) lines.push_back("An op's inputs are kept once, as the outputs of the ops that make them.");
  if (spec.extras.graph_inputs && spec.extras.weights && spec.include.empty()) {
    lines.push_back("Weights are captured once when the model is loaded, inputs of the whole graph once per step.");
  }
  if (spec.extras.read_inputs && !spec.include.empty())
    lines.push_back("Inputs of the whole graph come with the captured ops that read them.");
  if (!spec.extras.weights) lines.push_back("Weights are not captured, not as inputs of ops either.");
  if (!spec.extras.graph_inputs) lines.push_back("Inputs of the whole graph are not captured, not as inputs of ops either.");
}

std::string statistics_text(const CaptureSpec& spec) {
  std::vector<std::string> names;
  for (const Statistic& statistic : kStatisticTable) {
    if ((spec.stats & statistic.bit) != 0) names.emplace_back(statistic.name);
  }
  if (spec.stats == 0 || spec.stats == kStatFull) return "the usual statistics (min, max, mean, std, L2, absmax and seven counts)";
  return "the statistics " + join(names, ", ");
}

void say_form(const CaptureSpec& spec, std::vector<std::string>& lines) {
  if (is_about_failures_alone(spec)) return;
  const std::string always = "Of each tensor, dtype and shape are kept";
  const bool statistics = spec.payload == Payload::kStatistics || spec.payload == Payload::kFull;
  switch (spec.payload) {
    case Payload::kDescription:
      lines.push_back(always + ", nothing else.");
      break;
    case Payload::kStatistics:
      lines.push_back(concat(always, " with ", statistics_text(spec), "; its data is not."));
      break;
    case Payload::kTensor:
      lines.push_back(always + " with all of its data, without statistics.");
      break;
    case Payload::kFull:
      lines.push_back(concat(always, " with ", statistics_text(spec), " and all of its data."));
      break;
  }
  if (statistics) {
    if (spec.non_finite == "propagate") lines.push_back("One NaN in a tensor makes its min, max, mean, std, L2 and absmax NaN.");
    if (spec.non_finite == "skip-nan")
      lines.push_back("NaN is left out of min, max, mean, std, L2 and absmax, and counted; Inf takes part.");
    if (spec.non_finite == "skip-nonfinite")
      lines.push_back("NaN and Inf are left out of min, max, mean, std, L2 and absmax, and counted.");
    if (spec.sampling.head > 0)
      lines.push_back(
          concat("Statistics of a tensor of more than ", spec.sampling.head, " elements cover only its first ", spec.sampling.head, "."));
    if (spec.sampling.elements > 0)
      lines.push_back(concat("Statistics are taken from about ", spec.sampling.elements, " elements of each tensor, evenly spread."));
  }
  if (spec.sampling.head > 0)
    lines.push_back(concat("Tensors of more than ", spec.sampling.head, " elements are reduced to their first ", spec.sampling.head, "."));
  if (spec.histogram) lines.push_back("Values are also counted by binary exponent.");
  if (spec.sketch_axis) lines.push_back(concat("Sums are also kept of each channel along axis ", *spec.sketch_axis, "."));
  if (spec.sketch_block != 0)
    lines.push_back(concat("Blocks of ", spec.sketch_block, " elements are also counted by their largest magnitude."));
  if (spec.digest != "none") lines.push_back(concat("Each tensor's bytes are digested with ", spec.digest, "."));
  if (spec.device_stats == DeviceStats::kOff) lines.push_back("Tensors on devices such as GPUs are described, and never looked into.");
  if (spec.device_stats == DeviceStats::kWait) lines.push_back("The program waits for each copy of a tensor on a device.");
  if (spec.device_stats == DeviceStats::kHost) lines.push_back("Tensors on devices are copied as far as the program need not wait for it.");
  if (measures_there(spec.device_stats))
    lines.push_back("Statistics of tensors on devices are computed there; the program never waits for them.");
  if (!spec.where.empty()) lines.push_back(concat("A record is kept only if this holds for it: ", spec.where));
}

void say_when(const CaptureSpec& spec, std::vector<std::string>& lines) {
  if (!spec.devices.empty()) {
    std::vector<std::string> devices;
    for (const uint64_t device : spec.devices) devices.push_back(to_text(device));
    lines.push_back(concat("Only processes with the local rank ", join(devices, ", "), " are captured; a program by itself has 0."));
  }
  if (spec.idle) lines.push_back("Nothing is captured until `tensortap set` starts the capture; then:");
  if (is_about_failures_alone(spec)) return;
  const bool always = spec.trigger == Trigger::kAlways;
  if (spec.steps.is_never()) {
    lines.push_back("No step is captured: the config asks for none that can come.");
  } else if (spec.steps.is_all()) {
    lines.push_back(always ? "Every step is captured." : "This holds in every step.");
  } else {
    lines.push_back(
        concat(always ? "These steps are captured" : "This holds in these steps", ", counted from 0: ", spec.steps.to_text(), "."));
  }
  if (!spec.follow.path.empty()) {
    lines.push_back(concat("The config ", quote(spec.follow.path),
                           " is read again while the program runs; from the next step on it decides which ops and steps are captured."));
  }
  if (!spec.step_at.empty())
    lines.push_back(concat("A step begins with each call of a module whose path or class matches ", quote(spec.step_at), "."));
  if (spec.first_step > 0) lines.push_back(concat("The first step has the number ", spec.first_step, "."));
  if (spec.limits.stop_after > 0) lines.push_back(concat("After ", spec.limits.stop_after, " captured steps nothing more is captured."));
  if (spec.moment == MomentChoice::kBefore) lines.push_back("Tensors are looked at before the op runs.");
  if (spec.moment == MomentChoice::kInBeforeOutAfter) lines.push_back("Inputs are looked at before the op runs, outputs after it.");
  if (spec.moment == MomentChoice::kBoth) lines.push_back("Tensors are looked at before and after the op runs.");
}

void say_where_to(const CaptureSpec& spec, std::vector<std::string>& lines) {
  const std::string folder = spec.out.empty() ? "a new folder tensortap_dump/TIME" : concat("the folder ", quote(spec.out));
  lines.push_back(concat("The dump goes to ", folder, " in the layout ", quote(spec.layout), "."));
  if (!spec.profile.empty()) lines.push_back(concat("It follows the profile ", quote(spec.profile), "."));
  for (const auto& [name, value] : spec.layout_options) {
    const bool short_text = value.size() <= kLongestOption && value.find('\n') == std::string::npos;
    lines.push_back(concat("Option of the layout: ", name, " = ", short_text ? value : concat("a text of ", value.size(), " bytes"), "."));
  }
}

void say_limits(const CaptureSpec& spec, std::vector<std::string>& lines) {
  const Limits& limits = spec.limits;
  const std::string counted = " Everything left out is counted in run.json and reported at the end.";
  if (limits.max_bytes > 0) lines.push_back(concat("When the dump has ", size_text(limits.max_bytes), ", no more is written.", counted));
  if (limits.max_records > 0) lines.push_back(concat("After ", limits.max_records, " records no more are written.", counted));
  if (limits.ring_ops > 0) lines.push_back(concat("The tensors of the last ", limits.ring_ops, " ops come with what the trigger keeps."));
  const bool has_data = spec.payload == Payload::kTensor || spec.payload == Payload::kFull;
  const uint64_t kept_free = has_data ? limits.free_beside_data() : limits.free_beside_rows();
  if (kept_free > 0) lines.push_back(concat("When the disk has less than ", size_text(kept_free), " free, no more is written.", counted));
  if (has_data && !is_about_failures_alone(spec)) {
    const std::string full = concat("At most ", size_text(limits.pool_bytes), " of copies wait to be written; when that is full, ");
    if (spec.full_policy == FullPolicy::kBlock) lines.push_back(full + "the program waits for the disk.");
    if (spec.full_policy == FullPolicy::kStatsOnly)
      lines.push_back(full + "the record keeps its statistics and loses its data, which is counted.");
    if (spec.full_policy == FullPolicy::kDrop) lines.push_back(full + "the record is dropped, which is counted.");
  }
  if (spec.budget > 0) {
    lines.push_back(
        concat("The program may slow down by at most ", percent(spec.budget),
               ": to stay under it, only every k-th step is captured and the largest tensors are sampled; losses are counted."));
  }
  if (spec.access == Access::kShared)
    lines.push_back("The dump's folders and files are for whom the umask lets, not for their owner alone.");
  if (spec.strict) lines.push_back("It is a failure (exit code 1) when an op that was asked for was not captured.");
}

// What was not asked for by name.
void say_defaults(const CaptureSpec& spec, std::vector<std::string>& lines) {
  const CaptureSpec usual;
  std::vector<std::string> added;
  if (!is_about_failures_alone(spec)) {
    if (spec.include == usual.include) added.push_back("every op");
    if (spec.steps == usual.steps) added.push_back("every step");
    if (spec.inputs == usual.inputs && spec.outputs == usual.outputs) added.push_back("outputs only");
    if (spec.payload == usual.payload) added.push_back("statistics");
  }
  if (!spec.limits.keep_free) added.push_back("what is left free on the disk");
  if (!added.empty()) lines.push_back(concat("As without a config: ", join(added, ", "), "."));
}

void count(std::string_view key, std::map<std::string, size_t, std::less<>>& counts) {
  const auto found = counts.find(key);
  if (found != counts.end()) {
    ++found->second;
  } else {
    counts.emplace(key, 1);
  }
}

std::string types_text(const std::map<std::string, size_t, std::less<>>& counts) {
  std::vector<std::pair<std::string, size_t>> sorted(counts.begin(), counts.end());
  std::ranges::stable_sort(sorted, std::greater<>(), &std::pair<std::string, size_t>::second);
  std::vector<std::string> texts;
  for (const auto& [type, number] : sorted) {
    if (texts.size() == kMostListed) {
      texts.push_back(concat(sorted.size() - kMostListed, " more types"));
      break;
    }
    texts.push_back(concat(number, " ", type));
  }
  return join(texts, ", ");
}

}  // namespace

std::vector<std::string> explain(const CaptureSpec& spec) {
  std::vector<std::string> lines;
  say_what(spec, lines);
  say_when(spec, lines);
  say_form(spec, lines);
  say_where_to(spec, lines);
  say_limits(spec, lines);
  say_defaults(spec, lines);
  return lines;
}

std::vector<std::string> explain_match(std::span<const OpInfo> ops, std::span<const OpDecision> decisions) {
  size_t all = 0;
  size_t matched = 0;
  size_t for_consumers = 0;
  size_t inputs = 0;
  size_t weights = 0;
  std::map<std::string, size_t, std::less<>> types;
  std::vector<std::string> names;
  for (size_t i = 0; i < ops.size() && i < decisions.size(); ++i) {
    const OpDecision& decision = decisions[i];
    const bool pseudo = is_pseudo_op(ops[i]);
    if (!pseudo) ++all;
    if (!decision.wanted) continue;
    if (pseudo) {
      ++(ops[i].type == kInputType ? inputs : weights);
    } else if (decision.inputs || decision.outputs || decision.weights) {
      ++matched;
      count(ops[i].type, types);
      if (names.size() < kMostListed) names.push_back(quote(ops[i].name));
    } else {
      ++for_consumers;
    }
  }
  std::vector<std::string> lines = {
      concat(matched, " of the graph's ", all, " ops are captured", matched > 0 ? ": " : "", types_text(types), ".")};
  if (!names.empty()) lines.push_back(concat(matched > names.size() ? "The first are " : "They are ", join(names, ", "), "."));
  if (for_consumers > 0) lines.push_back(concat("Of ", for_consumers, " other ops outputs are kept because a captured op reads them."));
  if (inputs + weights > 0)
    lines.push_back(concat("Captured too: ", counted(inputs, "graph input"), " and ", counted(weights, "weight"), "."));
  return lines;
}

}  // namespace tensortap
