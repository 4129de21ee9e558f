// The way of a record from the program's thread to the layout.

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
#include "capture/capture_session.h"
#include "capture/copy_elements.h"
#include "layout/dump_room.h"

namespace tensortap {
namespace {

int64_t thread_cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::string reason_of(const Status& status) {
  if (DumpRoom::is_no_room(status)) return std::string(loss::kMaxBytes);
  if (status.code() == StatusCode::kUnsupported) return std::string(loss::kCollision);
  if (status.system_error() == 0) return std::string(loss::kWriteFailed);
  return concat(loss::kWriteFailed, ": ", error_text(status.system_error()));
}

}  // namespace

void CaptureSession::lose(std::string_view reason, const RecordRow& row) {
  const OpEntry* op = ops_.find(row.op);
  losses_.add(reason, [&row, op] { return record_name(row, op == nullptr ? std::string_view("?") : std::string_view(op->info.name)); });
  if (op != nullptr) ops_.find(row.op)->mark(kOpLost);
}

void CaptureSession::count_record(const RecordRow& row) {
  records_.fetch_add(1, std::memory_order_relaxed);
  if ((row.flags & kRecordHasData) != 0) bytes_.fetch_add(row.data_bytes, std::memory_order_relaxed);
}

void CaptureSession::lose_to_full_disk(const RecordRow& row) {
  lose(loss::kKeepFree, row);
  // Once is enough: the error stays the session's, the losses are counted.
  if (!disk_error_noted_.exchange(true)) {
    const uint64_t kept = options_.spec.limits.keep_free;
    const std::string rest = kept == 0 ? std::string() : concat(" up to the ", bytes_text(kept), " that are to stay free");
    note_error(exhausted(concat("disk of ", quote(folder_.path()), " is full", rest, "; records are lost")).with_system_error(ENOSPC));
  }
}

// Whether limits and disk let the data in; the loss is counted when they do not. The layout holds "max_bytes", to the byte; here nothing is copied that
// it would refuse in any case.
bool CaptureSession::room_for_data(const RecordRow& row, uint64_t bytes) {
  // Values that the layout only looks at are no part of the dump.
  const uint64_t max_bytes = options_.spec.payload == Payload::kStatistics ? 0 : options_.spec.limits.max_bytes;
  if (max_bytes != 0 && std::max(promised_.load(std::memory_order_relaxed), layout_->bytes_written()) + bytes > max_bytes) {
    lose(loss::kMaxBytes, row);
    return false;
  }
  if (!disk_.allows(bytes, pool_.in_use())) {
    lose_to_full_disk(row);
    return false;
  }
  promised_.fetch_add(bytes, std::memory_order_relaxed);
  return true;
}

void CaptureSession::keep_data(const RecordRow& row, const TensorView& view, std::unique_ptr<ExponentHistogram> histogram, Known& known) {
  if (shares_data_ && known.found && known.content.data != 0) {
    keep_reference(row, std::move(histogram), known.content);
    return;
  }
  RecordRow kept = row;
  const std::optional<uint64_t> bytes = copy_bytes(view, row.numel);
  if (!bytes.has_value()) lose(loss::kMalformed, row);
  if (!bytes.has_value() || !room_for_data(row, *bytes)) {
    kept.flags |= kRecordDataLost;
    keep_row(kept, std::move(histogram), true);
    return;
  }
  const bool waits = options_.spec.full_policy == FullPolicy::kBlock;
  // Small pieces leave room for what stands beside them in the queue. What is held at a gate may be held until this thread goes on.
  PoolBuffer buffer = pool_.acquire(*bytes, waits && !gate_.has_value() ? BufferPool::WhenFull::kWait : BufferPool::WhenFull::kGiveUp);
  if (!buffer.empty()) {
    copy_elements(view, row.numel, buffer.data());
    QueuedRecord record{kept, std::move(buffer), std::move(histogram)};
    share_data(record, TensorView{view.desc, record.data.data(), nullptr}, known);
    queue_.push(std::move(record));
    return;
  }
  if (waits) {
    QueuedRecord record{kept, PoolBuffer{}, std::move(histogram)};
    share_data(record, view, known);
    write_at_once(record, view);
    return;
  }
  if (options_.spec.full_policy == FullPolicy::kDrop) {
    lose(loss::kPoolDropped, row);
    return;
  }
  lose(loss::kPoolStatsOnly, row);
  kept.flags |= kRecordDataLost;
  keep_row(kept, std::move(histogram), true);
}

// Lets later records share the data that this one is to be written with.
void CaptureSession::share_data(QueuedRecord& record, const TensorView& data, Known& known) {
  if (!shares_data_ || !known.key.valid()) return;
  record.key = known.key;
  record.number = known.content.data = contents_.next_data();
  // The sums of full statistics change with every element; without them only the bytes can tell.
  if ((stats_options_.wanted & kStatL2) == 0) known.content.check = compute_digest(data, DigestKind::kXxh3);
  known.content.written = false;
  known.learned = true;
}

void CaptureSession::keep_reference(const RecordRow& row, std::unique_ptr<ExponentHistogram> histogram, const Content& content) {
  if (!room_for_row(row)) return;
  contents_.count_shared(row.bytes);
  QueuedRecord record{row, PoolBuffer{}, std::move(histogram)};
  record.same_as = content.data;
  if (content.written) content.place.put_into(record.row);
  if (content.written && statistics_at_once_) {
    write_reference(record);
  } else {
    queue_.push(std::move(record));
  }
}

QueuedRecord CaptureSession::held_copy(const RecordRow& row, const TensorView& view, bool with_data,
                                       std::unique_ptr<ExponentHistogram> histogram) {
  QueuedRecord held{row, PoolBuffer{}, std::move(histogram)};
  if (!with_data) return held;
  const std::optional<uint64_t> bytes = copy_bytes(view, row.numel);
  if (bytes.has_value()) held.data = pool_.acquire(*bytes, BufferPool::WhenFull::kGiveUp);
  if (held.data.empty()) {
    held.row.flags |= kRecordDataLost;
  } else {
    copy_elements(view, row.numel, held.data.data());
  }
  return held;
}

void CaptureSession::write_passed(QueuedRecord record) {
  RecordRow& row = record.row;
  if ((row.flags & kRecordDataLost) != 0) lose(loss::kPoolStatsOnly, row);
  if (!record.data.empty() && !room_for_data(row, row.bytes)) {
    row.flags |= kRecordDataLost;
    record.data = PoolBuffer{};
  }
  if (record.data.empty()) {
    keep_row(row, std::move(record.histogram), (row.flags & kRecordDataLost) != 0);
  } else {
    queue_.push(std::move(record));
  }
}

// For what the pool can never hold, or when there is no memory for it: from the tensor itself where it is contiguous.
void CaptureSession::write_at_once(QueuedRecord& record, const TensorView& view) {
  const bool direct = view.is_contiguous();
  std::unique_ptr<std::byte[]> copy;
  TensorView packed = view;
  packed.strides = nullptr;
  if (!direct) {
    copy.reset(new (std::nothrow) std::byte[*packed_bytes(view.desc.dtype, record.row.numel)]);
    if (copy == nullptr) {
      lose(loss::kNoMemory, record.row);
      record.row.flags |= kRecordDataLost;
      contents_.data_written(record.key, record.number, std::nullopt);
      keep_row(record.row, nullptr, true);
      return;
    }
    copy_packed(view, copy.get());
    packed.data = copy.get();
  }
  const auto token = queue_.writer_token();
  write_data(record, &packed);
}

// The same for a record without data of its own.
bool CaptureSession::room_for_row(const RecordRow& row, bool counted) {
  if (!disk_for_rows_.allows(sizeof(RecordRow), 0)) {
    if (!counted) lose_to_full_disk(row);
    return false;
  }
  return true;
}

void CaptureSession::keep_row(RecordRow& row, std::unique_ptr<ExponentHistogram> histogram, bool counted) {
  if (!room_for_row(row, counted)) return;
  if (!statistics_at_once_) {
    QueuedRecord record{row, PoolBuffer{}, std::move(histogram)};
    record.counted = counted;
    queue_.push(std::move(record));
    return;
  }
  write_record(row, nullptr, histogram.get(), counted);
}

void CaptureSession::write_queued(QueuedRecord& record) {
  const int64_t before = governor_.active() ? thread_cpu_ns() : 0;
  try {
    if (record.ends_step) {
      end_step_of_layout(record.row);
      return;
    }
    if (record.same_as != 0) {
      write_reference(record);
    } else {
      TensorView view{record.row.desc(), record.data.data(), nullptr};
      // A tensor without elements has a buffer, too: empty means statistics only.
      write_data(record, record.data.empty() ? nullptr : &view);
    }
  } catch (const std::exception& error) {
    fail(error.what());
  }
  if (governor_.active()) governor_.spend(thread_cpu_ns() - before, 0, 0);
}

// Records that stand in one file with the one that failed.
void CaptureSession::lose_earlier(const Status& status) {
  const uint64_t records = layout_->take_lost();
  if (records == 0) return;
  records_.fetch_sub(records, std::memory_order_relaxed);
  losses_.add(
      reason_of(status), [&status] { return status.message(); }, records);
}

// What a layout writes when a step is over: inputs, parameters, files beside them.
void CaptureSession::end_step_of_layout(const RecordRow& row) {
  const Status status = layout_->end_step(row.step, row.run);
  const uint64_t records = layout_->take_lost();
  records_.fetch_sub(records, std::memory_order_relaxed);
  if (!status.ok() && (records > 0 || status.code() != StatusCode::kUnsupported)) {
    losses_.add(
        reason_of(status), [&status] { return status.message(); }, std::max<uint64_t>(records, 1));
  }
  note_error(status);
}

void CaptureSession::write_data(QueuedRecord& record, const TensorView* data) {
  write_record(record.row, data, record.histogram.get(), record.counted);
  if (record.number == 0) return;
  const bool written = record.row.committed == 1 && (record.row.flags & kRecordHasData) != 0;
  contents_.data_written(record.key, record.number, written ? std::optional(DataPlace::of(record.row)) : std::nullopt);
}

// Comes after the record with the data in the queue, whose place is known then.
void CaptureSession::write_reference(QueuedRecord& record) {
  RecordRow& row = record.row;
  if ((row.flags & kRecordHasData) == 0) {
    const std::optional<DataPlace> place = contents_.place_of(record.same_as);
    if (!place.has_value()) {
      lose(loss::kLostWithOther, row);
      row.flags |= kRecordDataLost;
      write_record(row, nullptr, record.histogram.get(), true);
      return;
    }
    place->put_into(row);
  }
  const Status status = layout_->add_reference(row, record.histogram.get());
  if (status.ok()) {
    records_.fetch_add(1, std::memory_order_relaxed);
  } else {
    lose(reason_of(status), row);
    note_failure(status);
  }
}

void CaptureSession::write_record(RecordRow& row, const TensorView* data, const ExponentHistogram* histogram, bool counted) {
  // Where a tree holds values alone, a record without them leaves nothing.
  if (data == nullptr && counted && !keeps_rows_) return;
  Status status = layout_->add_record(row, data, histogram);
  if (!status.ok()) {
    if (!counted) lose(reason_of(status), row);
    lose_earlier(status);
    note_failure(status);
    if (data == nullptr || !keeps_rows_ || status.code() == StatusCode::kUnsupported) return;
    // The statistics may still find a place.
    row.flags |= kRecordDataLost;
    status = layout_->add_record(row, nullptr, histogram);
    if (!status.ok()) return;
    count_record(row);
    return;
  }
  // Some layouts keep nothing of memory without values.
  if (row.committed != 0 || (row.flags & kRecordUnwritten) == 0) count_record(row);
}

}  // namespace tensortap
