// The hand-over of records from the program's threads to one writer thread.

#ifndef TENSORTAP_SESSION_RECORD_QUEUE_H_
#define TENSORTAP_SESSION_RECORD_QUEUE_H_

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
  bool counted = false;  // the loss of its data is counted: if the row is lost as well, that is the same loss
};

// Thread-safe. The writer thread starts with the first record and writes without holding the queue's lock.
class RecordQueue {
 public:
  // `write` is called on the writer thread, or on the caller's where no thread can be started; one call at a time. It must not throw.
  using Write = void (*)(void* context, QueuedRecord& record);

  RecordQueue(Write write, void* context) : write_(write), context_(context) {}
  ~RecordQueue() { stop(); }
  RecordQueue(const RecordQueue&) = delete;
  RecordQueue& operator=(const RecordQueue&) = delete;

  // Hands a record over; waits while kMostWaiting records wait. Statistics may stay with the queue until there are more of them, data
  // comes, a step ends, or drain() or stop() is called.
  void push(QueuedRecord record);
  // Waits until everything pushed before the call is written.
  void drain();
  // Writes what waits and ends the thread. push() after it writes on the caller's thread.
  void stop();
  // Runs `write` semantics exclusively: holds the writer off while a caller writes a record by itself.
  [[nodiscard]] std::unique_lock<std::mutex> writer_token() { return std::unique_lock(writing_); }

  // Besides as many that are being written. Statistics have no other limit on what they take of the program's memory: some 4 MB in all.
  static constexpr size_t kMostWaiting = 4096;

 private:
  static constexpr size_t kMostUnannounced = 128;  // statistics that wait before the thread is woken

  bool start_locked();
  void run();
  void write_here(QueuedRecord& record);

  const Write write_;
  void* const context_;
  std::mutex writing_;               // held during each call of write_
  std::mutex mutex_;                 // guards what follows; never held during I/O
  std::condition_variable work_;     // the thread waits for it
  std::condition_variable changed_;  // drain() waits for it
  std::condition_variable room_;
  std::vector<QueuedRecord> waiting_;
  uint64_t pushed_ = 0;
  uint64_t written_ = 0;
  bool awake_ = false;  // the thread has work, or was woken
  bool stopping_ = false;
  bool no_thread_ = false;
  std::thread thread_;
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_RECORD_QUEUE_H_
