#include "base/clock.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace tensortap {
namespace {

TEST(Clock, DigitsAreLocalWithMilliseconds) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  EXPECT_EQ(wall_clock_digits(1763668800012345), "20251120200000012");
}

}  // namespace
}  // namespace tensortap
