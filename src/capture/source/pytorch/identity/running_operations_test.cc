#include "source/pytorch/identity/running_operations.h"

#include <gtest/gtest.h>
#include <tensortap/capture.h>

#include "source/pytorch/identity/op_identity.h"

namespace tensortap::pytorch {
namespace {

TEST(RunningOperations, CountTheCallsOfAnOpWithinOneCallOfItsParent) {
  RunningOperations running;
  OpIdentity layer;
  for (int call = 0; call < 2; ++call) {
    const size_t before = running.begin(&layer);
    EXPECT_EQ(running.next_call(7, {1, 2}), (CallPlace{&layer, 0, 2, 0}));
    EXPECT_EQ(running.next_call(8, {1, 2}), (CallPlace{&layer, 0, 2, 0}));
    EXPECT_EQ(running.next_call(7, {1, 2}), (CallPlace{&layer, 1, 2, 0}));
    running.end(before);
  }
}

TEST(RunningOperations, WhatAContainerCallsAreRootOperationsOfTheRound) {
  RunningOperations running;
  const size_t before = running.begin(nullptr);
  EXPECT_EQ(running.next_call(7, {1, 1}), (CallPlace{nullptr, 0, 1, 0}));
  running.end(before);
  EXPECT_EQ(running.next_call(7, {1, 1}), (CallPlace{nullptr, 1, 1, 0})) << "the program's own calls count on";
  EXPECT_EQ(running.next_call(7, {2, 1}), (CallPlace{nullptr, 0, 1, 0})) << "each round counts from 0";
}

TEST(RunningOperations, WhatRunsOnItsOwnHasNoParent) {
  RunningOperations running;
  OpIdentity layer;
  running.begin(&layer);
  EXPECT_EQ(running.next_call(7, {1, 3}, TENSORTAP_PHASE_BACKWARD), (CallPlace{nullptr, 0, 3, TENSORTAP_PHASE_BACKWARD}));
  EXPECT_EQ(running.next_call(7, {1, 3}), (CallPlace{&layer, 0, 3, 0}));
}

TEST(RunningOperations, AnExceptionLeavesNoneBehind) {
  RunningOperations running;
  OpIdentity outer;
  OpIdentity inner;
  const size_t before = running.begin(&outer);
  running.begin(&inner);
  EXPECT_EQ(running.innermost(), &inner);
  running.end(before);
  EXPECT_EQ(running.innermost(), nullptr);
  running.begin(&inner);
  EXPECT_EQ(running.next_call(7, {0, 0}).occurrence, 0U) << "counts of the call before are gone";
}

}  // namespace
}  // namespace tensortap::pytorch
