// What cannot be asked: contradictions inside a spec, and what this release cannot do yet. Private to this folder.

#ifndef TENSORTAP_PLAN_SPEC_CHECKS_H_
#define TENSORTAP_PLAN_SPEC_CHECKS_H_

#include "plan/capture_plan.h"

namespace tensortap {

// kInvalidArgument saying both sides of a contradiction, or what to do instead of what cannot be done.
Status check_spec(const CaptureSpec& spec, const PlanEnvironment& environment);

// Configs of other systems cannot name the source that they are for. Removes from such a spec what this source does not have: levels of
// modules beside other levels, and looks before an op if its inputs can still be seen afterwards.
void fit_to_source(CaptureSpec& spec, const PlanEnvironment& environment);

}  // namespace tensortap

#endif  // TENSORTAP_PLAN_SPEC_CHECKS_H_
