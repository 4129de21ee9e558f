// Attributes of two ops of one type that change what they compute.

#ifndef TENSORTAP_COMPARE_ATTRIBUTE_DIFFERENCE_H_
#define TENSORTAP_COMPARE_ATTRIBUTE_DIFFERENCE_H_

#include <string>
#include <vector>

#include "trace/op_info.h"

namespace tensortap {

struct AttributeDifference {
  std::string name;
  std::string a;  // as JSON
  std::string b;
};

// Attributes that both ops have with other values, and that scale, shift or approximate: epsilon, alpha, the kind of GELU. Numbers that
// differ by less than `rounding`, relative to the second, are equal. What only one op has is a default, not a difference. Empty for ops of
// different types.
std::vector<AttributeDifference> attribute_differences(const OpInfo& a, const OpInfo& b, double rounding);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_ATTRIBUTE_DIFFERENCE_H_
