// The value of `er`, which rounds to keep: MS 2.1's pairs of numbers.

#ifndef TENSORTAP_SYSTEM_MSIT_CONFIG_ROUNDS_H_
#define TENSORTAP_SYSTEM_MSIT_CONFIG_ROUNDS_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "plan/capture_spec.h"

namespace tensortap::msit {

inline constexpr size_t kShown = 80;  // bytes of a wrong value that a message has

struct Rounds {
  StepSet steps = StepSet::never();
  bool valid = true;
  std::string note;  // what msit ignores silently; "" = nothing
};

// "0,0,5,7": from 0 to 0 and from 5 to 7, both ends included. "all"; "none" and "" ask for none. As in msit, an empty piece is 0, the last
// of an odd number of pieces is dropped, and a pair the wrong way round selects nothing; `note` reports these. Not valid: any other piece
// that is not a number.
Rounds parse_rounds(std::string_view text);

}  // namespace tensortap::msit

#endif  // TENSORTAP_SYSTEM_MSIT_CONFIG_ROUNDS_H_
