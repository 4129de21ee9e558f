#include "base/four_digits.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tensortap {
namespace {

TEST(FourDigits, AreForPeople) {
  EXPECT_EQ(four_digits(16384.123456), "1.638e+04");
  EXPECT_EQ(four_digits(0.0123456), "0.01235");
  EXPECT_EQ(four_digits(3), "3");
  EXPECT_EQ(four_digits(-INFINITY), "-inf");
}

}  // namespace
}  // namespace tensortap
