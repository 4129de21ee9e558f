// How the files of a native dump change during and after its capture, and how the writer and readers report it.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <random>
#include <thread>

#include "base/files.h"
#include "base/json.h"
#include "base/temporary_folder.h"
#include "system/tap/tap_files.h"
#include "system/tap/written_files.h"

namespace tensortap::tap {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr uint64_t kSteps = 5;

class WrittenFilesTest : public testing::Test {
 protected:
  std::unique_ptr<LayoutWriter> begin() {
    DumpInfo info;
    info.folder = folder_.path();
    auto writer = create_dump(info, CaptureSpec());
    EXPECT_TRUE(writer.ok()) << writer.status().message();
    OpInfo op;
    op.name = "conv";
    EXPECT_TRUE((*writer)->add_op(0, op).ok());
    for (uint64_t step = 0; step < kSteps; ++step) add(**writer, static_cast<int64_t>(step));
    return *std::move(writer);
  }
  static void add(LayoutWriter& writer, int64_t step) { EXPECT_TRUE(write(writer, step, 20).ok()); }
  static Status write(LayoutWriter& writer, int64_t step, uint64_t count) {
    std::vector<int32_t> values(count);
    std::iota(values.begin(), values.end(), static_cast<int32_t>(step));
    RecordRow row;
    row.op = 0;
    row.step = step;
    row.set_desc({DType::kInt32, {static_cast<int64_t>(count)}});
    const TensorView view{row.desc(), values.data(), nullptr};
    const ExponentHistogram histogram;
    return writer.add_record(row, &view, &histogram);
  }
  [[nodiscard]] std::string path(std::string_view name) const { return join_path(folder_.path(), name); }
  [[nodiscard]] Completeness state() const {
    const auto dump = open_dump_folder(folder_.path());
    EXPECT_TRUE(dump.ok()) << dump.status().message();
    return (*dump)->completeness();
  }

