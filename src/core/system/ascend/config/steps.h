// The key `dump_step`: numbers and ranges joined by bars, such as "0|3-5|10".

#ifndef TENSORTAP_SYSTEM_ASCEND_CONFIG_STEPS_H_
#define TENSORTAP_SYSTEM_ASCEND_CONFIG_STEPS_H_

#include <string>
#include <string_view>

#include "plan/capture_spec.h"

namespace tensortap::ascend {

struct Steps {
  StepSet steps = StepSet::all();
  std::string problem;  // the fault and how to fix it, "" = none
};

// Empty text is every step.
Steps parse_steps(std::string_view text);

}  // namespace tensortap::ascend

#endif  // TENSORTAP_SYSTEM_ASCEND_CONFIG_STEPS_H_
