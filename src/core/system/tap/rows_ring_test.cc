#include "system/tap/rows_ring.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "trace/waiting_values.h"

namespace tensortap::tap {
namespace {

// A file that remembers its rows, and refuses some writes.
struct FakeFile {
  std::mutex mutex;
  std::map<uint64_t, RecordRow> rows;
  std::mt19937 random{7};
  int refused_of_100 = 0;
  std::atomic<int> at_once{0};
  bool overlapped = false;

  static Status write(void* context, uint64_t first, std::span<const RecordRow> rows) {
    auto& file = *static_cast<FakeFile*>(context);
    if (file.at_once.fetch_add(1) != 0) file.overlapped = true;
    Status status;
    {
      const std::lock_guard lock(file.mutex);
      if (static_cast<int>(file.random() % 100) < file.refused_of_100) {
        status = io_error("refused");
      } else {
        for (size_t i = 0; i < rows.size(); ++i) file.rows[first + i] = rows[i];
      }
    }
    --file.at_once;
    return status;
  }
};

// A row whose parts all follow from one number, so that a mixture of two would show.
void fill(RecordRow& row, uint64_t value) {
  row = RecordRow{};
  row.sequence = value;
  row.time_ns = static_cast<int64_t>(value * 3);
  row.run = value ^ 0xABCDU;
  row.data_offset = value * 7;
}
bool is_whole(const RecordRow& row) {
  return row.time_ns == static_cast<int64_t>(row.sequence * 3) && row.run == (row.sequence ^ 0xABCDU) &&
         row.data_offset == row.sequence * 7;
}

struct Ring {
  explicit Ring(int64_t longest_wait_ns = RowsRing::kLongestWaitNs)
      : memory(std::make_unique<RingMemory>()), ring(*memory, &FakeFile::write, &file, longest_wait_ns) {
    ring.allow(UINT64_MAX);
  }
  Status add(uint64_t value) {
    const std::optional<RowsRing::Place> place = ring.claim();
    fill(*place->row, value);
    return ring.complete(*place);
  }
  FakeFile file;
  std::unique_ptr<RingMemory> memory;
  RowsRing ring;
};

TEST(RowsRing, WritesBlocksInOrderAndTheRestWhenAsked) {
  Ring r;
  for (uint64_t i = 0; i < 1000; ++i) ASSERT_TRUE(r.add(i).ok());
  EXPECT_EQ(r.file.rows.size(), 1000 / kBlockRows * kBlockRows);
  ASSERT_TRUE(r.ring.write_begun().ok());
  ASSERT_EQ(r.file.rows.size(), 1000U);
  for (uint64_t i = 0; i < 1000; ++i) EXPECT_EQ(r.file.rows[i].sequence, i);
  EXPECT_EQ(r.ring.prefix(), 1000U);
  EXPECT_EQ(r.ring.take_lost().records, 0U);
}

TEST(RowsRing, HandsOutNoPlaceThatTheFileHasNoRoomFor) {
  Ring r;
  r.ring.allow(2);
  ASSERT_TRUE(r.add(0).ok());
  ASSERT_TRUE(r.add(1).ok());
  EXPECT_FALSE(r.ring.claim().has_value());
  r.ring.allow(3);
  EXPECT_TRUE(r.add(2).ok());
  EXPECT_EQ(r.ring.taken(), 3U);
}

TEST(RowsRing, AThreadThatNeverComesBackCostsItsRowAlone) {
  Ring r(1'000'000);
  ASSERT_TRUE(r.add(0).ok());
  ASSERT_TRUE(r.ring.claim().has_value()) << "and is never completed";
  for (uint64_t i = 2; i < 4 * kRingRows; ++i) ASSERT_TRUE(r.add(i).ok());
  ASSERT_TRUE(r.ring.write_begun().ok());
  EXPECT_FALSE(r.file.rows.contains(1));
  // Its slot is used no more, since the thread may still store into it.
  EXPECT_GE(r.file.rows.size(), 4 * kRingRows - 8);
  EXPECT_EQ(r.ring.prefix(), 1U);
}

TEST(RowsRing, ARowThatComesTooLateIsRefused) {
  Ring r(1'000'000);
  const std::optional<RowsRing::Place> late = r.ring.claim();
  for (uint64_t i = 1; i < 2 * kRingRows; ++i) ASSERT_TRUE(r.add(i).ok());
  fill(*late->row, 99);
  EXPECT_FALSE(r.ring.complete(*late).ok());
  const uint64_t before = r.ring.taken();
  for (uint64_t i = 0; i < kRingRows; ++i) ASSERT_TRUE(r.add(i).ok());
  EXPECT_EQ(r.ring.taken() - before, kRingRows) << "its slot is used again";
  ASSERT_TRUE(r.ring.write_begun().ok());
  EXPECT_FALSE(r.file.rows.contains(late->number));
}

TEST(RowsRing, CountsWhatCannotBeWritten) {
  Ring r;
  r.file.refused_of_100 = 100;
  uint64_t refused = 0;
  for (uint64_t i = 0; i < kBlockRows + 5; ++i) refused += r.add(i).ok() ? 0 : 1;
  EXPECT_EQ(refused, 1U) << "the row that filled the block";
  EXPECT_EQ(r.ring.take_lost().records, kBlockRows - 1);
  EXPECT_FALSE(r.ring.write_begun().ok());
  EXPECT_EQ(r.ring.take_lost().records, 5U);
  r.file.refused_of_100 = 0;
  ASSERT_TRUE(r.ring.write_begun().ok());
  EXPECT_TRUE(r.file.rows.empty()) << "what is counted as lost does not appear later";
  EXPECT_EQ(r.ring.prefix(), 0U);
}

TEST(RowsRing, ARowWhoseValuesWereLostBeforeIsOneLoss) {
  Ring r;
  r.file.refused_of_100 = 100;
  const std::array<std::pair<uint8_t, uint64_t>, 4> kinds = {
      {{kRecordHasData, 0}, {kRecordDataLost, 0}, {kRecordDataLost, kValuesOnTheWay}, {0, 0}}};
  for (const auto& [flags, member] : kinds) {
    const std::optional<RowsRing::Place> place = r.ring.claim();
    fill(*place->row, 1);
    place->row->flags = flags;
    place->row->member = member;
    ASSERT_TRUE(r.ring.complete(*place).ok());
  }
  EXPECT_FALSE(r.ring.write_begun().ok());
  const LostRecords lost = r.ring.take_lost();
  EXPECT_EQ(lost.records, 4U);
  EXPECT_EQ(lost.counted, 1U) << "values that are on their way were not";
  EXPECT_EQ(r.ring.take_lost().counted, 0U);
}

// Threads that stop at random places, and a disk that fails at random: each row is in the file, or refused, or counted.
void run_at_random(uint32_t seed, int refused_of_100) {
  Ring r(2'000'000);
  r.file.refused_of_100 = refused_of_100;
  std::mutex mutex;
  std::map<uint64_t, uint64_t> accepted;  // number -> value
  std::atomic<uint64_t> values{0};
  const auto work = [&](uint32_t own_seed) {
    std::mt19937 random(own_seed);
    for (int i = 0; i < 3000; ++i) {
      const std::optional<RowsRing::Place> place = r.ring.claim();
      const uint64_t stop = random() % 4000;
      if (stop == 0) continue;  // as a thread that died
      if (stop < 4) std::this_thread::sleep_for(std::chrono::milliseconds(random() % 8));
      const uint64_t value = values.fetch_add(1);
      fill(*place->row, value);
      if (!r.ring.complete(*place).ok()) continue;
      const std::lock_guard lock(mutex);
      accepted[place->number] = value;
    }
  };
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t) threads.emplace_back(work, seed * 16 + t);
  std::atomic<bool> ends{false};
  std::thread flusher([&] {
    while (!ends) {
      (void)r.ring.write_begun();
      // In this order: threads take places all the time.
      const uint64_t prefix = r.ring.prefix();
      EXPECT_LE(prefix, r.ring.taken());
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
  });
  for (std::thread& thread : threads) thread.join();
  ends = true;
  flusher.join();
  (void)r.ring.write_begun();
  uint64_t missing = 0;
  for (const auto& [number, value] : accepted) {
    const auto found = r.file.rows.find(number);
    if (found == r.file.rows.end()) {
      ++missing;
    } else {
      EXPECT_EQ(found->second.sequence, value);
    }
  }
  for (const auto& [number, row] : r.file.rows) EXPECT_TRUE(is_whole(row)) << number;
  EXPECT_EQ(missing, r.ring.take_lost().records);
  EXPECT_FALSE(r.file.overlapped);
  for (uint64_t number = 0; number < r.ring.prefix(); ++number) EXPECT_TRUE(r.file.rows.contains(number));
}

TEST(RowsRing, EveryRowIsWrittenRefusedOrCounted) {
  for (uint32_t seed = 0; seed < 8; ++seed) run_at_random(seed, seed % 2 == 0 ? 0 : 20);
}

}  // namespace
}  // namespace tensortap::tap
