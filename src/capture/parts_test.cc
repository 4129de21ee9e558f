// The small parts of a session, each by itself.

#include <gtest/gtest.h>
#include <tensortap/capture.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "capture/buffer_pool.h"
#include "capture/op_table.h"
#include "capture/record_queue.h"
#include "capture/step_gate.h"

namespace tensortap {
namespace {

TEST(PoolAccount, NeverHandsOutMoreThanItsLimit) {
  PoolAccount pool(10240);
  PoolBuffer a = pool.acquire(4096, PoolAccount::WhenFull::kGiveUp);
  PoolBuffer b = pool.acquire(6000, PoolAccount::WhenFull::kGiveUp);
  ASSERT_FALSE(a.empty());
  ASSERT_FALSE(b.empty());
  EXPECT_TRUE(pool.acquire(1, PoolAccount::WhenFull::kGiveUp).empty());
  EXPECT_LE(pool.in_use(), 10240U);
  b.release();
  EXPECT_FALSE(pool.acquire(1, PoolAccount::WhenFull::kGiveUp).empty());
  EXPECT_FALSE(pool.can_hold(10241));
  EXPECT_TRUE(pool.acquire(10241, PoolAccount::WhenFull::kWait).empty()) << "would wait for ever";
}

TEST(PoolAccount, GivesTheSameMemoryAgain) {
  PoolAccount pool(1 << 20);
  const void* first = pool.acquire(5000, PoolAccount::WhenFull::kGiveUp).data();
  EXPECT_EQ(pool.acquire(5000, PoolAccount::WhenFull::kGiveUp).data(), first);
}

TEST(PoolAccount, MakesRoomFromBuffersOfOtherSizes) {
  PoolAccount pool(1 << 16);
  for (uint64_t size = 1; size <= 1 << 16; size = size * 5 / 4 + 1) {
    if (!pool.can_hold(size)) continue;
    PoolBuffer buffer = pool.acquire(size, PoolAccount::WhenFull::kGiveUp);
    ASSERT_FALSE(buffer.empty()) << size;
    std::memset(buffer.data(), 0xAB, size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0U);
  }
  EXPECT_EQ(pool.in_use(), 0U);
}

TEST(PoolAccount, WakesThoseWhoWait) {
  PoolAccount pool(4096);
  std::atomic<int> got{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&pool, &got] {
      for (int i = 0; i < 200; ++i) got += pool.acquire(3000, PoolAccount::WhenFull::kWait).empty() ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(got.load(), 800);
}

TEST(PoolAccount, SharesThePoolAndWaitsForItsOwnBuffersOnly) {
  PoolAccount large(8192);
  PoolAccount small(4096);
  EXPECT_FALSE(small.can_hold(8192)) << "the limit is the account's, not the pool's";
  PoolBuffer held = large.acquire(6000, PoolAccount::WhenFull::kWait);
  ASSERT_FALSE(held.empty());
  EXPECT_TRUE(small.acquire(4000, PoolAccount::WhenFull::kWait).empty()) << "nothing of its own could come back: it must not wait";
  PoolBuffer own = small.acquire(1000, PoolAccount::WhenFull::kWait);
  ASSERT_FALSE(own.empty());
  EXPECT_EQ(small.in_use(), 1024U);
  std::atomic<bool> returned{false};
  std::thread program([&] {
    const PoolBuffer buffer = small.acquire(4000, PoolAccount::WhenFull::kWait);
    EXPECT_TRUE(buffer.empty()) << "its own buffer is back, and the other account still has its one";
    returned = true;
  });
  own.release();
  program.join();
  EXPECT_TRUE(returned);
  held.release();
  EXPECT_FALSE(small.acquire(4000, PoolAccount::WhenFull::kGiveUp).empty());
  EXPECT_EQ(large.peak(), 6144U);
}

TEST(PoolAccount, ALimitGoesWithItsAccount) {
  PoolAccount small(2048);
  PoolAccount other(2048);
  {
    PoolAccount large(1 << 20);
    EXPECT_FALSE(large.acquire(1 << 19, PoolAccount::WhenFull::kGiveUp).empty());
  }
  PoolBuffer all = small.acquire(2048, PoolAccount::WhenFull::kGiveUp);
  ASSERT_FALSE(all.empty());
  EXPECT_TRUE(other.acquire(1, PoolAccount::WhenFull::kWait).empty()) << "the pool is as large as the largest account that is left";
}

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

TEST(CallCounter, CountsByRunMomentAndStep) {
  CallCounter calls;
  EXPECT_EQ(calls.next({1, 0, 0}, 0), 0U);
  EXPECT_EQ(calls.next({2, 0, 0}, 0), 0U);
  EXPECT_EQ(calls.next({1, 0, 0}, 0), 1U);
  EXPECT_EQ(calls.next({1, 1, 0}, 0), 0U);
  EXPECT_EQ(calls.next({1, 0, 0}, 1), 0U);
  EXPECT_EQ(calls.next({2, 0, 0}, 0), 1U);
}

TEST(StepGate, SharesADecisionBetweenRunsOfOneStep) {
  Governor governor(0, false);
  const StepSet all = StepSet::all();
  StepGate gate(all, 1, governor);
  EXPECT_TRUE(gate.begin(0, 1, 0));
  EXPECT_TRUE(gate.begin(0, 2, 0));
  gate.end(0, 1, 1);
  EXPECT_EQ(gate.verdict(0), StepGate::Verdict::kCaptured);
  gate.end(0, 2, 1);
  EXPECT_FALSE(gate.begin(0, 3, 2)) << "the same number again is a step of its own: one was asked for";
  EXPECT_EQ(gate.verdict(0), StepGate::Verdict::kStopped);
}

TEST(StepGate, TellsFarNumbersApart) {
  Governor governor(0, false);
  StepSet steps;
  steps.add(5, 5);
  StepGate gate(steps, -1, governor);
  EXPECT_EQ(gate.verdict(5), StepGate::Verdict::kCaptured);
  for (const int64_t step : {int64_t{5} + 64, int64_t{-5}, INT64_MAX, INT64_MIN, (int64_t{1} << 61) + 5}) {
    EXPECT_EQ(gate.verdict(step), StepGate::Verdict::kOutside) << step;
    EXPECT_EQ(gate.verdict(step), StepGate::Verdict::kOutside) << step;
  }
  for (int64_t step = 6; step < 20000; ++step) EXPECT_EQ(gate.verdict(step), StepGate::Verdict::kOutside);
  EXPECT_EQ(gate.verdict(5), StepGate::Verdict::kCaptured);
}

// Rounds of a phase: `run` is the phase, and the numbers begin anew in each.
TEST(StepGate, RoundsOfTwoPhasesAreStepsOfTheirOwn) {
  const StepSet steps = *StepSet::parse("0,1");
  Governor governor(0, false);
  StepGate gate(steps, -1, governor);
  for (const uint64_t phase : {TENSORTAP_MODEL_PHASE_PREFILL, TENSORTAP_MODEL_PHASE_DECODE}) {
    for (int64_t round = 0; round < 3; ++round) {
      EXPECT_EQ(gate.begin(round, phase, 0), round < 2);
      gate.end(round, phase, 0);
    }
  }
  EXPECT_EQ(gate.steps_seen(), 6U);
  EXPECT_EQ(gate.steps_captured(), 4U);
}

}  // namespace
}  // namespace tensortap
