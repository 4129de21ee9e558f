// The hand-over of records from the program's threads to one writer thread.

#ifndef TENSORTAP_SESSION_RECORD_QUEUE_H_
#define TENSORTAP_SESSION_RECORD_QUEUE_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "session/buffer_pool.h"
#include "session/content_cache.h"
#include "stats/histogram.h"
#include "stats/stats.h"
#include "trace/record_row.h"

namespace tensortap {

struct QueuedRecord;

// The part of a record that waits for the elements of a device. One thread at a time.
class LateWork {
 public:
  LateWork() = default;
  virtual ~LateWork() = default;
  LateWork(const LateWork&) = delete;
  LateWork& operator=(const LateWork&) = delete;
  // Whether finish() has its elements, or knows that they will not come. Never waits.
  virtual bool is_over() = 0;
  // Elements that did not come so far count as lost.
  virtual void give_up() = 0;
  // Looks at the elements, and writes the record as a RecordQueue::Write does.
  virtual void finish(QueuedRecord& record) = 0;
};

// A record on its way to the layout, with its own copy of the data, or the end of an execution or of a step.
struct QueuedRecord {
  RecordRow row;
  PoolBuffer data;  // packed elements; empty = statistics only
  std::unique_ptr<ExponentHistogram> histogram;
  bool ends_step = false;  // no record: row.step of row.run is over
  bool op_ran = false;     // no record: an execution is over
  bool described = false;  // no record: a tensor of a first round
  bool passed = false;     // with ends_step: of a step that is not captured
  ContentKey key{};        // of the data, where later records may share it
  uint64_t number = 0;     // ContentCache::next_data() of this record's data, 0 = not shared
  uint64_t same_as = 0;    // the number of the earlier record whose data this one shares
  bool row_first = false;  // the layout has the row already, by the name of `row_number`, and gets the values (WritesRowsFirst)
  uint64_t row_number = 0;
  bool counted = false;              // the loss of its data is counted: if the row is lost as well, that is the same loss
  std::unique_ptr<LateWork> late{};  // its elements are still on a device
  [[nodiscard]] bool is_notice() const { return ends_step || op_ran || described; }  // no record
};

// Thread-safe. The writer thread starts with the first record and writes without holding the queue's lock. It alone waits for late records,
// in the order of the queue.
class RecordQueue {
 public:
  // `write` is called on the writer thread, or on the caller's where no thread can be started; one call at a time. It must not throw.
  using Write = void (*)(void* context, QueuedRecord& record);

  // `patience`: how long stop() and drain() wait for a late record while no other one comes in. `company`: how long the thread waits for
  // further records after a late one, so that it is woken once for several.
  RecordQueue(Write write, void* context, std::chrono::milliseconds patience = kPatience, std::chrono::microseconds company = kCompany)
      : write_(write), context_(context), patience_(patience), company_(company) {}
  ~RecordQueue() { stop(); }
  RecordQueue(const RecordQueue&) = delete;
  RecordQueue& operator=(const RecordQueue&) = delete;

  // Hands a record over; waits while kMostWaiting records wait, but neither with a late one nor for one: then up to kMostBehind wait, and
  // further ones are written on the caller's thread, before those; late ones among them are given up. Statistics may stay with the queue
  // until there are more of them, data comes, a step ends, or drain() or stop() is called.
  void push(QueuedRecord record);
  // Waits until everything pushed before the call is written, or a late record does not come.
  void drain();
  // Writes what waits and ends the thread; late records that do not come are given up. push() after it writes on the caller's thread.
  void stop();
  // Whether the writer thread waits for a late record now: what others wait for may take any time.
  [[nodiscard]] const std::atomic<bool>& is_behind() const { return behind_; }
  // Runs `write` semantics exclusively: holds the writer off while a caller writes a record by itself.
  [[nodiscard]] std::unique_lock<std::mutex> writer_token() { return std::unique_lock(writing_); }

  // Besides as many that are being written. Statistics have no other limit on what they take of the program's memory: some 4 MB in all.
  static constexpr size_t kMostWaiting = 4096;
  static constexpr size_t kMostBehind = 4 * kMostWaiting;
  static constexpr std::chrono::milliseconds kPatience{10000};
  static constexpr std::chrono::microseconds kCompany{1000};

 private:
  static constexpr size_t kMostUnannounced = 128;  // statistics that wait before the thread is woken

  bool start_locked();
  void run();
  void write_here(QueuedRecord& record);
  void await(LateWork& late);
  void next(std::vector<QueuedRecord>& working, bool was_late);
  [[nodiscard]] bool has_room_locked() const;
  void hurry_locked();

  const Write write_;
  void* const context_;
  const std::chrono::milliseconds patience_;
  const std::chrono::microseconds company_;
  std::atomic<bool> behind_{false};
  std::atomic<uint64_t> overall_{0};  // records that the thread is done with
  std::mutex writing_;                // held during each call of write_
  std::mutex mutex_;                  // guards what follows; never held during I/O
  std::condition_variable work_;      // the thread waits for it
  std::condition_variable changed_;   // drain() waits for it
  std::condition_variable room_;
  std::vector<QueuedRecord> waiting_;
  uint64_t pushed_ = 0;
  uint64_t written_ = 0;
  bool awake_ = false;                 // the thread has work, was woken, or wakes by itself soon
  bool hurries_ = false;               // a caller waits for the thread
  std::atomic<bool> stopping_{false};  // written under the lock
  bool given_up_ = false;              // of the writer thread: late records do not come any more
  bool no_thread_ = false;
  std::thread thread_;
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_RECORD_QUEUE_H_
