// OverflowWatch, WatchLooks and LastOps without a session.

#include <gtest/gtest.h>

#include <limits>

#include "base/json.h"
#include "session/fake_layout.h"
#include "session/overflow_watch.h"
#include "session/watch_looks.h"

namespace tensortap {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(OverflowWatch, WritesTheOpThatMadeNanWithItsInputAndNothingElse) {
  CaptureSpec spec = FakeParts::spec();
  spec.trigger = Trigger::kOverflow;
  FakeParts parts(spec);
  OverflowWatch watch({parts.look, parts.sink, parts.last_ops, parts.ops, parts.admission, parts.contents, parts.pool, parts.devices},
                      spec);
  const OpId first = parts.add("first");
  const OpId second = parts.add("second", {{"first:0", first, 0}});
  const OpId third = parts.add("third", {{"first:0", first, 0}});
  const FakeEvent made(first, {1, 2});
  const FakeEvent broken(second, {kNan});
  const FakeEvent finite(third, {3});
  for (const FakeEvent* event : {&made, &broken, &finite}) {
    TakenEvent taken = parts.taken(event->event);
    watch.take(taken);
  }
  EXPECT_TRUE(watch.end_step(0));
  parts.sink.flush();
  ASSERT_EQ(parts.layout.written().size(), 2U);
  EXPECT_EQ(parts.layout.written()[0].row.op, first);
  EXPECT_EQ(parts.layout.written()[1].row.op, second);
  EXPECT_EQ(watch.report(), (Json{{"fired", 1}, {"over_limit", 0}}));
}

TEST(OverflowWatch, PassesByWhatIsFiniteAndShownAgain) {
  CaptureSpec spec = FakeParts::spec();
  spec.trigger = Trigger::kOverflow;
  FakeParts parts(spec);
  OverflowWatch watch({parts.look, parts.sink, parts.last_ops, parts.ops, parts.admission, parts.contents, parts.pool, parts.devices},
                      spec);
  const OpId op = parts.add("op");
  watch.bind(*parts.ops.bind());
  EXPECT_EQ(watch.wanted_reads(), TENSORTAP_WANTS_READS);
  ASSERT_TRUE(watch.watches_whole(op));
  EXPECT_FALSE(watch.watches_whole(op + 1));
  FakeEvent event(op, {1});
  EXPECT_FALSE(watch.passes_by_whole(event.event)) << "the value is not shown again";
  event.tensor.flags = TENSORTAP_TENSOR_SHOWN_AGAIN;
  EXPECT_TRUE(watch.passes_by_whole(event.event));
  EXPECT_TRUE(parts.ops.find(op)->has(kOpCaptured));
  event.values[0] = kNan;
  EXPECT_FALSE(watch.passes_by_whole(event.event));
}

TEST(WatchLooks, RecordsWhatAnotherOpDidToAValue) {
  CaptureSpec spec = FakeParts::spec();
  spec.trigger = Trigger::kWatch;
  FakeParts parts(spec);
  WatchLooks watch({parts.look, parts.sink, parts.last_ops, parts.ops});
  const OpId maker = parts.add("maker");
  const OpId writer = parts.add("writer");
  FakeEvent made(maker, {1, 2});
  const FakeEvent other(writer, {0});
  watch.ran(parts.taken(made.event));
  made.values[0] = 5;
  watch.ran(parts.taken(other.event));
  parts.sink.flush();
  ASSERT_EQ(parts.layout.written().size(), 1U);
  EXPECT_EQ(parts.layout.written()[0].values, (std::vector<float>{5, 2}));
  EXPECT_EQ(parts.layout.added.back(), "writer_To_maker");
  EXPECT_EQ(watch.report()["changed"], 1);
  EXPECT_EQ(watch.report()["still_read"].size(), 1U);
  watch.end_run(0);
  watch.ran(parts.taken(other.event));
  parts.sink.flush();
  EXPECT_EQ(parts.layout.written().size(), 1U) << "the run is over";
}

TEST(LastOps, KeepsTheLastExecutionsAndForgetsTheOneThatFailed) {
  CaptureSpec spec = FakeParts::spec();
  spec.limits.ring_ops = 2;
  spec.where = "nan > 0";
  FakeParts parts(spec);
  const OpId op = parts.add("op");
  const FakeEvent event(op, {4});
  const TensorView view{{DType::kFloat32, Shape(std::array{event.dim})}, event.values.data(), nullptr};
  RecordRow row;
  row.op = op;
  row.set_desc(view.desc);
  for (uint32_t call = 0; call < 4; ++call) {
    row.call = call;
    row.sequence = call;
    parts.last_ops.add(row, view, DigestKind::kXxh3);
  }
  parts.last_ops.failed(row);
  parts.sink.flush();
  ASSERT_EQ(parts.layout.written().size(), 1U);
  EXPECT_EQ(parts.layout.written()[0].row.call, 2U);
  EXPECT_EQ(parts.layout.written()[0].row.digest_kind, static_cast<uint8_t>(DigestKind::kXxh3));
  EXPECT_EQ(parts.last_ops.report()["fired"], 1);
}

TEST(LastOps, HasNoRingUnlessAskedTo) {
  FakeParts parts(FakeParts::spec());
  EXPECT_FALSE(parts.last_ops.has_ring());
  EXPECT_FALSE(parts.last_ops.records_crashes());
  EXPECT_TRUE(parts.last_ops.claim(3));
  EXPECT_EQ(parts.last_ops.report(), Json(nullptr));
}

}  // namespace
}  // namespace tensortap
