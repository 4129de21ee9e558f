// Rows that come before their values: what a program that dies leaves of them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/temporary_folder.h"
#include "base/text.h"
#include "system/tap/repair.h"
#include "system/tap/ring_memory.h"
#include "system/tap/tap_files.h"
#include "trace/waiting_values.h"

namespace tensortap::tap {
namespace {

constexpr std::array<float, 4> kValues = {1, 2, 3, 4};

TensorView values_view() {
  static constexpr std::array<int64_t, 1> kDims = {4};
  return {{DType::kFloat32, Shape(kDims)}, kValues.data(), nullptr};
}

RecordRow row_number(uint64_t number) {
  RecordRow row;
  row.op = 0;
  row.sequence = number;
  row.step = static_cast<int64_t>(number);
  row.stats.max = static_cast<double>(number);
  row.set_desc(values_view().desc);
  return row;
}

struct Handed {
  uint64_t rows;
  uint64_t values;  // of the first rows; the others are on their way
};

// Runs a program that hands over rows, then the values of some of them, and dies of SIGKILL.
void hand_over_and_die(const std::string& folder, const Handed& handed) {
  const pid_t child = fork();
  if (child == 0) {
    DumpInfo info;
    info.folder = folder;
    Result<std::unique_ptr<LayoutWriter>> writer = create_dump(info, CaptureSpec());
    if (!writer.ok()) _exit(1);
    OpInfo op;
    op.name = "op";
    (void)(*writer)->add_op(0, op);
    std::vector<std::pair<uint64_t, RecordRow>> rows;
    for (uint64_t i = 0; i < handed.rows; ++i) {
      RecordRow row = row_number(i);
      const Result<uint64_t> number = (*writer)->parts().rows_first->add_row_first(row, nullptr);
      if (number.ok()) rows.emplace_back(*number, row);
    }
    const TensorView view = values_view();
    for (uint64_t i = 0; i < handed.values; ++i) (void)(*writer)->parts().rows_first->add_values(rows[i].first, rows[i].second, &view);
    (*writer)->parts().losses->count_lost(3);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
}

void expect_dump(const std::string& folder, const Handed& handed) {
  const auto dump = open_dump_folder(folder);
  ASSERT_TRUE(dump.ok()) << dump.status().message();
  ASSERT_EQ((*dump)->rows().size(), handed.rows);
  for (uint64_t i = 0; i < handed.rows; ++i) {
    const RecordRow& row = (*dump)->rows()[i];
    ASSERT_EQ(row.sequence, i);
    ASSERT_EQ(row.stats.max, static_cast<double>(i)) << "statistics come with the row";
    ASSERT_EQ(waits_for_values(row), i >= handed.values) << i;
    const Result<RecordData> data = (*dump)->data(i);
    ASSERT_EQ(data.ok(), i < handed.values) << i;
    if (data.ok()) {
      ASSERT_EQ(std::memcmp(data->view.data, kValues.data(), sizeof(kValues)), 0);
    } else {
      ASSERT_NE(data.status().message().find("on their way"), std::string::npos) << data.status().message();
    }
  }
}

void expect_repair(const std::string& folder, const Handed& handed) {
  const Result<RepairReport> report = repair_dump(folder, false);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->records_kept, handed.rows);
  EXPECT_EQ(report->records_lost, 0U);
  EXPECT_EQ(report->tensors_kept, handed.values);
  EXPECT_EQ(report->tensors_lost, handed.rows - handed.values);
  EXPECT_EQ(report->tensors_on_the_way, handed.rows - handed.values);
  EXPECT_EQ(report->counted_losses, 3U);
  const Result<std::string> manifest = read_file(join_path(folder, kRunFile));
  ASSERT_TRUE(manifest.ok());
  EXPECT_EQ(parse_json(*manifest, kRunFile)->at("tensors_on_the_way"), handed.rows - handed.values);
  expect_dump(folder, handed);
  const Result<RepairReport> again = repair_dump(folder, false);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->healthy) << (again->actions.empty() ? "" : again->actions[0]);
  EXPECT_FALSE(path_exists(join_path(folder, kLeftFile)));
}

// In the ring alone, in the file as well, and values that come when their row has left the ring.
const std::array<Handed, 6> kCases = {Handed{1, 0},
                                      Handed{1, 1},
                                      Handed{kBlockRows, kBlockRows / 2},
                                      Handed{kBlockRows + 1, kBlockRows + 1},
                                      Handed{3 * kRingRows + 5, 7},
                                      Handed{3 * kRingRows, 3 * kRingRows - 1}};

TEST(RowsFirst, AKilledProgramKeepsRowsAndSaysWhoseValuesAreMissing) {
  for (const Handed& handed : kCases) {
    const TemporaryFolder folder;
    hand_over_and_die(folder.path(), handed);
    expect_dump(folder.path(), handed);
    expect_repair(folder.path(), handed);
  }
}

TEST(RowsFirst, TheCountsOutliveTheRing) {
  const Handed handed{kBlockRows + 9, 30};
  const TemporaryFolder folder;
  hand_over_and_die(folder.path(), handed);
  settle_left_rings();
  EXPECT_TRUE(path_exists(join_path(folder.path(), kLeftFile)));
  expect_dump(folder.path(), handed);
  expect_repair(folder.path(), handed);
}

TEST(RowsFirst, RowsThatWereCutOffAreCounted) {
  const TemporaryFolder folder;
  hand_over_and_die(folder.path(), {kBlockRows + 9, 0});
  settle_left_rings();
  std::filesystem::resize_file(join_path(folder.path(), kRecordsFile), 4096 + 100 * sizeof(RecordRow));
  {
    const auto dump = open_dump_folder(folder.path());
    ASSERT_TRUE(dump.ok());
    EXPECT_EQ((*dump)->completeness().written.records, kBlockRows + 9);
    EXPECT_THAT((*dump)->completeness().reasons, testing::Contains("records.npy has 100 of 137 records"));
    EXPECT_THAT((*dump)->completeness().reasons, testing::Contains("the program had counted 3 lost records before it died"));
  }
  const Result<RepairReport> report = repair_dump(folder.path(), false);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->records_kept, 100U);
  EXPECT_EQ(report->records_lost, kBlockRows + 9 - 100);
}

}  // namespace
}  // namespace tensortap::tap
