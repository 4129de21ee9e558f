// Numbers as NumPy prints them in arrays: all of one width, with the fewest digits that distinguish them from their neighbours in their
// dtype.

#ifndef TENSORTAP_READ_NUMBER_TEXT_H_
#define TENSORTAP_READ_NUMBER_TEXT_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "tensor/dtype.h"

namespace tensortap {

// A format that fits a set of numbers. Value type.
class FloatFormat {
 public:
  // `values` are elements of `dtype` (of its parts, for complex types). `show_plus` puts a sign before positive ones.
  FloatFormat(DType dtype, std::span<const double> values, int precision, bool show_plus = false);
  [[nodiscard]] std::string text(double value) const;

 private:
  [[nodiscard]] std::string signed_text(double value, std::string_view digits) const;
  void fit_scientific(std::span<const double> values);
  void fit_positional(std::span<const double> values);

  DType dtype_;
  int precision_;
  bool show_plus_;
  bool scientific_ = false;
  size_t left_ = 0;   // characters before the point
  size_t right_ = 0;  // characters after it
  size_t exponent_digits_ = 0;
  int fraction_digits_ = 0;  // of the scientific form
};

// The shortest decimal text that reads back to `value` in `dtype`, such as "0.1", "1e-07", "nan".
std::string shortest_text(DType dtype, double value);

}  // namespace tensortap

#endif  // TENSORTAP_READ_NUMBER_TEXT_H_
