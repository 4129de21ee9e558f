// Ops that ran while a dump was made and are not in it.

#ifndef TENSORTAP_QUERY_UNSEEN_OPS_H_
#define TENSORTAP_QUERY_UNSEEN_OPS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"

namespace tensortap {

// The reasons why ops that ran, and should have been captured, are not in a dump: {"reason", "count", "examples"} each, as its manifest has
// them. Empty for any other manifest.
Json unseen_ops_json(const Json& manifest);

// Whether such a list has a reason.
bool has_reason(const Json& reasons, std::string_view reason);

// How many ops read or made tensors in a form that is not looked into (hides_values()): those that are missing, and those of which other
// records exist.
uint64_t count_hidden_ops(const Json& manifest);

// Which values of the program the capture did not look at, a sentence for each kind: "2 ops ran whose values were not looked at (sequence
// output)". `reasons` is that of unseen_ops_json(), `hidden` that of count_hidden_ops(). Empty where other records show all values.
std::vector<std::string> unseen_values(const Json& reasons, uint64_t hidden);

}  // namespace tensortap

#endif  // TENSORTAP_QUERY_UNSEEN_OPS_H_
