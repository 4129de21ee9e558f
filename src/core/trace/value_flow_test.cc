#include "trace/value_flow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensortap {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Memory {
  uint64_t storage;
  uint64_t version;
  uint64_t view = 0x1000;
};

class Flow : public testing::Test {
 protected:
  static RecordRow row(OpId op, SlotKind kind, uint16_t slot, Memory memory, const Shape& shape, int64_t element) {
    RecordRow made;
    made.op = op;
    made.slot_kind = static_cast<uint8_t>(kind);
    made.slot_index = slot;
    made.element = element;
    made.storage = memory.storage;
    made.version = memory.version;
    made.view = memory.view;
    made.set_desc({DType::kFloat32, shape});
    return made;
  }
  void in(OpId op, uint16_t slot, Memory memory, const Shape& shape = {4}, int64_t element = -1) {
    RecordRow one = row(op, SlotKind::kInput, slot, memory, shape, element);
    one.phase = static_cast<uint8_t>(phase);
    flow.see(one);
  }
  void out(OpId op, uint16_t slot, Memory memory, const Shape& shape = {4}, int64_t element = -1) {
    flow.see(row(op, SlotKind::kOutput, slot, memory, shape, element));
  }
  [[nodiscard]] ValueMaker maker(OpId op, size_t read = 0) const { return flow.reads(op)[read].maker; }

  ValueFlow flow;
  Phase phase = Phase::kForward;
};

ValueMaker output(OpId op, uint32_t slot = 0, int64_t element = -1) { return {op, slot, element}; }

TEST_F(Flow, AnInputLeadsToTheOutputThatHoldsTheSameContent) {
  out(0, 0, {1, 1});
  out(0, 1, {2, 1});
  in(1, 0, {2, 1});
  in(1, 1, {1, 1});
  EXPECT_EQ(maker(1, 0), output(0, 1));
  EXPECT_EQ(maker(1, 1), output(0, 0));
  EXPECT_THAT(flow.reads(0), IsEmpty());
  EXPECT_THAT(flow.reads(7), IsEmpty());
}

TEST_F(Flow, WhoWroteLastMadeTheContent) {
  out(0, 0, {1, 1});
  in(1, 0, {1, 1});
  out(1, 0, {1, 2});  // in place
  in(2, 0, {1, 2});
  EXPECT_EQ(maker(1), output(0));
  EXPECT_EQ(maker(2), output(1));
}

TEST_F(Flow, WhoWroteAPartMadeTheWholeContentAndWhatWasNotSeenMadeNone) {
  out(0, 0, {1, 1}, {2, 2});
  in(1, 0, {1, 1}, {2});
  out(1, 0, {1, 2}, {2});
  in(2, 0, {1, 2}, {2, 2});
  in(3, 0, {1, 3}, {2, 2});
  EXPECT_EQ(maker(1), output(0));
  EXPECT_EQ(maker(2), output(1));
  EXPECT_EQ(maker(3), ValueMaker{});
}

TEST_F(Flow, ViewsOfOneContentAreToldApart) {
  out(0, 0, {1, 1}, {2, 2});
  in(1, 0, {1, 1}, {2, 2});  // two halves of one shape
  out(1, 0, {1, 1, 0x1000}, {2}, 0);
  out(1, 0, {1, 1, 0x1008}, {2}, 1);
  in(2, 0, {1, 1, 0x1000}, {2});
  in(3, 0, {1, 1, 0x1008}, {2});
  in(4, 0, {1, 1}, {2, 2});          // the whole again
  in(5, 0, {1, 1, 0x1004}, {2, 1});  // a view that no op was seen to make
  EXPECT_EQ(maker(2), output(1, 0, 0));
  EXPECT_EQ(maker(3), output(1, 0, 1));
  EXPECT_EQ(maker(4), output(0));
  EXPECT_EQ(maker(5), output(0));
}

