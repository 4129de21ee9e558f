// The option `dump_step`: numbers and ranges, such as "0|3-5|10".

#ifndef TENSORTAP_SYSTEM_TORCHAIR_CONFIG_DUMP_STEP_H_
#define TENSORTAP_SYSTEM_TORCHAIR_CONFIG_DUMP_STEP_H_

#include <string>
#include <string_view>

#include "plan/capture_spec.h"

namespace tensortap::torchair {

struct Steps {
  StepSet steps = StepSet::all();
  bool valid = true;
  std::string note;  // about ranges that select nothing, "" = none
};

// Takes what TorchAir takes, in linear time: parts between bars, an empty one at the end, each of numbers joined by single hyphens, of
// which those in the middle have two digits at least. Such a part is a range, the next two numbers another one, and so on: "10-20-30" is
// 10 to 20, and 30. Empty text is every step.
Steps parse_steps(std::string_view text);

}  // namespace tensortap::torchair

#endif  // TENSORTAP_SYSTEM_TORCHAIR_CONFIG_DUMP_STEP_H_
