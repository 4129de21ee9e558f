#include "capture/tensor_look.h"

#include <gtest/gtest.h>

#include <limits>

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
