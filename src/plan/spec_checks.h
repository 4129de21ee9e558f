// What cannot be asked: contradictions inside a spec, and what this release cannot do yet. Private to this folder.

#ifndef TENSORTAP_PLAN_SPEC_CHECKS_H_
#define TENSORTAP_PLAN_SPEC_CHECKS_H_

#include "plan/capture_plan.h"

namespace tensortap {

// kInvalidArgument saying both sides of a contradiction, or what to do instead of what cannot be done.
Status check_spec(const CaptureSpec& spec, const PlanEnvironment& environment);

// Configs of other systems can not say which source they are for: takes out of the spec of one what this source has nothing for, levels of
// modules beside others, and looks before an op where what it reads is still there afterwards.
void fit_to_source(CaptureSpec& spec, const PlanEnvironment& environment);

}  // namespace tensortap

#endif  // TENSORTAP_PLAN_SPEC_CHECKS_H_
