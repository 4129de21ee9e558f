#include "session/recent_values.h"

#include <gtest/gtest.h>

namespace tensortap {
namespace {

TEST(RecentValues, AreTypicallyTheirMean) {
  RecentValues values;
  EXPECT_EQ(values.typical(), 0);
  EXPECT_EQ(values.variance(), 0);
  for (const double value : {1, 2, 3, 4, 5, 6, 7, 8}) values.add(value);
  EXPECT_DOUBLE_EQ(values.typical(), 4.5);
  EXPECT_DOUBLE_EQ(values.variance(), 6);
}

TEST(RecentValues, AreNotMovedByFewThatAreFarOff) {
  RecentValues values;
  for (int i = 0; i < 16; ++i) values.add(i % 8 == 7 ? 1000 : 10);
  EXPECT_GE(values.typical(), 10);
  EXPECT_LE(values.typical(), 10.5);
  EXPECT_LE(values.fences().pull(1000), 12);
  EXPECT_EQ(values.fences().pull(10), 10);
}

TEST(RecentValues, ForgetTheOldest) {
  RecentValues values;
  for (int i = 0; i < 100; ++i) values.add(1);
  for (int i = 0; i < 32; ++i) values.add(5);
  EXPECT_EQ(values.count(), 32U);
  EXPECT_DOUBLE_EQ(values.typical(), 5);
  values.scale(2);
  EXPECT_DOUBLE_EQ(values.typical(), 10);
}

TEST(RecentValues, HaveNoFencesWhileTheyAreFew) {
  RecentValues values;
  for (const double value : {1, 1, 1}) values.add(value);
  EXPECT_EQ(values.fences().pull(1e9), 1e9);
}

}  // namespace
}  // namespace tensortap