  const TemporaryFolder folder_;
};

TEST_F(WrittenFilesTest, OfAWholeDumpAreAsTheyWereWritten) {
  const auto writer = begin();
  EXPECT_EQ(state().state, DumpState::kRunning);
  EXPECT_EQ(state().found.records, kSteps);
  EXPECT_THAT(writer->parts().losses->end_files(), IsEmpty());
  ASSERT_TRUE(writer->finish("{\"steps\": {\"captured\": 5}}").ok());
  const Completeness whole = state();
  EXPECT_EQ(whole.state, DumpState::kComplete);
  EXPECT_THAT(whole.reasons, IsEmpty());
  EXPECT_EQ(whole.found.records, kSteps);
  EXPECT_EQ(whole.written.records, kSteps);
  EXPECT_EQ(whole.found.tensors, kSteps);
  EXPECT_EQ(whole.written.ops, 1U);
  EXPECT_EQ(whole.found.steps, 5U);
}

TEST_F(WrittenFilesTest, ThatAreLongAreKnownByPieces) {
  const auto writer = begin();
  ASSERT_TRUE(write(*writer, 9, 100'000).ok());
  ASSERT_TRUE(writer->finish("{}").ok());
  EXPECT_EQ(state().state, DumpState::kComplete);
  auto file = File::open(path(kTensorsFile), O_RDWR);
  ASSERT_TRUE(file.ok());
  const std::vector<std::byte> zeros(200'000);
  ASSERT_TRUE(file->write_at(100'000, zeros).ok());
  EXPECT_EQ(state().state, DumpState::kIncomplete);
}

TEST_F(WrittenFilesTest, ThatAreRemovedReplacedOrCutMeanwhileAreToldWithTheirRecords) {
  struct Row {
    std::string_view file;
    std::string_view how;
    uint64_t records;
  };
  // Rows of a records.npy that was cut are counted by the file itself.
  for (const Row& row : {Row{kRecordsFile, "removed", kSteps},
                         {kTensorsFile, "removed", kSteps},
                         {kOpsFile, "removed", kSteps},
                         {kHistogramsFile, "removed", kSteps},
                         {kRecordsFile, "replaced", kSteps},
                         {kTensorsFile, "replaced", kSteps},
                         {kTensorsFile, "cut", kSteps},
                         {kOpsFile, "cut", kSteps}}) {
    SCOPED_TRACE(std::string(row.how) + " " + std::string(row.file));
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) std::filesystem::remove(entry);
    const auto writer = begin();
    if (row.how == "removed") std::filesystem::remove(path(row.file));
    if (row.how == "replaced") {
      ASSERT_TRUE(write_file_atomically(path(row.file), "another").ok());
    }
    if (row.how == "cut") std::filesystem::resize_file(path(row.file), 0);
    const std::vector<GoneFile> gone = writer->parts().losses->end_files();
    ASSERT_THAT(gone, SizeIs(1));
    EXPECT_EQ(gone.front().name, row.file);
    EXPECT_EQ(gone.front().how, row.how);
    EXPECT_EQ(gone.front().records, row.records);
    ASSERT_TRUE(writer->finish("{}").ok());
    if (row.how != "cut") {
      EXPECT_EQ(state().state, DumpState::kIncomplete);
    }
  }
}

TEST_F(WrittenFilesTest, ACutIsNoticedAlsoWhenTheFileGrowsAgain) {
  const auto writer = begin();
  std::filesystem::resize_file(path(kTensorsFile), 0);
  for (int64_t step = 5; step < 50; ++step) add(*writer, step);
  const std::vector<GoneFile> gone = writer->parts().losses->end_files();
  ASSERT_THAT(gone, SizeIs(1));
  EXPECT_EQ(gone.front().records, kSteps);
}

// Whenever the file is cut between writes, each value that is lost is counted.
TEST_F(WrittenFilesTest, ACutAtAnyMomentIsNoticed) {
  const auto writer = begin();
  constexpr int64_t kMore = 20'000;
  std::atomic<bool> ends{false};
  std::thread cutter([&] {
    std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): the same cuts each time
    while (!ends) {
      std::filesystem::resize_file(path(kTensorsFile), random() % (std::filesystem::file_size(path(kTensorsFile)) + 1));
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
    }
  });
  // A record that is cut again and again while it is written is refused.
  for (int64_t step = kSteps; step < kMore; ++step) static_cast<void>(write(*writer, step, step % 1000 == 0 ? 200'000 : 20));
  ends = true;
  cutter.join();
  const std::vector<GoneFile> gone = writer->parts().losses->end_files();
  ASSERT_THAT(gone, SizeIs(1));
  ASSERT_TRUE(writer->finish("{}").ok());
  const auto dump = open_dump_folder(folder_.path());
  ASSERT_TRUE(dump.ok()) << dump.status().message();
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < (*dump)->rows().size(); ++i) {
    const Result<RecordData> data = (*dump)->data(i);
    const RecordRow& row = (*dump)->rows()[i];
    const auto is_right = [&row, &data](uint64_t element) {
      const auto expected = static_cast<int32_t>(row.step + static_cast<int64_t>(element));
      return std::memcmp(static_cast<const std::byte*>(data->view.data) + element * sizeof(expected), &expected, sizeof(expected)) == 0;
    };
    if (!data.ok() || !is_right(0) || !is_right(row.numel - 1)) ++wrong;
  }
  EXPECT_GT(wrong, 0U);
  EXPECT_LE(wrong, gone.front().records);
}

TEST_F(WrittenFilesTest, NamesInAManifestLeadNowhereElse) {
  const auto writer = begin();
  ASSERT_TRUE(writer->finish("{}").ok());
  Completeness completeness;
  check_written_files(folder_.path(), *parse_json(R"({"files": {"../secret": {"bytes": 5}, "..": {}, "": 3, "a": 4}})", "m"), completeness);
  EXPECT_THAT(completeness.reasons, testing::ElementsAre(HasSubstr("a is missing")));
  for (const char* hostile :
       {R"({"files": 3})", R"({"files": {"records.npy": []}})", R"([])", R"({"files": {"records.npy": {"bytes": -1}}})"}) {
    Completeness none;
    check_written_files(folder_.path(), *parse_json(hostile, "m"), none);
  }
}

}  // namespace
}  // namespace tensortap::tap
