#include "plan/spec_checks.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "plan/spec_keys.h"
#include "tensor/tensor_sketch.h"

namespace tensortap {
namespace {

Status not_yet(std::string_view what, std::string_view instead) {
  return invalid_argument(concat("this release cannot do ", what, " yet; ", instead));
}

Status check_trigger(const CaptureSpec& spec) {
  if (spec.limits.ring_ops > 0 && spec.trigger == Trigger::kAlways && spec.where.empty()) {
    return invalid_argument(
        "\"limits\": \"ring_ops\" keeps the last ops until a trigger fires, and none can; give a \"trigger\" or a \"where\", or leave it "
        "out");
  }
  if (spec.trigger == Trigger::kWatch && !spec.outputs)
    return invalid_argument("the trigger \"watch\" looks at outputs, which are not chosen (\"slots\"); add \"out\"");
  if (spec.watchers.empty() || spec.trigger == Trigger::kWatch) return {};
  return invalid_argument(
      concat("\"watchers\" contradicts \"trigger\": ", quote(trigger_name(spec.trigger)), "; use \"watch\", or leave \"watchers\" out"));
}

Status check_kinds(const CaptureSpec& spec) {
  if (spec.model_ops || spec.single_ops) return {};
  return invalid_argument(
      "neither ops of models (\"model_ops\") nor single ones (\"single_ops\") are chosen, so nothing would be captured");
}

Status check_levels(const CaptureSpec& spec, const PlanEnvironment& environment) {
  for (const std::string& level : spec.levels) {
    const bool needs_modules = level == level_name(Level::kModule) || level == level_name(Level::kModel);
    if (needs_modules && !environment.modules) {
      return invalid_argument(concat("the level ", quote(level), " is not supported: this source reports no calls of modules; use \"op\", ",
                                     "\"kernel\" or \"api\""));
    }
  }
  return spec.levels.empty() ? invalid_argument("no level is chosen; use \"op\"") : Status();
}

Status check_target(const CaptureSpec& spec, const PlanEnvironment& environment) {
  if (!environment.layouts.empty() && std::ranges::find(environment.layouts, spec.layout) == environment.layouts.end()) {
    return not_yet(concat("the layout ", quote(spec.layout)), concat("it writes ", join(environment.layouts, ", ")));
  }
  if (spec.moment != MomentChoice::kAfter && !environment.before_moment) {
    return invalid_argument(concat("\"moment\": ", quote(moment_choice_name(spec.moment)),
                                   " is not supported: this source sees tensors only after an op has run"));
  }
  return {};
}

Status check_payload(const CaptureSpec& spec) {
  const bool statistics = spec.payload == Payload::kStatistics || spec.payload == Payload::kFull;
  if (!spec.inputs && !spec.outputs)
    return invalid_argument("neither inputs nor outputs are chosen (\"slots\"), so nothing would be captured");
  const std::string conflict = concat(" contradicts \"payload\": ", quote(payload_name(spec.payload)), ", which keeps no statistics; ",
                                      "use \"statistics\" or \"full\", or leave one of the two out");
  if (spec.stats != 0 && !statistics) return invalid_argument(concat("\"stats\"", conflict));
  if (spec.histogram && !statistics) return invalid_argument(concat("\"histogram\"", conflict));
  if (spec.asks_for_sketch() && !statistics) return invalid_argument(concat("\"sketch\"", conflict));
  return {};
}

Status check_sketch(const CaptureSpec& spec) {
  if (!spec.asks_for_sketch()) return {};
  if (spec.sketch_block != 0 && std::ranges::find(kSketchBlocks, spec.sketch_block) == kSketchBlocks.end())
    return invalid_argument(concat("\"sketch\": \"blocks\" must be 16, 32 or 128, not ", spec.sketch_block));
  if (spec.trigger == Trigger::kOverflow || spec.trigger == Trigger::kWatch)
    return invalid_argument(concat("\"sketch\" contradicts \"trigger\": ", quote(trigger_name(spec.trigger)),
                                   ", which holds records back before they are written; leave one of the two out"));
  if (spec.limits.ring_ops > 0)
    return invalid_argument("\"sketch\" contradicts \"limits\": \"ring_ops\", which holds records back; leave one of the two out");
  if (spec.sampling.elements > 0 || spec.sampling.head > 0)
    return invalid_argument("\"sketch\" contradicts \"sampling\": a sketch is of whole tensors; leave one of the two out");
  return {};
}

Status check_numbers(const CaptureSpec& spec) {
  if (!(spec.budget >= 0 && spec.budget <= 1)) return invalid_argument("the budget must be a share from 0 to 1 (100 %)");
  if (spec.steps.empty()) return invalid_argument("no step is chosen (\"steps\"), so nothing would be captured");
  if (spec.limits.stop_after == 0) return invalid_argument("\"stop_after\": 0 would capture nothing; give at least 1");
  return {};
}

// Configs are checked as they are read; a spec can also come from a program.
Status check_words(const CaptureSpec& spec) {
  if (std::ranges::find(kNonFiniteWords, spec.non_finite) == kNonFiniteWords.end()) {
    return invalid_argument(concat("non_finite: unknown policy ", quote(spec.non_finite), " (skip-nan, propagate, skip-nonfinite)"));
  }
  if (std::ranges::find(kDigestWords, spec.digest) == kDigestWords.end()) {
    return invalid_argument(concat("digest: unknown kind ", quote(spec.digest), " (none, xxh3, md5, sha1)"));
  }
  return {};
}

// The same thing asked for and left out.
Status check_exclusions(const CaptureSpec& spec) {
  const auto key = [](const OpSelector& selector) {
    return std::tuple(selector.kind, selector.text, selector.text_end, selector.of_types, selector.of_model);
  };
  std::map<decltype(key(OpSelector{})), const OpSelector*> asked;
  for (const OpSelector& selector : spec.include) asked.emplace(key(selector), &selector);
  for (const OpSelector& selector : spec.exclude) {
    const auto found = asked.find(key(selector));
    if (found == asked.end() || !selector.input_slots.empty() || !selector.output_slots.empty()) continue;
    return invalid_argument(
        concat(selector_text(*found->second), " is asked for, and ", selector_text(selector), " is left out; keep one of the two"));
  }
  return {};
}

}  // namespace

Status check_spec(const CaptureSpec& spec, const PlanEnvironment& environment) {
  TENSORTAP_RETURN_IF_ERROR(check_trigger(spec));
  TENSORTAP_RETURN_IF_ERROR(check_kinds(spec));
  TENSORTAP_RETURN_IF_ERROR(check_levels(spec, environment));
  TENSORTAP_RETURN_IF_ERROR(check_target(spec, environment));
  TENSORTAP_RETURN_IF_ERROR(check_payload(spec));
  TENSORTAP_RETURN_IF_ERROR(check_sketch(spec));
  TENSORTAP_RETURN_IF_ERROR(check_numbers(spec));
  TENSORTAP_RETURN_IF_ERROR(check_words(spec));
  return check_exclusions(spec);
}

void fit_to_source(CaptureSpec& spec, const PlanEnvironment& environment) {
  if (spec.dialect == CaptureSpec{}.dialect) return;
  const auto of_modules = [](const std::string& level) {
    return level == level_name(Level::kModule) || level == level_name(Level::kModel);
  };
  if (!environment.modules && !std::ranges::all_of(spec.levels, of_modules)) std::erase_if(spec.levels, of_modules);
  const bool also_before = spec.moment == MomentChoice::kInBeforeOutAfter || spec.moment == MomentChoice::kBoth;
  if (!environment.before_moment && also_before) spec.moment = MomentChoice::kAfter;
}

}  // namespace tensortap
