#include "session/record_sink.h"

#include <gtest/gtest.h>

#include "session/fake_layout.h"

namespace tensortap {
namespace {

TensorView view_of(const FakeEvent& event) { return {{DType::kFloat32, Shape(std::array{event.dim})}, event.values.data(), nullptr}; }

RecordRow row_of(const TensorView& view) {
  RecordRow row;
  row.op = 0;
  row.set_desc(view.desc);
  return row;
}

TEST(RecordSink, WritesDataAndHeldRecordsAndSaysWhenAStepEnds) {
  FakeParts parts(FakeParts::spec());
  parts.add("op");
  const FakeEvent event(0, {1, 2, 3});
  const TensorView view = view_of(event);
  RecordRow row = row_of(view);
  KnownContent known;
  parts.sink.take(row, &view, nullptr, known);
  QueuedRecord held = parts.sink.hold(row, &view, nullptr);
  parts.sink.end_step(7, 9);
  parts.sink.flush();
  EXPECT_EQ(parts.sink.writer().records(), 1U) << "a held record is not written";
  parts.sink.release(std::move(held));
  parts.sink.flush();
  ASSERT_EQ(parts.layout.written().size(), 2U);
  EXPECT_EQ(parts.layout.written()[1].values, event.values);
  EXPECT_EQ(parts.layout.steps, (std::vector<std::pair<int64_t, uint64_t>>{{7, 9}}));
  EXPECT_EQ(parts.layout.flushed, 2);
  EXPECT_EQ(parts.sink.writer().losses().total(), 0U);
}

TEST(RecordSink, GivesTheRowToTheLayoutBeforeItsValuesWait) {
  FakeParts parts(FakeParts::spec(), true);
  parts.add("op");
  const FakeEvent event(0, {1, 2, 3});
  const TensorView view = view_of(event);
  RecordRow row = row_of(view);
  KnownContent known;
  parts.sink.take(row, &view, nullptr, known);
  EXPECT_EQ(parts.layout.written().size(), 1U) << "a program that dies now has its row";
  EXPECT_EQ(parts.sink.writer().records(), 1U);
  parts.sink.release(parts.sink.hold(row, &view, nullptr));
  parts.layout.answer = io_error("broken");
  parts.sink.take(row, &view, nullptr, known);
  parts.sink.flush();
  ASSERT_EQ(parts.layout.written().size(), 2U);
  for (const FakeLayout::Written& one : parts.layout.written()) {
    EXPECT_EQ(one.values, event.values);
    EXPECT_EQ(one.row.flags & (kRecordHasData | kRecordDataLost), kRecordHasData);
  }
  EXPECT_EQ(parts.sink.writer().records(), 2U);
  EXPECT_EQ(parts.sink.writer().losses().total(), 1U) << "the row that the layout refused";
  EXPECT_EQ(parts.layout.counted_lost, 1U);
}

TEST(RecordSink, CountsValuesThatDoNotArriveOnce) {
  struct Case {
    Status answer;
    uint64_t losses;
  };
  // A row that is lost is counted with take_lost().
  for (const Case& one : {Case{io_error("broken"), 1}, Case{not_found("the row is lost"), 0}}) {
    FakeParts parts(FakeParts::spec(), true);
    parts.layout.values_answer = one.answer;
    parts.add("op");
    const FakeEvent event(0, {1, 2, 3});
    const TensorView view = view_of(event);
    RecordRow row = row_of(view);
    KnownContent known;
    parts.sink.take(row, &view, nullptr, known);
    parts.sink.flush();
    EXPECT_EQ(parts.sink.writer().records(), 1U);
    EXPECT_EQ(parts.sink.writer().losses().total(), one.losses) << one.answer.message();
    EXPECT_NE(parts.layout.written()[0].row.flags & kRecordDataLost, 0);
  }
}

TEST(RecordSink, CountsWhatALimitCutsOff) {
  CaptureSpec spec = FakeParts::spec();
  spec.limits.max_records = 2;
  FakeParts parts(spec);
  parts.add("op");
  const FakeEvent event(0, {1});
  const RecordRow row = row_of(view_of(event));
  EXPECT_TRUE(parts.sink.admits(row));
  EXPECT_TRUE(parts.sink.admits(row));
  EXPECT_FALSE(parts.sink.admits(row));
  EXPECT_EQ(parts.sink.writer().losses().count(loss::kMaxRecords), 1U);
  EXPECT_TRUE(parts.ops.find(0)->has(kOpLost));
}

TEST(RecordSink, KeepsTheStatisticsOfDataThatCannotBeWritten) {
  FakeParts parts(FakeParts::spec());
  parts.add("op");
  parts.layout.answer = io_error("broken");
  parts.layout.refuses_data = true;
  const FakeEvent event(0, {1, 2});
  const TensorView view = view_of(event);
  RecordRow row = row_of(view);
  KnownContent known;
  parts.sink.take(row, &view, nullptr, known);
  parts.sink.flush();
  ASSERT_EQ(parts.layout.written().size(), 1U);
  EXPECT_NE(parts.layout.written()[0].row.flags & kRecordDataLost, 0);
  EXPECT_EQ(parts.sink.writer().losses().total(), 1U);
  EXPECT_EQ(parts.problems.first_error().message(), "broken");
}

TEST(RecordSink, HoldsNoCopyThatThePoolHasNoRoomFor) {
  FakeParts parts(FakeParts::spec());
  parts.add("op");
  const FakeEvent event(0, std::vector<float>(1 << 20, 1.0F));
  const TensorView view = view_of(event);
  QueuedRecord held = parts.sink.hold(row_of(view), &view, nullptr);
  EXPECT_TRUE(held.data.empty());
  EXPECT_EQ(parts.sink.writer().losses().total(), 0U) << "it may never be asked for";
  parts.sink.release(std::move(held));
  EXPECT_EQ(parts.sink.writer().losses().count(loss::kPoolStatsOnly), 1U);
}

TEST(RecordSink, LosesEverythingWithTheFolder) {
  FakeParts parts(FakeParts::spec());
  parts.add("op");
  const FakeEvent event(0, {1, 2});
  const TensorView view = view_of(event);
  RecordRow row = row_of(view);
  KnownContent known;
  parts.sink.take(row, nullptr, nullptr, known);
  parts.sink.writer().lose_folder();
  parts.sink.writer().lose_folder();
  EXPECT_EQ(parts.sink.writer().records(), 0U);
  EXPECT_EQ(parts.sink.writer().losses().count(loss::kFolderGone), 1U);
}

}  // namespace
}  // namespace tensortap
