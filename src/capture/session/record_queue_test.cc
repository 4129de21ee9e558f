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

}  // namespace
}  // namespace tensortap
