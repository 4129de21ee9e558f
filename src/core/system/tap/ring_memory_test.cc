#include "system/tap/ring_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include "base/temporary_folder.h"
#include "base/text.h"
#include "system/tap/records_file.h"
#include "system/tap/repair.h"
#include "system/tap/tap_files.h"

namespace tensortap::tap {
namespace {

// How the names of the rings of a dump begin.
std::string ring_prefix(const std::string& folder) {
  struct stat records {};
  if (stat(join_path(folder, kRecordsFile).c_str(), &records) != 0) return "none";
  std::array<char, 64> prefix{};
  std::snprintf(prefix.data(), prefix.size(), "tensortap-rows-%lx-%lx-", records.st_dev, records.st_ino);
  return prefix.data();
}

// The dump's ring, or "". Other processes of this user may settle that of a dead program at any time.
std::string ring_of(const std::string& folder) {
  const std::string prefix = ring_prefix(folder);
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    if (entry.path().filename().string().starts_with(prefix)) return entry.path().string();
  }
  return "";
}

bool has_ring(const std::string& folder) { return !ring_of(folder).empty(); }

RecordRow row_of(uint64_t number) {
  RecordRow row;
  row.sequence = number;
  row.step = static_cast<int64_t>(number / 10);
  return row;
}

// Runs a program that records `rows` rows and dies of SIGKILL.
void record_and_die(const std::string& folder, uint64_t rows) {
  const pid_t child = fork();
  if (child == 0) {
    Result<std::unique_ptr<RecordsFile>> records = RecordsFile::create(*Folder::open(folder), Access::kPrivate);
    for (uint64_t i = 0; i < rows && records.ok(); ++i) {
      RecordRow row = row_of(i);
      (void)(*records)->append(row);
    }
    kill(getpid(), SIGKILL);
  }
  waitpid(child, nullptr, 0);
}

void expect_rows(const std::string& folder, uint64_t rows) {
  const auto dump = open_dump_folder(folder);
  ASSERT_TRUE(dump.ok()) << dump.status().message();
  ASSERT_EQ((*dump)->rows().size(), rows);
  for (uint64_t i = 0; i < rows; ++i) ASSERT_EQ((*dump)->rows()[i].sequence, i);
}

// A capture of this process that goes on, with `rows` rows.
std::unique_ptr<RecordsFile> begin_capture(const std::string& folder, uint64_t rows) {
  Result<std::unique_ptr<RecordsFile>> records = RecordsFile::create(*Folder::open(folder), Access::kPrivate);
  EXPECT_TRUE(records.ok()) << records.status().message();
  for (uint64_t i = 0; i < rows && records.ok(); ++i) {
    RecordRow row = row_of(i);
    EXPECT_TRUE((*records)->append(row).ok());
  }
  return records.ok() ? *std::move(records) : nullptr;
}

TEST(RingMemory, AKilledProgramLosesNoRow) {
  for (const uint64_t rows : {uint64_t{1}, kBlockRows, kBlockRows + 1, 3 * kRingRows - 1, 3 * kRingRows}) {
    const TemporaryFolder folder;
    record_and_die(folder.path(), rows);
    expect_rows(folder.path(), rows);
    const Result<RepairReport> report = repair_dump(folder.path(), false);
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(report->records_kept, rows);
    EXPECT_EQ(report->records_lost, 0U);
    expect_rows(folder.path(), rows);
    EXPECT_FALSE(has_ring(folder.path()));
    EXPECT_EQ(std::filesystem::file_size(join_path(folder.path(), kRecordsFile)), kRowsBegin + rows * sizeof(RecordRow));
  }
}

TEST(RingMemory, TheNextStartWritesWhatADeadProgramLeft) {
  const TemporaryFolder dead;
  record_and_die(dead.path(), 77);
  const TemporaryFolder next;
  {
    const auto records = RecordsFile::create(*Folder::open(next.path()), Access::kPrivate);
    ASSERT_TRUE(records.ok());
    EXPECT_TRUE(has_ring(next.path()));
    EXPECT_FALSE(has_ring(dead.path()));
  }
  EXPECT_FALSE(has_ring(next.path()));
  expect_rows(dead.path(), 77);
}

TEST(RingMemory, ARunningProgramsRowsCanBeReadAndItsMemoryStays) {
  const TemporaryFolder folder;
  const auto records = begin_capture(folder.path(), 200);
  expect_rows(folder.path(), 200);
  const TemporaryFolder next;
  const auto others = RecordsFile::create(*Folder::open(next.path()), Access::kPrivate);
  EXPECT_TRUE(has_ring(folder.path()));
  EXPECT_FALSE(repair_dump(folder.path(), false).ok()) << "it is alive";
  expect_rows(folder.path(), 200);
}

TEST(RingMemory, WithoutSharedMemoryTheFileGetsItsRowsSoon) {
  const TemporaryFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    const bool alone = unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    if (!alone || mount("none", "/dev/shm", "tmpfs", 0, "size=64k") != 0) _exit(0);
    const auto records = RecordsFile::create(*Folder::open(folder.path()), Access::kPrivate);
    for (uint64_t i = 0; i < 20 && records.ok(); ++i) {
      RecordRow row = row_of(i);
      (void)(*records)->append(row);
    }
    for (;;) pause();
  }
  // Waits until the dump contains the rows; forever, if they never come.
  for (size_t rows = 0; rows < 20; usleep(10'000)) {
    if (waitpid(child, nullptr, WNOHANG) == child) GTEST_SKIP() << "mounting a file system needs root";
    const auto dump = open_dump_folder(folder.path());
    rows = dump.ok() ? (*dump)->rows().size() : 0;
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(has_ring(folder.path()));
  expect_rows(folder.path(), 20);
}

// The file is cut while the program writes: a store into a map of it would end the program.
TEST(RingMemory, AFileThatIsCutEndsNobody) {
  const TemporaryFolder folder;
  const std::string path = join_path(folder.path(), kRecordsFile);
  const auto records = RecordsFile::create(*Folder::open(folder.path()), Access::kPrivate);
  ASSERT_TRUE(records.ok());
  // To nothing, to the middle of a row (behind its `committed`), and longer than what is written.
  for (uint64_t i = 0; i < 5000; ++i) {
    if (i % 700 == 0) {
      const uint64_t rows = i % 1400 == 0 ? 0 : i / 2;
      ASSERT_EQ(truncate(path.c_str(), rows == 0 ? 0 : static_cast<off_t>(kRowsBegin + rows * sizeof(RecordRow) + 430)), 0);
    }
    RecordRow row = row_of(i);
    ASSERT_TRUE((*records)->append(row).ok());
  }
  const Status flushed = (*records)->flush();
  EXPECT_NE(flushed.message().find("another program made the file shorter"), std::string::npos) << flushed.message();
  const uint64_t lost = (*records)->take_lost().records;
  EXPECT_GT(lost, 0U);
  EXPECT_TRUE((*records)->flush().ok()) << "reported once";
  ASSERT_TRUE((*records)->finish().ok());
  EXPECT_EQ((*records)->take_lost().records, 0U);
  // The rows that remain are whole.
  const auto dump = open_dump_folder(folder.path());
  ASSERT_TRUE(dump.ok()) << dump.status().message();
  EXPECT_EQ((*dump)->rows().size() + lost, 5000U);
  std::set<uint64_t> seen;
  for (const RecordRow& row : (*dump)->rows())
    EXPECT_TRUE(row.step == static_cast<int64_t>(row.sequence / 10) && seen.insert(row.sequence).second);
}

TEST(RingMemory, WhatIsCutBeforeTheEndIsLostAndTheRestStays) {
  const TemporaryFolder folder;
  const std::string path = join_path(folder.path(), kRecordsFile);
  const auto records = begin_capture(folder.path(), 1000);
  ASSERT_NE(records, nullptr);
  ASSERT_TRUE(records->flush().ok());
  ASSERT_EQ(truncate(path.c_str(), static_cast<off_t>(kRowsBegin + 300 * sizeof(RecordRow) + 1)), 0);
  ASSERT_FALSE(records->flush().ok());
  EXPECT_EQ(records->take_lost().records, 700U);
  ASSERT_TRUE(records->finish().ok());
  expect_rows(folder.path(), 300);
}

// Puts the row that begins there, complete by its mark alone: a write that is on its way.
void write_part_of_row(const std::string& folder, uint64_t number) {
  auto file = File::open(join_path(folder, kRecordsFile), O_RDWR);
  ASSERT_TRUE(file.ok());
  RecordRow part;
  part.committed = 1;
  ASSERT_TRUE(file->write_at(kRowsBegin + number * sizeof(RecordRow), std::as_bytes(std::span(&part, 1))).ok());
}

TEST(RingMemory, ARowThatTheFileHasInPartIsTheRings) {
  const TemporaryFolder folder;
  record_and_die(folder.path(), 20);
  write_part_of_row(folder.path(), 7);
  expect_rows(folder.path(), 20);
  ASSERT_TRUE(repair_dump(folder.path(), false).ok());
  expect_rows(folder.path(), 20);
}

TEST(RingMemory, ARowThatIsWrittenWhileAnotherProcessReadsIsNotThereYet) {
  const TemporaryFolder folder;
  const auto records = begin_capture(folder.path(), 200);
  for (const uint64_t number : {200, 300, 700}) write_part_of_row(folder.path(), number);
  expect_rows(folder.path(), 200);
}

// The inode of a removed file goes to the next one.
TEST(RingMemory, ANewerFileDoesNotGetTheRowsOfARemovedOne) {
  const TemporaryFolder dead;
  record_and_die(dead.path(), 20);
  const std::string path = ring_of(dead.path());
  ASSERT_NE(path, "");
  const TemporaryFolder newer;
  std::filesystem::copy(join_path(dead.path(), kRecordsFile), join_path(newer.path(), kRecordsFile));
  struct stat facts {};
  ASSERT_EQ(stat(join_path(newer.path(), kRecordsFile).c_str(), &facts), 0);
  auto ring = File::open(path, O_RDWR);
  ASSERT_TRUE(ring.ok());
  const std::array<uint64_t, 2> place = {facts.st_dev, facts.st_ino};
  ASSERT_TRUE(ring->write_at(16, std::as_bytes(std::span(place))).ok());
  std::filesystem::rename(path, "/dev/shm/" + ring_prefix(newer.path()) + "test");
  expect_rows(newer.path(), 0);
  remove_ring(*File::open(join_path(newer.path(), kRecordsFile), O_RDONLY));
  EXPECT_FALSE(has_ring(newer.path()));
}

// Objects that others may have put there.
TEST(RingMemory, ObjectsThatAreNoRingsAreLeftAlone) {
  const TemporaryFolder folder;
  const std::string path = "/dev/shm/tensortap-rows-0-0-test";
  ASSERT_TRUE(write_file_atomically(path, std::string(sizeof(RingMemory) + 4096, '\xFF')).ok());
  settle_left_rings();
  EXPECT_TRUE(path_exists(path));
  EXPECT_EQ(unlink(path.c_str()), 0);
}

}  // namespace
}  // namespace tensortap::tap
