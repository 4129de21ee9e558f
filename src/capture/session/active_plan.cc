#include "session/active_plan.h"

#include "plan/where.h"

namespace tensortap {
namespace {

// Elements from which on looking a content up costs less than measuring it, or than copying and writing it.
constexpr uint64_t kLeastSharedStatistics = 8192;
constexpr uint64_t kLeastSharedData = 256;

CaptureSpec completed(CaptureSpec spec, bool keeps_data) {
  // What statistics alone cannot show, a digest does.
  if (spec.trigger == Trigger::kWatch && !keeps_data && spec.digest == "none") spec.digest = "xxh3";
  return spec;
}

SketchOptions sketch_options(const CaptureSpec& spec) {
  const bool statistics = spec.payload == Payload::kStatistics || spec.payload == Payload::kFull;
  return statistics ? SketchOptions{spec.sketch_axis, spec.sketch_block} : SketchOptions{};
}

StatsOptions stats_options(const CaptureSpec& spec, const WhereExpression* where) {
  uint32_t wanted = kStatNonFinite | (where != nullptr ? where->needed_stats() : 0);
  if (spec.payload == Payload::kStatistics || spec.payload == Payload::kFull) wanted |= spec.stats == 0 ? kStatFull : spec.stats;
  StatsOptions options;
  options.wanted = wanted & kStatAll;
  options.policy = *policy_from_name(spec.non_finite);
  options.sample_limit = spec.sampling.elements;
  return options;
}

}  // namespace

bool keeps_tensors(const CaptureSpec& spec) { return spec.payload == Payload::kTensor || spec.payload == Payload::kFull; }

ActivePlan::ActivePlan(std::unique_ptr<CapturePlan> compiled, const LayoutParts& layout, bool content_known, uint32_t generation_number)
    : generation(generation_number),
      plan(std::move(compiled)),
      spec(completed(plan->spec(), keeps_tensors(plan->spec()) || layout.wants_values)),
      steps(spec.idle ? StepSet::never() : spec.steps),
      where(plan->where()),
      keeps_data(keeps_tensors(spec) || layout.wants_values),
      measures(spec.payload != Payload::kDescription || where != nullptr || spec.trigger == Trigger::kOverflow),
      failed_only(spec.trigger == Trigger::kException && spec.limits.ring_ops == 0),
      on_request(spec.trigger == Trigger::kOnRequest),
      writing_fires(spec.limits.ring_ops > 0 && (spec.trigger == Trigger::kAlways || spec.trigger == Trigger::kOnRequest)),
      stats(stats_options(spec, where)),
      sketch(sketch_options(spec)),
      digest(*digest_from_name(spec.digest)),
      shares_statistics(content_known),
      shares_data(content_known && keeps_data && spec.trigger != Trigger::kOverflow && layout.shared_data != nullptr),
      least_shared(shares_data ? kLeastSharedData : kLeastSharedStatistics) {}

}  // namespace tensortap
