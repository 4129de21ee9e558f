// The key `iteration`: "all", or numbers and ranges joined by bars, such as "0|5-8|100".

#ifndef TENSORTAP_SYSTEM_MINDSPORE_CONFIG_ITERATION_H_
#define TENSORTAP_SYSTEM_MINDSPORE_CONFIG_ITERATION_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "plan/capture_spec.h"

namespace tensortap::mindspore {

// Whether MindSpore takes the text: "all", or digits, '-' and '|' in any order, at least one.
bool is_iteration(std::string_view text);

struct Iterations {
  StepSet steps;         // StepSet::never() when no part of the text can be matched
  size_t malformed = 0;  // parts that match nothing: empty, "1-", "3-1", too large
  std::string first_malformed;
};

// What an accepted text selects.
Iterations parse_iteration(std::string_view text);

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_CONFIG_ITERATION_H_
