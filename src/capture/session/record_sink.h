// RecordSink: the way of a record from the program's thread to the layout.

#ifndef TENSORTAP_SESSION_RECORD_SINK_H_
#define TENSORTAP_SESSION_RECORD_SINK_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "layout/layout.h"
#include "session/buffer_pool.h"
#include "session/content_cache.h"
#include "session/disk_guard.h"
#include "session/governor.h"
#include "session/op_table.h"
#include "session/record_queue.h"
#include "session/record_writer.h"
#include "session/session_problems.h"

namespace tensortap {

struct SinkOptions {
  std::string folder;  // of the dump, for messages
  Limits limits;
  uint64_t most_data = 0;  // bytes of data for the dump, 0 = no limit
  FullPolicy full_policy = FullPolicy::kBlock;
  bool never_waits = false;  // for memory: the thread that asks may hold all of it
  bool keeps_rows = true;    // a record without its values is worth writing
};

// Keeps limits, memory and disk; copies and queues. Its RecordWriter writes and counts. Borrows all arguments. Thread-safe except for
// stop(), which is called once, last.
class RecordSink {
 public:
  struct Parts {
    LayoutWriter& layout;
    PoolAccount& pool;
    OpTable& ops;
    SessionProblems& problems;
    Governor& governor;
    ContentCache& contents;
  };
  RecordSink(const Parts& parts, SinkOptions options);
  RecordSink(const RecordSink&) = delete;
  RecordSink& operator=(const RecordSink&) = delete;

  // Whether limits.max_records lets one more record in; otherwise it is counted as lost.
  bool admits(const RecordRow& row);
  // Queues the record, writes it directly, or counts it as lost. `data`, null for a record without values, is read during the call only.
  // `row` gets the fields that the layout fills in, if the record is written directly; `known`, what the cache knows about the data, learns
  // which record keeps it. `on_writer`: the caller is the writer thread within LateWork::finish(); the record is written before the call
  // returns.
  void take(RecordRow& row, const TensorView* data, std::unique_ptr<ExponentHistogram> histogram, KnownContent& known,
            bool on_writer = false);
  // Queues a record whose elements are on their way.
  void take_late(const RecordRow& row, std::unique_ptr<LateWork> late);
  // Writes the sketch of a record that take() gets next, at once; row.sketch says when there was no room.
  void add_sketch(RecordRow& row, const TensorSketch& sketch);
  // A record with a copy of its data (null: without) for a gate or a ring. Never waits for memory: without any the record is marked
  // kRecordDataLost.
  QueuedRecord hold(const RecordRow& row, const TensorView* data, std::unique_ptr<ExponentHistogram> histogram);
  // Writes a held record.
  void release(QueuedRecord record);
  // An execution is over, with or without records; for layouts that follow executions.
  void op_ran(const RecordRow& event);
  // For layouts that follow first rounds: a tensor of one; and the end of such a round that is not captured.
  void described(const RecordRow& row);
  void round_passed(int64_t step, uint64_t run);
  // A step of a run is over; in order with the records.
  void end_step(int64_t step, uint64_t run);

  // Waits until everything taken before the call is written, then flushes the layout.
  void flush();
  // Writes the waiting records and ends the writer thread.
  void stop() { queue_.stop(); }

  // For records that are lost before they get here, and for the numbers written and lost so far.
  [[nodiscard]] RecordWriter& writer() { return writer_; }
  [[nodiscard]] const RecordWriter& writer() const { return writer_; }

 private:
  void take_data(const RecordRow& row, const TensorView& view, std::unique_ptr<ExponentHistogram> histogram, KnownContent& known,
                 bool on_writer);
  // `counted`: a loss of this record is counted already.
  void take_row(RecordRow& row, std::unique_ptr<ExponentHistogram> histogram, bool counted = false, bool on_writer = false);
  // Takes a record whose elements an earlier record has.
  void take_reference(const RecordRow& row, std::unique_ptr<ExponentHistogram> histogram, const Content& content, bool on_writer);
  void pass_on(QueuedRecord record, bool on_writer);
  bool room_for_data(const RecordRow& row, uint64_t bytes);
  bool room_for_row(const RecordRow& row, bool counted = false);
  void share_data(QueuedRecord& record, const TensorView& data, KnownContent& known);
  void write_at_once(QueuedRecord& record, const TensorView& view, bool on_writer);
  void write_queued(QueuedRecord& record);

  const Parts parts_;
  const SinkOptions options_;
  const bool writes_rows_at_once_;
  std::atomic<uint64_t> promised_{0};  // bytes of data, for options_.most_data
  std::atomic<uint64_t> admitted_{0};  // records, for limits.max_records
  RecordWriter writer_;
  DiskGuard disk_;
  DiskGuard disk_for_rows_;
  RecordQueue queue_;
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_RECORD_SINK_H_
