// The attribute by which an op in the body of a loop names what its inputs come from.

#ifndef TENSORTAP_TRACE_BODY_INPUTS_H_
#define TENSORTAP_TRACE_BODY_INPUTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/op_info.h"

namespace tensortap {

// {"0": [["", "x"], ["loop/body", "y"]]}: input 0 is an input of the body, and holds the value x of the main graph in the first trip, and y
// of the body, as the trip before made it, in later ones.
inline constexpr std::string_view kBodyInputs = "body_inputs";

struct BodyValue {
  std::string graph;  // "" = the main graph
  std::string name;
};
// What the input in a slot may hold; empty where the op does not tell. Ignores entries of another form.
std::vector<BodyValue> body_values(const OpInfo& op, uint32_t slot);

}  // namespace tensortap

#endif  // TENSORTAP_TRACE_BODY_INPUTS_H_
