#include "capture/tensor_look.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <vector>

#include "capture/active_plan.h"
#include "capture/fake_layout.h"

namespace tensortap {
namespace {

TEST(TensorLook, MeasuresAndHandsOnWhatIsWanted) {
  FakeParts parts(FakeParts::spec());
  const OpId op = parts.add("op");
  const FakeEvent event(op, {1, 2, 6});
  TakenEvent taken = parts.taken(event.event);
  parts.look.take_all(taken);
  parts.sink.flush();
  ASSERT_EQ(parts.layout.written().size(), 1U);
  EXPECT_EQ(parts.layout.written()[0].values, event.values);
  EXPECT_EQ(parts.layout.written()[0].row.stats.mean, 3.0);
  EXPECT_TRUE(parts.ops.find(op)->has(kOpCaptured));
  EXPECT_EQ(taken.tensors, 1U);
}

TEST(TensorLook, LeavesOutWhatTheConditionDoesNotMeet) {
  CaptureSpec spec = FakeParts::spec();
  spec.where = "nan > 0";
  FakeParts parts(spec);
  const OpId op = parts.add("op");
  const FakeEvent finite(op, {1});
  const FakeEvent broken(op, {std::numeric_limits<float>::quiet_NaN()});
  TakenEvent first = parts.taken(finite.event);
  TakenEvent second = parts.taken(broken.event);
  parts.look.take_all(first);
  parts.look.take_all(second);
  parts.sink.flush();
  EXPECT_EQ(parts.look.filtered(), 1U);
  ASSERT_EQ(parts.layout.written().size(), 1U);
  EXPECT_EQ(parts.layout.written()[0].row.stats.nan, 1U);
  EXPECT_TRUE(parts.look.first_nonfinite().met());
}

TEST(TensorLook, CountsAMalformedTensorAndLooksNoFurther) {
  FakeParts parts(FakeParts::spec());
  FakeEvent event(parts.add("op"), {1});
  event.tensor.dims = nullptr;
  TakenEvent taken = parts.taken(event.event);
  parts.look.take_all(taken);
  parts.sink.flush();
  EXPECT_TRUE(parts.layout.written().empty());
  EXPECT_EQ(parts.sink.writer().losses().count(loss::kMalformed), 1U);
}

TEST(TensorLook, HoldsRecordsForTheGateAndKeepsThoseOfTheRing) {
  CaptureSpec spec = FakeParts::spec();
  spec.trigger = Trigger::kOverflow;
  spec.limits.ring_ops = 4;
  FakeParts parts(spec);
  const FakeEvent event(parts.add("op"), {1, 2});
  TakenEvent taken = parts.taken(event.event);
  parts.look.take_all(taken);
  ASSERT_EQ(taken.held.size(), 1U);
  parts.last_ops.fire();
  parts.sink.flush();
  ASSERT_EQ(parts.layout.written().size(), 1U) << "of the ring alone";
  EXPECT_NE(parts.layout.written()[0].row.flags & kRecordFromRing, 0);
  taken.held.clear();
}

TEST(TensorLook, SketchesGoBeforeTheirRecordsWhichSayWhyThereIsNone) {
  CaptureSpec spec = FakeParts::spec();
  spec.sketch_axis = 0;
  FakeParts parts(spec);
  const FakeEvent whole(parts.add("whole"), {1, -2, 0});
  FakeEvent scalar(parts.add("scalar"), {5});
  scalar.tensor.rank = 0;
  FakeEvent described(parts.add("described"), {1});
  described.tensor.data = nullptr;
  for (const FakeEvent* event : {&whole, static_cast<const FakeEvent*>(&scalar), static_cast<const FakeEvent*>(&described)}) {
    TakenEvent taken = parts.taken(event->event);
    parts.look.take_all(taken);
  }
  parts.layout.sketch_answer = io_error("the disk is gone").with_system_error(EIO);
  TakenEvent lost = parts.taken(whole.event);
  parts.look.take_all(lost);
  parts.sink.flush();
  ASSERT_EQ(parts.layout.sketches.size(), 1U);
  ASSERT_EQ(parts.layout.sketches[0].channels.size(), 3U);
  EXPECT_EQ(parts.layout.sketches[0].channels[1], (ChannelSums{2, 4, 0, 0}));
  EXPECT_EQ(parts.layout.sketches[0].channels[2].zero, 1U);
  std::vector<uint8_t> states;
  for (const FakeLayout::Written& one : parts.layout.written()) states.push_back(one.row.sketch);
  std::ranges::sort(states);
  const auto number = [](SketchState state) { return static_cast<uint8_t>(state); };
  EXPECT_EQ(states, (std::vector<uint8_t>{number(SketchState::kThere), number(SketchState::kNoAxis), number(SketchState::kNoNumbers),
                                          number(SketchState::kNotWritten)}));
  EXPECT_EQ(parts.sink.writer().losses().count("write failed: Input/output error"), 1U);
}

TEST(TensorLook, SaysWhetherNoTensorHasTheAxis) {
  CaptureSpec spec = FakeParts::spec();
  spec.sketch_axis = 1;
  FakeParts parts(spec);
  EXPECT_FALSE(parts.look.found_no_channels()) << "no tensor came";
  const int64_t dims[] = {2, 1};
  for (const uint32_t rank : {1U, 2U}) {
    FakeEvent event(parts.add(rank == 1 ? "vector" : "matrix"), {1, 2});
    event.tensor.dims = dims;
    event.tensor.rank = rank;
    TakenEvent taken = parts.taken(event.event);
    parts.look.take_all(taken);
    EXPECT_EQ(parts.look.found_no_channels(), rank == 1);
  }
}

TEST(TensorLook, AContentThatWasMeasuredBeforeIsSketchedAgain) {
  CaptureSpec spec = FakeParts::spec();
  spec.sketch_block = 16;
  FakeParts parts(spec);
  FakeEvent event(parts.add("op"), std::vector<float>(10000, 3));
  event.tensor.storage = 7;
  for (int i = 0; i < 3; ++i) {
    TakenEvent taken = parts.taken(event.event);
    parts.look.take_all(taken);
  }
  ASSERT_EQ(parts.layout.sketches.size(), 3U);
  EXPECT_EQ(parts.layout.sketches[0].blocks.bins[151], 625U);
  EXPECT_EQ(parts.layout.sketches[2], parts.layout.sketches[0]);
}

TEST(ActivePlan, WatchesMemoryByDigestWhereNoElementsAreKept) {
  const FakeLayout layout;
  CaptureSpec spec = FakeParts::spec();
  spec.trigger = Trigger::kWatch;
  spec.payload = Payload::kStatistics;
  const ActivePlan statistics(*CapturePlan::compile(spec), layout, true, 3);
  EXPECT_EQ(statistics.digest, DigestKind::kXxh3);
  EXPECT_EQ(statistics.generation, 3U);
  EXPECT_FALSE(statistics.shares_data) << "this layout takes no references";
  spec.payload = Payload::kTensor;
  EXPECT_EQ(ActivePlan(*CapturePlan::compile(spec), layout, true, 0).digest, DigestKind::kNone);
}

}  // namespace
}  // namespace tensortap
