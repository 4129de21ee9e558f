// RecordWriter: hands records to the layout, and counts written and lost ones.

#ifndef TENSORTAP_SESSION_RECORD_WRITER_H_
#define TENSORTAP_SESSION_RECORD_WRITER_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "layout/layout.h"
#include "session/content_cache.h"
#include "session/losses.h"
#include "session/op_table.h"
#include "session/record_queue.h"
#include "session/session_problems.h"

namespace tensortap {

// Borrows its parts. Counting is thread-safe, and so is write_row_first(). write() and write_data() are called by one thread at a time;
// write_row() and write_reference(), too, unless LayoutWriter::takes_statistics_on_any_thread().
class RecordWriter {
 public:
  struct Parts {
    LayoutWriter& layout;
    OpTable& ops;
    SessionProblems& problems;
    ContentCache& contents;
  };
  // `folder`: of the dump, for messages. `keeps_rows`: a record without its values is worth writing.
  RecordWriter(const Parts& parts, std::string folder, bool keeps_rows)
      : parts_(parts), layout_(parts.layout.parts()), folder_(std::move(folder)), keeps_rows_(keeps_rows) {}

  // What comes out of the queue: a record, or the end of an execution or of a step.
  void write(QueuedRecord& record);
  // Flushes the layout.
  void flush();
  // Gives the layout the row of a record that write(), write_data() or write_reference() gets later with its values, where the layout takes
  // it first. False when it is lost, and counted.
  bool write_row_first(QueuedRecord& record);
  // Writes a record with `data`; null: its row alone. Records that wait for this data learn whether it was written.
  void write_data(QueuedRecord& record, const TensorView* data);
  // Writes a record whose elements an earlier one has.
  void write_reference(QueuedRecord& record);
  // Adds the sketch of a record that is written later. Any thread at any time.
  void add_sketch(RecordRow& row, const TensorSketch& sketch);
  // `counted`: a loss of this record is counted already. The layout fills in fields of `row`.
  void write_row(RecordRow& row, const TensorView* data, const ExponentHistogram* histogram, bool counted);

  // Counts a record as lost, with its name as an example.
  void lose(std::string_view reason, const RecordRow& row);
  void lose_event(OpId unknown_op);
  // The same for a record that the disk has no room for but the `kept_free` bytes that are to stay free. The first one is the session's
  // error.
  void lose_to_full_disk(const RecordRow& row, uint64_t kept_free);
  // Notes that all records are gone with the folder.
  void lose_folder();
  // Ends the files of the layout, and counts the records of files that another program removed, replaced or cut as lost; without the folder
  // it calls lose_folder().
  void end_files(bool folder_is_there);

  [[nodiscard]] uint64_t records() const { return records_.load(); }
  [[nodiscard]] uint64_t bytes() const { return bytes_.load(); }  // of data
  [[nodiscard]] const Losses& losses() const { return losses_; }

 private:
  void end_step(const RecordRow& row);
  [[nodiscard]] LostRecords take_lost();
  void count_lost(uint64_t records);
  void lose_earlier(const Status& status);
  void count(const RecordRow& row);
  void write_values(QueuedRecord& record, const TensorView* data);

  const Parts parts_;
  const LayoutParts layout_;
  const std::string folder_;
  const bool keeps_rows_;
  std::atomic<uint64_t> records_{0};
  std::atomic<uint64_t> bytes_{0};
  std::atomic<bool> disk_error_noted_{false};
  Losses losses_;
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_RECORD_WRITER_H_
