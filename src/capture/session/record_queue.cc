#include "session/record_queue.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/signals_blocked.h"
#include "base/size_signal.h"

namespace tensortap {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::microseconds kShortestNap{20};
constexpr std::chrono::microseconds kLongestNap{500};

}  // namespace

bool RecordQueue::start_locked() {
  if (thread_.joinable()) return true;
  if (stopping_ || no_thread_) return false;
  const SignalsBlocked blocked;
  try {
    thread_ = std::thread(&RecordQueue::run, this);
  } catch (const std::system_error&) {
    no_thread_ = true;
  }
  return thread_.joinable();
}

void RecordQueue::write_here(QueuedRecord& record) {
  const std::lock_guard token(writing_);
  write_(context_, record);
}

void RecordQueue::push(QueuedRecord record) {
  {
    std::unique_lock lock(mutex_);
    if (start_locked()) {
      const bool is_late = record.late != nullptr;
      room_.wait(lock, [&] { return is_late || has_room_locked() || behind_ || stopping_; });
      if (has_room_locked() || record.is_notice() || waiting_.size() < kMostBehind || stopping_) {
        // Statistics alone wait for company: waking the thread costs more than a row.
        const bool now = !record.data.empty() || record.ends_step || is_late || waiting_.size() + 1 >= kMostUnannounced;
        waiting_.push_back(std::move(record));
        ++pushed_;
        if (now && !std::exchange(awake_, true)) work_.notify_one();
        if (waiting_.size() == kMostWaiting / 2) hurry_locked();
        return;
      }
    }
  }
  // The caller does not wait for a device.
  if (record.late != nullptr && !record.late->is_over()) record.late->give_up();
  write_here(record);
}

bool RecordQueue::has_room_locked() const { return waiting_.size() < kMostWaiting; }

// Polls: what waits for an event of a device cannot be interrupted, and the end of a program must not hang.
void RecordQueue::await(LateWork& late) {
  if (late.is_over()) return;
  if (given_up_) return late.give_up();
  {
    const std::lock_guard lock(mutex_);
    behind_ = true;
  }
  room_.notify_all();
  auto nap = kShortestNap;
  Clock::time_point began_to_stop{};
  while (!late.is_over()) {
    if (stopping_ && began_to_stop == Clock::time_point{}) began_to_stop = Clock::now();
    if (stopping_ && Clock::now() - began_to_stop >= patience_) {
      given_up_ = true;
      late.give_up();
      break;
    }
    std::this_thread::sleep_for(nap);
    nap = std::min(nap * 2, kLongestNap);
  }
  const std::lock_guard lock(mutex_);
  behind_ = false;
}

// Waking the thread costs a thread of the program more than a late record does, and the device needs some time anyway.
void RecordQueue::next(std::vector<QueuedRecord>& working, bool was_late) {
  std::unique_lock lock(mutex_);
  written_ += working.size();
  working.clear();
  changed_.notify_all();
  if (was_late && company_.count() > 0) work_.wait_for(lock, company_, [this] { return hurries_ || stopping_; });
  hurries_ = false;
  if (waiting_.empty()) awake_ = false;
  work_.wait(lock, [this] { return awake_ || stopping_; });
  working.swap(waiting_);
  room_.notify_all();
}

void RecordQueue::run() {
  block_size_signal_for_good();
  std::vector<QueuedRecord> working;
  for (bool was_late = false;;) {
    next(working, was_late);
    if (working.empty()) return;
    was_late = false;
    for (QueuedRecord& record : working) {
      was_late = was_late || record.late != nullptr;
      // Without the token: a thread of the program may want to write by itself meanwhile.
      if (record.late != nullptr) await(*record.late);
      write_here(record);
      record.data.release();
      record.late.reset();
      overall_.fetch_add(1, std::memory_order_relaxed);
    }
  }
}

void RecordQueue::hurry_locked() {
  awake_ = hurries_ = true;
  work_.notify_one();
}

void RecordQueue::drain() {
  std::unique_lock lock(mutex_);
  const uint64_t target = pushed_;
  if (!waiting_.empty()) hurry_locked();
  const auto is_done = [this, target] { return written_ >= target; };
  for (;;) {
    const uint64_t before = overall_.load(std::memory_order_relaxed);
    if (changed_.wait_for(lock, patience_, is_done)) return;
    if (behind_ && overall_.load(std::memory_order_relaxed) == before) return;
  }
}

void RecordQueue::stop() {
  std::thread thread;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    thread = std::move(thread_);
  }
  work_.notify_all();
  room_.notify_all();
  if (thread.joinable()) thread.join();
}

}  // namespace tensortap
