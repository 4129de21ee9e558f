#include "session/record_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace tensortap {
namespace {

struct Sink {
  std::vector<uint64_t> written;
  static void write(void* context, QueuedRecord& record) { static_cast<Sink*>(context)->written.push_back(record.row.sequence); }
};

QueuedRecord numbered(uint64_t number) {
  QueuedRecord record;
  record.row.sequence = number;
  return record;
}

// A program that is faster than the disk: how many of its records wait at the same time.
TEST(RecordQueue, TakesLittleMemoryHoweverManyRecordsCome) {
  constexpr size_t kRecords = 4 * RecordQueue::kMostWaiting;
  struct SlowSink {
    std::atomic<size_t> pushed{0};
    size_t written = 0;
    size_t most = 0;
    static void write(void* context, QueuedRecord&) {
      auto& sink = *static_cast<SlowSink*>(context);
      // The first record takes until the queue is full.
      while (sink.written == 0 && sink.pushed < RecordQueue::kMostWaiting) std::this_thread::yield();
      sink.most = std::max(sink.most, sink.pushed - sink.written);
      ++sink.written;
    }
  } sink;
  RecordQueue queue(&SlowSink::write, &sink);
  for (size_t i = 0; i < kRecords; ++i) {
    queue.push({});
    ++sink.pushed;
  }
  queue.stop();
  EXPECT_EQ(sink.written, kRecords);
  EXPECT_GE(sink.most, RecordQueue::kMostWaiting);
  EXPECT_LE(sink.most * sizeof(QueuedRecord), size_t{8} << 20);
}

TEST(RecordQueue, WritesEverythingInOrder) {
  Sink sink;
  RecordQueue queue(&Sink::write, &sink);
  for (uint64_t i = 0; i < 40000; ++i) queue.push(numbered(i));
  queue.drain();
  ASSERT_EQ(sink.written.size(), 40000U);
  for (uint64_t i = 0; i < 40000; ++i) ASSERT_EQ(sink.written[i], i);
  queue.push(numbered(40000));
  queue.stop();
  EXPECT_EQ(sink.written.size(), 40001U);
  queue.push(numbered(40001));
  EXPECT_EQ(sink.written.size(), 40002U) << "after the end it writes on the caller's thread";
}

// A record whose elements come when a test lets them.
struct Late final : LateWork {
  explicit Late(std::atomic<int>& given) : state(given) {}
  bool is_over() override { return state != 0 || given_up; }
  void give_up() override { given_up = true; }
  void finish(QueuedRecord& /*record*/) override {}
  std::atomic<int>& state;
  bool given_up = false;
};

QueuedRecord late(std::atomic<int>& state, uint64_t number) {
  QueuedRecord record = numbered(number);
  record.late = std::make_unique<Late>(state);
  return record;
}

TEST(RecordQueue, KeepsTheOrderOfLateRecordsAndLetsOthersWriteBesideThem) {
  Sink sink;
  std::atomic<int> state{0};
  RecordQueue queue(&Sink::write, &sink);
  queue.push(late(state, 0));
  for (uint64_t i = 1; i < 2 * RecordQueue::kMostWaiting; ++i) queue.push(numbered(i));
  {
    const auto token = queue.writer_token();
    EXPECT_TRUE(sink.written.empty());
  }
  EXPECT_TRUE(queue.is_behind());
  state = 1;
  queue.drain();
  ASSERT_EQ(sink.written.size(), 2 * RecordQueue::kMostWaiting);
  for (uint64_t i = 0; i < sink.written.size(); ++i) ASSERT_EQ(sink.written[i], i);
  EXPECT_FALSE(queue.is_behind());
}

TEST(RecordQueue, WritesRecordsOnTheCallersThreadWhereTooManyWaitForADevice) {
  Sink sink;
  std::atomic<int> state{0};
  RecordQueue queue(&Sink::write, &sink);
  queue.push(late(state, 0));
  while (!queue.is_behind()) std::this_thread::yield();
  for (uint64_t i = 1; i <= RecordQueue::kMostBehind + 5; ++i) queue.push(numbered(i));
  {
    const auto token = queue.writer_token();
    EXPECT_EQ(sink.written.size(), 5U);
  }
  QueuedRecord end = numbered(99);
  end.ends_step = true;
  queue.push(std::move(end));
  state = 1;
  queue.stop();
  EXPECT_EQ(sink.written.size(), RecordQueue::kMostBehind + 7);
  EXPECT_EQ(sink.written.back(), 99U) << "the end of a step keeps its place";
}

TEST(RecordQueue, AThreadWithALateRecordNeverWaits) {
  struct BusySink {
    std::atomic<bool> goes_on{false};
    std::atomic<size_t> written{0};
    static void write(void* context, QueuedRecord&) {
      auto& sink = *static_cast<BusySink*>(context);
      while (!sink.goes_on) std::this_thread::yield();
      ++sink.written;
    }
  } sink;
  std::atomic<int> state{1};
  RecordQueue queue(&BusySink::write, &sink);
  for (uint64_t i = 0; i < RecordQueue::kMostWaiting + 50; ++i) queue.push(late(state, i));
  sink.goes_on = true;
  queue.stop();
  EXPECT_EQ(sink.written, RecordQueue::kMostWaiting + 50);
}

TEST(RecordQueue, NeitherItsEndNorAFlushWaitsForADeviceForever) {
  Sink sink;
  std::atomic<int> state{0};
  std::atomic<int> there{1};
  RecordQueue queue(&Sink::write, &sink, std::chrono::milliseconds(50));
  queue.push(late(state, 0));
  queue.push(late(there, 1));
  for (uint64_t i = 2; i < 20; ++i) queue.push(late(state, i));
  const auto begin = std::chrono::steady_clock::now();
  queue.drain();
  EXPECT_TRUE(sink.written.empty());
  queue.stop();
  EXPECT_EQ(sink.written.size(), 20U);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  std::atomic<int> never{0};
  queue.push(late(never, 20));
  EXPECT_EQ(sink.written.size(), 21U);
}

// A caller that waits for a record does not wait for company.
TEST(RecordQueue, TheThreadWaitsForCompanyAndKeepsNobodyWaiting) {
  struct CountingSink {
    std::atomic<size_t> written{0};
    static void write(void* context, QueuedRecord&) { ++static_cast<CountingSink*>(context)->written; }
  } sink;
  std::atomic<int> state{1};
  const auto begin = std::chrono::steady_clock::now();
  {
    RecordQueue queue(&CountingSink::write, &sink, RecordQueue::kPatience, std::chrono::seconds(100));
    queue.push(late(state, 0));
    while (sink.written == 0) std::this_thread::yield();
    for (uint64_t i = 1; i < 20; ++i) queue.push(late(state, i));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(sink.written, 1U);
    queue.drain();
    EXPECT_EQ(sink.written, 20U);
    for (uint64_t i = 0; i < RecordQueue::kMostWaiting / 2; ++i) queue.push(late(state, i));
    while (sink.written < 20 + RecordQueue::kMostWaiting / 2) std::this_thread::yield();
    queue.push(late(state, 0));
  }
  EXPECT_EQ(sink.written, 21 + RecordQueue::kMostWaiting / 2);
  RecordQueue queue(&CountingSink::write, &sink);
  for (const size_t before = sink.written; sink.written < before + 40;) queue.push(late(state, 0));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(50));
}

}  // namespace
}  // namespace tensortap
