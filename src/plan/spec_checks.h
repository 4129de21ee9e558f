// What cannot be asked: contradictions inside a spec, and what this release cannot do yet. Private to this folder.

#ifndef TENSORTAP_PLAN_SPEC_CHECKS_H_
#define TENSORTAP_PLAN_SPEC_CHECKS_H_

#include "plan/capture_plan.h"

namespace tensortap {

// kInvalidArgument saying both sides of a contradiction, or what to do instead of what cannot be done.
Status check_spec(const CaptureSpec& spec, const PlanEnvironment& environment);

}  // namespace tensortap

#endif  // TENSORTAP_PLAN_SPEC_CHECKS_H_
