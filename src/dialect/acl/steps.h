// The key `dump_step`: numbers and ranges joined by bars, such as "0|3-5|10".

#ifndef TENSORTAP_DIALECT_ACL_STEPS_H_
#define TENSORTAP_DIALECT_ACL_STEPS_H_

#include <string>
#include <string_view>

#include "plan/capture_spec.h"

namespace tensortap::acl {

struct Steps {
  StepSet steps = StepSet::all();
  std::string problem;  // what is wrong and how to mend it, "" = nothing
};

// Empty text is every step.
Steps parse_steps(std::string_view text);

}  // namespace tensortap::acl

#endif  // TENSORTAP_DIALECT_ACL_STEPS_H_
