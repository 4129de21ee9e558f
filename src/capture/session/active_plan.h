// ActivePlan: a plan and what follows from it and from the layout, worked out once.

#ifndef TENSORTAP_SESSION_ACTIVE_PLAN_H_
#define TENSORTAP_SESSION_ACTIVE_PLAN_H_

#include <cstdint>
#include <memory>

#include "layout/layout.h"
#include "plan/capture_plan.h"
#include "stats/digest.h"
#include "stats/sketch.h"
#include "stats/stats.h"

namespace tensortap {

// Whether the spec asks for the elements of tensors.
bool keeps_tensors(const CaptureSpec& spec);

// Immutable, except for what CapturePlan counts while it decides (under the session's registration lock). A session that replaces its plan
// has several, numbered by generation from 0; none goes before the session does.
class ActivePlan {
 public:
  // `content_known`: whether equal storage and version mean equal bytes, and there is a cache that may use it.
  ActivePlan(std::unique_ptr<CapturePlan> compiled, const LayoutParts& layout, bool content_known, uint32_t generation_number);
  ActivePlan(const ActivePlan&) = delete;
  ActivePlan& operator=(const ActivePlan&) = delete;

  const uint32_t generation;
  const std::unique_ptr<CapturePlan> plan;
  const CaptureSpec spec;              // with the defaults that depend on the layout
  const StepSet steps;                 // that are captured: none while it is idle
  const WhereExpression* const where;  // null when there is none
  const bool keeps_data;
  const bool measures;
  const bool failed_only;  // nothing but ops that fail is captured
  const bool on_request;
  const bool writing_fires;  // a record that is written fires the ring
  const StatsOptions stats;
  const SketchOptions sketch;
  const DigestKind digest;
  const bool shares_statistics;  // of equal contents
  const bool shares_data;
  const uint64_t least_shared;  // elements of a tensor that is worth looking up
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_ACTIVE_PLAN_H_
