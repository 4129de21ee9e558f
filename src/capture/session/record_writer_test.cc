#include "session/record_writer.h"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>

#include "base/json.h"
#include "session/fake_layout.h"

namespace tensortap {
namespace {

// A writer over the parts of a session, and one record with data.
struct Writing {
  explicit Writing(bool keeps_rows = true)
      : parts(FakeParts::spec()), writer({parts.layout, parts.ops.table(), parts.problems, parts.contents}, "/dump", keeps_rows) {
    parts.contents.reserve();
    row.op = parts.add("op");
    row.set_desc(view.desc);
  }
  QueuedRecord record() const { return QueuedRecord{row, PoolBuffer{}, nullptr}; }

  FakeParts parts;
  RecordWriter writer;
  std::array<float, 2> values{1, 2};
  std::array<int64_t, 1> dims{2};
  TensorView view{{DType::kFloat32, Shape(dims)}, values.data(), nullptr};
  RecordRow row;
};

TEST(RecordWriter, WritesAndCountsRecordsAndTheirBytes) {
  Writing w;
  QueuedRecord record = w.record();
  record.row.flags |= kRecordHasData;
  record.row.data_bytes = 8;
  w.writer.write_data(record, &w.view);
  w.writer.write_row(w.row, nullptr, nullptr, false);
  EXPECT_EQ(w.writer.records(), 2U);
  EXPECT_EQ(w.writer.bytes(), 8U);
  EXPECT_EQ(w.writer.losses().total(), 0U);
}

TEST(RecordWriter, ALossThatIsCountedIsNotCountedAgain) {
  Writing w;
  w.parts.layout.answer = io_error("broken");
  w.writer.write_row(w.row, nullptr, nullptr, true);
  EXPECT_EQ(w.writer.losses().total(), 0U);
  w.writer.write_row(w.row, nullptr, nullptr, false);
  EXPECT_EQ(w.writer.losses().count(loss::kWriteFailed), 1U);
  EXPECT_EQ(w.writer.records(), 0U);
}

TEST(RecordWriter, ATreeOfValuesGetsNoRecordWithoutThem) {
  Writing w(false);
  w.writer.write_row(w.row, nullptr, nullptr, true);
  EXPECT_TRUE(w.parts.layout.written().empty());
  w.parts.layout.answer = io_error("broken");
  w.parts.layout.refuses_data = true;
  w.writer.write_row(w.row, &w.view, nullptr, false);
  EXPECT_TRUE(w.parts.layout.written().empty()) << "its statistics alone are worth nothing there";
  EXPECT_EQ(w.writer.losses().total(), 1U);
}

TEST(RecordWriter, ARecordThatRepeatsLostDataIsLostToo) {
  Writing w;
  QueuedRecord record = w.record();
  record.same_as = w.parts.contents.next_data();
  w.writer.write(record);
  EXPECT_EQ(w.writer.losses().count(loss::kLostWithOther), 1U);
  ASSERT_EQ(w.parts.layout.written().size(), 1U);
  EXPECT_NE(w.parts.layout.written()[0].row.flags & kRecordDataLost, 0);
}

TEST(RecordWriter, AFullDiskIsOneErrorHoweverManyRecordsItCosts) {
  Writing w;
  for (int i = 0; i < 3; ++i) w.writer.lose_to_full_disk(w.row, uint64_t{1} << 20);
  EXPECT_EQ(w.writer.losses().count(loss::kKeepFree), 3U);
  EXPECT_EQ(w.parts.problems.first_error().system_error(), ENOSPC);
  EXPECT_NE(w.parts.problems.first_error().message().find("/dump"), std::string::npos);
}

TEST(RecordWriter, SaysWhichRecordWasLost) {
  Writing w;
  w.writer.lose(loss::kNoMemory, w.row);
  w.writer.lose_event(77);
  EXPECT_TRUE(w.parts.ops.find(0)->has(kOpLost));
  const std::string losses = w.writer.losses().to_json().dump();
  EXPECT_NE(losses.find("op:out0"), std::string::npos) << losses;
  EXPECT_NE(losses.find("op 77"), std::string::npos) << losses;
}

}  // namespace
}  // namespace tensortap