TEST_F(Flow, OfEqualViewsTheNewestCounts) {
  out(0, 0, {1, 1});
  in(1, 0, {1, 1});
  out(1, 0, {1, 1});  // detach
  in(2, 0, {1, 1});
  out(0, 0, {1, 1});  // where it comes from stays where it comes from
  in(3, 0, {1, 1});
  EXPECT_EQ(maker(2), output(1));
  EXPECT_EQ(maker(3), output(1));
}

TEST_F(Flow, WhatNobodyMadeCameFromOutsideOnceForEachBlock) {
  in(0, 1, {5, 1}, {2, 3});
  in(1, 0, {5, 1}, {2, 3});
  out(1, 0, {5, 1, 0x2000}, {3, 2});  // a view of it is not a write
  in(2, 0, {5, 1}, {2, 3});
  in(2, 1, {5, 9}, {2, 3});  // changed by what was not seen
  in(3, 0, {6, 1}, {7});
  for (const OpId op : {OpId{0}, OpId{1}, OpId{2}}) {
    EXPECT_EQ(maker(op), ValueMaker{});
    EXPECT_EQ(flow.reads(op)[0].outside, 0U);
  }
  EXPECT_EQ(flow.reads(2)[1].outside, 0U);
  EXPECT_EQ(flow.reads(3)[0].outside, 1U);
  ASSERT_EQ(flow.outside().size(), 2U);
  EXPECT_EQ(flow.outside()[0].reader, 0U);
  EXPECT_EQ(flow.outside()[0].slot, 1U);
  EXPECT_EQ(flow.outside()[0].desc.shape, Shape({2, 3}));
  EXPECT_FALSE(flow.outside()[0].updated);
  phase = Phase::kUpdate;
  in(4, 0, {6, 1}, {7});
  EXPECT_TRUE(flow.outside()[1].updated);
}

TEST_F(Flow, LaterExecutionsAddWhatTheyReadInstead) {
  out(0, 0, {1, 1});
  in(1, 0, {1, 1});
  const size_t learned = flow.learned();
  in(1, 0, {1, 1});
  EXPECT_EQ(flow.learned(), learned);
  out(2, 0, {1, 2});
  in(1, 0, {1, 2});
  in(1, 0, {1, 2});
  in(1, 0, {9, 1});  // from outside: tells nothing new
  EXPECT_GT(flow.learned(), learned);
  EXPECT_EQ(maker(1), output(0));
  EXPECT_THAT(flow.reads(1)[0].others, ElementsAre(output(2)));
  EXPECT_THAT(flow.outside(), IsEmpty());
}

TEST_F(Flow, ElementsOfASequenceAreReadsOfTheirOwn) {
  out(0, 0, {1, 1});
  out(1, 0, {2, 1});
  in(2, 0, {1, 1}, {4}, 0);
  in(2, 0, {2, 1}, {4}, 1);
  ASSERT_EQ(flow.reads(2).size(), 2U);
  EXPECT_EQ(maker(2, 0), output(0));
  EXPECT_EQ(maker(2, 1), output(1));
  EXPECT_EQ(flow.reads(2)[1].element, 1);
}

TEST_F(Flow, RecordsWithoutAKnownBlockTellNothing) {
  out(0, 0, {0, 0});
  in(1, 0, {0, 0});
  EXPECT_THAT(flow.reads(1), IsEmpty());
}

TEST_F(Flow, BlocksThatAreNoLongerUsedAreForgottenAndThoseInUseAreNot) {
  constexpr uint64_t kMany = 200'000;
  out(0, 0, {1, 1});
  out(1, 0, {2, 1});
  for (uint64_t i = 3; i < kMany; ++i) {
    out(2, 0, {i, 1});
    if (i % 1000 == 0) in(3, 0, {1, 1});
  }
  in(4, 0, {1, 1});
  in(5, 0, {2, 1});
  in(6, 0, {kMany - 1, 1});
  EXPECT_EQ(maker(4), output(0));
  EXPECT_EQ(maker(5), ValueMaker{});
  EXPECT_EQ(maker(6), output(2));
}

}  // namespace
}  // namespace tensortap
