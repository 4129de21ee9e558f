#include "session/op_table.h"

#include <gtest/gtest.h>

namespace tensortap {
namespace {

TEST(CallCounter, CountsByRunMomentAndStep) {
  CallCounter calls;
  EXPECT_EQ(calls.next({1, 0, 0}, 0), 0U);
  EXPECT_EQ(calls.next({2, 0, 0}, 0), 0U);
  EXPECT_EQ(calls.next({1, 0, 0}, 0), 1U);
  EXPECT_EQ(calls.next({1, 1, 0}, 0), 0U);
  EXPECT_EQ(calls.next({1, 0, 0}, 1), 0U);
  EXPECT_EQ(calls.next({2, 0, 0}, 0), 1U);
}

}  // namespace
}  // namespace tensortap
