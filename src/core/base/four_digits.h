// Numbers as people read them.

#ifndef TENSORTAP_BASE_FOUR_DIGITS_H_
#define TENSORTAP_BASE_FOUR_DIGITS_H_

#include <string>

namespace tensortap {

// "0.01235", "1.638e+04", "3"; "nan", "inf", "-inf".
std::string four_digits(double value);

}  // namespace tensortap

#endif  // TENSORTAP_BASE_FOUR_DIGITS_H_
