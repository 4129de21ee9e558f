// Streams: each runs its tasks in order on a separate thread, which starts with the first task. Callbacks go to the thread that subscribed.

#ifndef TENSORTAP_SOURCE_ACL_STREAM_H_
#define TENSORTAP_SOURCE_ACL_STREAM_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "acl/acl_rt.h"

namespace tensortap::acl_source {

// Thread-safe.
class Stream {
 public:
  using Task = std::function<aclError()>;

  Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  // Waits for the tasks that are left. Not on the stream's own thread: no task holds its stream.
  ~Stream();

  [[nodiscard]] uint32_t id() const { return id_; }
  void add(Task task);
  // The first error of the tasks since the last call; ACL_ERROR_WAIT_CALLBACK_TIMEOUT when `timeout_ms` (-1 = none) passes first.
  aclError synchronize(int32_t timeout_ms = -1);
  [[nodiscard]] bool idle() const;

  // What a program calls the default stream of a device: the one with a null handle. Never destroyed.
  static const std::shared_ptr<Stream>& of_null();
  // By handle; null handle: of_null(). Null when there is none.
  static std::shared_ptr<Stream> find(aclrtStream handle);

 private:
  void work();

  const uint32_t id_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;        // guarded by mutex_
  bool busy_ = false;             // guarded by mutex_
  bool ends_ = false;             // guarded by mutex_
  aclError error_ = ACL_SUCCESS;  // guarded by mutex_
  std::thread thread_;            // guarded by mutex_
};

// Callbacks on their way from streams to the threads that process them. Thread-safe.
class CallbackReports {
 public:
  static CallbackReports& of_process();

  aclError subscribe(uint64_t thread, const Stream* stream);
  aclError unsubscribe(uint64_t thread, const Stream* stream);
  void forget(const Stream* stream);
  [[nodiscard]] bool is_subscribed(const Stream* stream) const;
  // Hands a callback to the thread that subscribed to the stream; with `wait`, until it was called, or the subscription ended.
  void hand_over(const Stream* stream, std::function<void()> callback, bool wait);
  // Calls the next one for this thread.
  aclError process(uint64_t thread, int32_t timeout_ms);

 private:
  struct Report {
    const Stream* stream = nullptr;
    std::function<void()> callback;
    std::shared_ptr<bool> done;
  };
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<const Stream*, uint64_t> subscribers_;   // guarded by mutex_
  std::unordered_map<uint64_t, std::deque<Report>> reports_;  // guarded by mutex_
};

// A point in a stream. Thread-safe.
class Event {
 public:
  void expect();    // it was recorded; a stream will reach it
  void complete();  // the stream has
  void reset();
  // False when `most_seconds` passed first; 0 = no limit.
  bool wait(uint32_t most_seconds = 0) const;
  [[nodiscard]] bool is_complete() const;
  [[nodiscard]] bool is_recorded() const;
  [[nodiscard]] int64_t time_ns() const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  uint64_t expected_ = 0;   // guarded by mutex_
  uint64_t completed_ = 0;  // guarded by mutex_
  int64_t time_ns_ = 0;     // guarded by mutex_
};

}  // namespace tensortap::acl_source

#endif  // TENSORTAP_SOURCE_ACL_STREAM_H_
