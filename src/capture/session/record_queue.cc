#include "session/record_queue.h"

#include <system_error>
#include <utility>

#include "base/signals_blocked.h"
#include "base/size_signal.h"

namespace tensortap {
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
      room_.wait(lock, [this] { return waiting_.size() < kMostWaiting || stopping_; });
      // Statistics alone wait for company: waking the thread costs more than a row.
      const bool now = !record.data.empty() || record.ends_step || waiting_.size() + 1 >= kMostUnannounced;
      waiting_.push_back(std::move(record));
      ++pushed_;
      if (now && !std::exchange(awake_, true)) work_.notify_one();
      return;
    }
  }
  write_here(record);
}

void RecordQueue::run() {
  block_size_signal_for_good();
  std::vector<QueuedRecord> working;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      written_ += working.size();
      working.clear();
      changed_.notify_all();
      if (waiting_.empty()) awake_ = false;
      work_.wait(lock, [this] { return awake_ || stopping_; });
      if (waiting_.empty()) return;
      working.swap(waiting_);
      room_.notify_all();
    }
    for (QueuedRecord& record : working) {
      write_here(record);
      record.data.release();
    }
  }
}

void RecordQueue::drain() {
  std::unique_lock lock(mutex_);
  const uint64_t target = pushed_;
  if (!waiting_.empty() && !std::exchange(awake_, true)) work_.notify_one();
  changed_.wait(lock, [this, target] { return written_ >= target; });
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
