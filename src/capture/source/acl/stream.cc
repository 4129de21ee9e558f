#include "source/acl/stream.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/clock.h"
#include "source/acl/failure.h"
#include "source/acl/live_handles.h"

namespace tensortap::acl_source {
namespace {

std::atomic<uint32_t> next_stream_id{0};

// Waits until `ready`; false when the time is over. Negative = for ever.
template <class Ready>
bool wait_for(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, int32_t timeout_ms, Ready ready) {
  if (timeout_ms >= 0) return changed.wait_for(lock, std::chrono::milliseconds(timeout_ms), ready);
  changed.wait(lock, ready);
  return true;
}

}  // namespace

Stream::Stream() : id_(next_stream_id.fetch_add(1)) {}

Stream::~Stream() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void Stream::add(Task task) {
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  tasks_.push_back(std::move(task));
  changed_.notify_all();
}

void Stream::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ends_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    const Task task = std::move(tasks_.front());
    tasks_.pop_front();
    busy_ = true;
    lock.unlock();
    const aclError error = answer(task);
    lock.lock();
    busy_ = false;
    if (error_ == ACL_SUCCESS) error_ = error;
    changed_.notify_all();
  }
}

aclError Stream::synchronize(int32_t timeout_ms) {
  std::unique_lock lock(mutex_);
  if (!wait_for(changed_, lock, timeout_ms, [this] { return tasks_.empty() && !busy_; })) {
    return fail(ACL_ERROR_WAIT_CALLBACK_TIMEOUT, "the stream still has tasks");
  }
  return std::exchange(error_, ACL_SUCCESS);
}

bool Stream::idle() const {
  const std::lock_guard lock(mutex_);
  return tasks_.empty() && !busy_;
}

const std::shared_ptr<Stream>& Stream::of_null() {
  static const auto* const stream = new std::shared_ptr<Stream>(std::make_shared<Stream>());
  return *stream;
}

std::shared_ptr<Stream> Stream::find(aclrtStream handle) { return handle == nullptr ? of_null() : live<Stream>().find(handle); }

CallbackReports& CallbackReports::of_process() {
  static auto* const reports = new CallbackReports;
  return *reports;
}

aclError CallbackReports::subscribe(uint64_t thread, const Stream* stream) {
  const std::lock_guard lock(mutex_);
  if (!subscribers_.emplace(stream, thread).second)
    return fail(ACL_ERROR_REPEAT_SUBSCRIBE, "a thread has subscribed to this stream already");
  reports_[thread];
  return ACL_SUCCESS;
}

aclError CallbackReports::unsubscribe(uint64_t thread, const Stream* stream) {
  {
    const std::lock_guard lock(mutex_);
    const auto subscriber = subscribers_.find(stream);
    if (subscriber == subscribers_.end()) return fail(ACL_ERROR_STREAM_NOT_SUBSCRIBE, "no thread has subscribed to this stream");
    if (subscriber->second != thread) return fail(ACL_ERROR_THREAD_NOT_SUBSCRIBE, "another thread has subscribed to this stream");
  }
  forget(stream);
  return ACL_SUCCESS;
}

void CallbackReports::forget(const Stream* stream) {
  const std::lock_guard lock(mutex_);
  const auto subscriber = subscribers_.find(stream);
  if (subscriber == subscribers_.end()) return;
  const uint64_t thread = subscriber->second;
  subscribers_.erase(subscriber);
  auto& waiting = reports_[thread];
  for (Report& report : waiting) {
    if (report.stream == stream) *report.done = true;
  }
  std::erase_if(waiting, [&](const Report& report) { return report.stream == stream; });
  const bool subscribed = std::ranges::any_of(subscribers_, [&](const auto& other) { return other.second == thread; });
  if (!subscribed) reports_.erase(thread);
  changed_.notify_all();
}

bool CallbackReports::is_subscribed(const Stream* stream) const {
  const std::lock_guard lock(mutex_);
  return subscribers_.contains(stream);
}

void CallbackReports::hand_over(const Stream* stream, std::function<void()> callback, bool wait) {
  std::unique_lock lock(mutex_);
  const auto subscriber = subscribers_.find(stream);
  if (subscriber == subscribers_.end()) return;
  const auto done = std::make_shared<bool>(false);
  reports_[subscriber->second].push_back({stream, std::move(callback), done});
  changed_.notify_all();
  if (wait) changed_.wait(lock, [&] { return *done; });
}

aclError CallbackReports::process(uint64_t thread, int32_t timeout_ms) {
  std::unique_lock lock(mutex_);
  if (!reports_.contains(thread)) return fail(ACL_ERROR_THREAD_NOT_SUBSCRIBE, "this thread has not subscribed to a stream");
  const auto ready = [&] {
    const auto waiting = reports_.find(thread);
    return waiting == reports_.end() || !waiting->second.empty();
  };
  if (!wait_for(changed_, lock, timeout_ms, ready)) return fail(ACL_ERROR_WAIT_CALLBACK_TIMEOUT, "no callback came in time");
  const auto waiting = reports_.find(thread);
  if (waiting == reports_.end()) return fail(ACL_ERROR_THREAD_NOT_SUBSCRIBE, "the subscription of this thread has ended");
  const Report report = std::move(waiting->second.front());
  waiting->second.pop_front();
  lock.unlock();
  report.callback();
  lock.lock();
  *report.done = true;
  changed_.notify_all();
  return ACL_SUCCESS;
}

void Event::expect() {
  const std::lock_guard lock(mutex_);
  ++expected_;
}

void Event::complete() {
  const std::lock_guard lock(mutex_);
  if (completed_ < expected_) ++completed_;
  time_ns_ = monotonic_ns();
  changed_.notify_all();
}

void Event::reset() {
  const std::lock_guard lock(mutex_);
  expected_ = completed_ = 0;
  changed_.notify_all();
}

bool Event::wait(uint32_t most_seconds) const {
  std::unique_lock lock(mutex_);
  const uint64_t wanted = expected_;
  const auto ready = [&] { return completed_ >= wanted || expected_ < wanted; };
  if (most_seconds > 0) return changed_.wait_for(lock, std::chrono::seconds(most_seconds), ready);
  changed_.wait(lock, ready);
  return true;
}

bool Event::is_complete() const {
  const std::lock_guard lock(mutex_);
  return completed_ >= expected_;
}

bool Event::is_recorded() const {
  const std::lock_guard lock(mutex_);
  return expected_ > 0;
}

int64_t Event::time_ns() const {
  const std::lock_guard lock(mutex_);
  return time_ns_;
}

}  // namespace tensortap::acl_source
