#include "session/record_writer.h"

#include <algorithm>
#include <cerrno>

#include "base/files.h"
#include "base/text.h"
#include "layout/dump_room.h"

namespace tensortap {
namespace {

std::string reason_of(const Status& status) {
  if (DumpRoom::is_no_room(status)) return std::string(loss::kMaxBytes);
  if (status.code() == StatusCode::kUnsupported) return std::string(loss::kCollision);
  if (status.system_error() == 0) return std::string(loss::kWriteFailed);
  return concat(loss::kWriteFailed, ": ", error_text(status.system_error()));
}

}  // namespace

void RecordWriter::write(QueuedRecord& record) {
  if (record.described) {
    layout_.first_rounds->described(record.row);
  } else if (record.passed) {
    parts_.problems.note_error(layout_.first_rounds->round_passed(record.row.step, record.row.run));
  } else if (record.ends_step) {
    end_step(record.row);
  } else if (record.op_ran) {
    parts_.problems.note_error(layout_.executions->op_ran(record.row.op, record.row));
  } else if (record.same_as != 0) {
    write_reference(record);
  } else {
    const TensorView view{record.row.desc(), record.data.data(), nullptr};
    // A tensor without elements also has a buffer: empty means statistics only.
    write_data(record, record.data.empty() ? nullptr : &view);
  }
}

void RecordWriter::flush() {
  const Status status = parts_.layout.flush();
  lose_earlier(status);
  parts_.problems.note_error(status);
}

void RecordWriter::write_row(RecordRow& row, const TensorView* data, const ExponentHistogram* histogram, bool counted) {
  // Where a tree holds values alone, a record without them leaves nothing.
  if (data == nullptr && counted && !keeps_rows_) return;
  Status status = parts_.layout.add_record(row, data, histogram);
  if (!status.ok()) {
    if (!counted) lose(reason_of(status), row);
    lose_earlier(status);
    parts_.problems.note_failure(status);
    if (data == nullptr || !keeps_rows_ || status.code() == StatusCode::kUnsupported) return;
    // The statistics may still find a place.
    row.flags |= kRecordDataLost;
    status = parts_.layout.add_record(row, nullptr, histogram);
    if (!status.ok()) return;
    count(row);
    return;
  }
  // Some layouts keep nothing of memory without values.
  if (row.committed != 0 || (row.flags & kRecordUnwritten) == 0) count(row);
}

bool RecordWriter::write_row_first(QueuedRecord& record) {
  if (layout_.rows_first == nullptr) return true;
  const Result<uint64_t> number = layout_.rows_first->add_row_first(record.row, record.histogram.get());
  if (number.ok()) {
    record.row_first = true;
    record.row_number = *number;
    record.histogram.reset();
    records_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  if (!record.counted) lose(reason_of(number.status()), record.row);
  lose_earlier(number.status());
  parts_.problems.note_failure(number.status());
  return false;
}

void RecordWriter::write_values(QueuedRecord& record, const TensorView* data) {
  const Status status = layout_.rows_first->add_values(record.row_number, record.row, data);
  if (status.ok()) {
    if (data != nullptr) bytes_.fetch_add(record.row.data_bytes, std::memory_order_relaxed);
    return;
  }
  // Not of a record that is lost itself: that is one loss.
  if (status.code() != StatusCode::kNotFound) lose(reason_of(status), record.row);
  lose_earlier(status);
  parts_.problems.note_failure(status);
}

void RecordWriter::add_sketch(RecordRow& row, const TensorSketch& sketch) {
  const Status status =
      layout_.sketches == nullptr ? unsupported("this layout cannot store sketches") : layout_.sketches->add_sketch(row, sketch);
  if (status.ok()) return;
  row.sketch = static_cast<uint8_t>(SketchState::kNotWritten);
  lose(reason_of(status), row);
  parts_.problems.note_failure(status);
}

void RecordWriter::write_data(QueuedRecord& record, const TensorView* data) {
  if (record.row_first) {
    write_values(record, data);
  } else {
    write_row(record.row, data, record.histogram.get(), record.counted);
  }
  if (record.number == 0) return;
  const bool written = record.row.committed == 1 && (record.row.flags & kRecordHasData) != 0;
  parts_.contents.data_written(record.key, record.number, written ? std::optional(DataPlace::of(record.row)) : std::nullopt);
}

// Comes after the record with the data in the queue, whose place is known then.
void RecordWriter::write_reference(QueuedRecord& record) {
  RecordRow& row = record.row;
  if ((row.flags & kRecordHasData) == 0) {
    const std::optional<DataPlace> place = parts_.contents.place_of(record.same_as);
    if (!place.has_value()) {
      lose(loss::kLostWithOther, row);
      row.flags |= kRecordDataLost;
      row.member = 0;
      if (record.row_first) {
        write_values(record, nullptr);
      } else {
        write_row(row, nullptr, record.histogram.get(), true);
      }
      return;
    }
    place->put_into(row);
    row.flags &= static_cast<uint8_t>(~kRecordDataLost);
  }
  if (record.row_first) {
    write_values(record, nullptr);
    return;
  }
  const Status status = layout_.shared_data->add_reference(row, record.histogram.get());
  if (status.ok()) {
    records_.fetch_add(1, std::memory_order_relaxed);
  } else {
    lose(reason_of(status), row);
    parts_.problems.note_failure(status);
  }
}

// Lets the layout write the inputs, parameters and other files that belong to a finished step.
void RecordWriter::end_step(const RecordRow& row) {
  const Status status = layout_.steps->end_step(row.step, row.run);
  const auto [records, counted] = take_lost();
  records_.fetch_sub(records, std::memory_order_relaxed);
  if (!status.ok() && (records > 0 || status.code() != StatusCode::kUnsupported)) {
    losses_.add(
        reason_of(status), [&status] { return status.message(); }, std::max<uint64_t>(records - counted, 1));
  }
  parts_.problems.note_error(status);
}

LostRecords RecordWriter::take_lost() { return layout_.losses == nullptr ? LostRecords() : layout_.losses->take_lost(); }

void RecordWriter::count_lost(uint64_t records) {
  if (layout_.losses != nullptr) layout_.losses->count_lost(records);
}

// Records in the same file as the one that failed.
void RecordWriter::lose_earlier(const Status& status) {
  const auto [records, counted] = take_lost();
  records_.fetch_sub(records, std::memory_order_relaxed);
  if (records == counted) return;
  losses_.add(
      reason_of(status), [&status] { return status.message(); }, records - counted);
}

void RecordWriter::lose(std::string_view reason, const RecordRow& row) {
  const OpEntry* op = parts_.ops.find(row.op);
  count_lost(1);
  losses_.add(reason, [&row, op] { return record_name(row, op == nullptr ? std::string_view("?") : std::string_view(op->info.name)); });
  if (op != nullptr) parts_.ops.find(row.op)->mark(kOpLost);
}

void RecordWriter::lose_event(OpId unknown_op) {
  count_lost(1);
  losses_.add(loss::kUnknownOp, [unknown_op] { return concat("op ", unknown_op); });
}

void RecordWriter::lose_to_full_disk(const RecordRow& row, uint64_t kept_free) {
  lose(loss::kKeepFree, row);
  // Once is enough: the error stays the session's, the losses are counted.
  if (!disk_error_noted_.exchange(true)) {
    const std::string rest = kept_free == 0 ? std::string() : concat(" up to the ", bytes_text(kept_free), " that are to stay free");
    parts_.problems.note_error(
        exhausted(concat("disk of ", quote(folder_), " is full", rest, "; records are lost")).with_system_error(ENOSPC));
  }
}

void RecordWriter::lose_folder() {
  // Readers will not find the records where they look for them.
  const uint64_t records = records_.exchange(0);
  bytes_.store(0);
  if (records > 0 || losses_.count(loss::kFolderGone) == 0) {
    losses_.add(
        loss::kFolderGone, [this] { return folder_; }, std::max<uint64_t>(records, 1));
  }
  const std::string folder = quote(folder_);
  parts_.problems.note_error(io_error(concat("output folder ", folder, " was removed or renamed while running; the capture is lost")));
}

void RecordWriter::end_files(bool folder_is_there) {
  if (!folder_is_there) return lose_folder();
  for (const GoneFile& gone : layout_.losses == nullptr ? std::vector<GoneFile>() : layout_.losses->end_files()) {
    const std::string_view reason = gone.how == "removed" ? loss::kFileRemoved : gone.how == "cut" ? loss::kFileCut : loss::kFileReplaced;
    losses_.add(
        reason, [&gone] { return gone.name; }, std::max<uint64_t>(gone.records, 1));
    const std::string path = join_path(folder_, gone.name);
    parts_.problems.note_error(
        io_error(concat(path, " was ", gone.how, " by another program while the capture ran; what it held is lost")));
  }
  lose_earlier(io_error("rows could not be written when the capture ended"));
}

void RecordWriter::count(const RecordRow& row) {
  records_.fetch_add(1, std::memory_order_relaxed);
  if ((row.flags & kRecordHasData) != 0) bytes_.fetch_add(row.data_bytes, std::memory_order_relaxed);
}

}  // namespace tensortap
