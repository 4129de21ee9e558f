#include "capture/record_sink.h"

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
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

RecordSink::RecordSink(const Parts& parts, SinkOptions options)
    : parts_(parts),
      options_(std::move(options)),
      writes_rows_at_once_(parts_.layout.takes_statistics_on_any_thread()),
      disk_(options_.folder, options_.limits.keep_free),
      disk_for_rows_(options_.folder, std::min(options_.limits.keep_free, kReserveForRows)),
      queue_([](void* sink, QueuedRecord& record) { static_cast<RecordSink*>(sink)->write_queued(record); }, this) {}

bool RecordSink::admits(const RecordRow& row) {
  const uint64_t most = options_.limits.max_records;
  if (most == 0 || admitted_.fetch_add(1, std::memory_order_relaxed) < most) return true;
  lose(loss::kMaxRecords, row);
  return false;
}

void RecordSink::lose_event(OpId unknown_op) {
  losses_.add(loss::kUnknownOp, [unknown_op] { return concat("op ", unknown_op); });
}

void RecordSink::lose_folder() {
  // What was written is not where anybody looks for it.
  const uint64_t records = records_.exchange(0);
  bytes_.store(0);
  if (records > 0 || losses_.count(loss::kFolderGone) == 0) {
    losses_.add(
        loss::kFolderGone, [this] { return options_.folder; }, std::max<uint64_t>(records, 1));
  }
  const std::string folder = quote(options_.folder);
  parts_.problems.note_error(io_error(concat("output folder ", folder, " was removed or renamed while running; the capture is lost")));
}

void RecordSink::flush() {
  queue_.drain();
  const auto token = queue_.writer_token();
  parts_.problems.note_error(parts_.layout.flush());
}

void RecordSink::end_step(int64_t step, uint64_t run) {
  RecordRow row;
  row.step = step;
  row.run = run;
  queue_.push({row, PoolBuffer{}, nullptr, true});
}

void RecordSink::op_ran(const RecordRow& event) {
  QueuedRecord ran{event, PoolBuffer{}, nullptr};
  ran.op_ran = true;
  queue_.push(std::move(ran));
}

void RecordSink::take(RecordRow& row, const TensorView* data, std::unique_ptr<ExponentHistogram> histogram, KnownContent& known) {
  if (data == nullptr) {
    take_row(row, std::move(histogram));
  } else {
    take_data(row, *data, std::move(histogram), known);
  }
}

void RecordSink::lose(std::string_view reason, const RecordRow& row) {
  const OpEntry* op = parts_.ops.find(row.op);
  losses_.add(reason, [&row, op] { return record_name(row, op == nullptr ? std::string_view("?") : std::string_view(op->info.name)); });
  if (op != nullptr) parts_.ops.find(row.op)->mark(kOpLost);
}

void RecordSink::count_record(const RecordRow& row) {
  records_.fetch_add(1, std::memory_order_relaxed);
  if ((row.flags & kRecordHasData) != 0) bytes_.fetch_add(row.data_bytes, std::memory_order_relaxed);
}

void RecordSink::lose_to_full_disk(const RecordRow& row) {
  lose(loss::kKeepFree, row);
  // Once is enough: the error stays the session's, the losses are counted.
  if (!disk_error_noted_.exchange(true)) {
    const uint64_t kept = options_.limits.keep_free;
    const std::string rest = kept == 0 ? std::string() : concat(" up to the ", bytes_text(kept), " that are to stay free");
    parts_.problems.note_error(
        exhausted(concat("disk of ", quote(options_.folder), " is full", rest, "; records are lost")).with_system_error(ENOSPC));
  }
}

// Whether limits and disk let the data in; the loss is counted when they do not. The layout holds "max_bytes", to the byte; here nothing is
// copied that it would refuse in any case.
bool RecordSink::room_for_data(const RecordRow& row, uint64_t bytes) {
  if (options_.most_data != 0 &&
      std::max(promised_.load(std::memory_order_relaxed), parts_.layout.bytes_written()) + bytes > options_.most_data) {
    lose(loss::kMaxBytes, row);
    return false;
  }
  if (!disk_.allows(bytes, parts_.pool.in_use())) {
    lose_to_full_disk(row);
    return false;
  }
  promised_.fetch_add(bytes, std::memory_order_relaxed);
  return true;
}

void RecordSink::take_data(const RecordRow& row, const TensorView& view, std::unique_ptr<ExponentHistogram> histogram,
                           KnownContent& known) {
  if (known.shares_data && known.found && known.content.data != 0) {
    take_reference(row, std::move(histogram), known.content);
    return;
  }
  RecordRow kept = row;
  const std::optional<uint64_t> bytes = copy_bytes(view, row.numel);
  if (!bytes.has_value()) lose(loss::kMalformed, row);
  if (!bytes.has_value() || !room_for_data(row, *bytes)) {
    kept.flags |= kRecordDataLost;
    take_row(kept, std::move(histogram), true);
    return;
  }
  const bool blocks = options_.full_policy == FullPolicy::kBlock;
  const bool waits = blocks && !options_.never_waits;
  PoolBuffer buffer = parts_.pool.acquire(*bytes, waits ? PoolAccount::WhenFull::kWait : PoolAccount::WhenFull::kGiveUp);
  if (!buffer.empty()) {
    copy_elements(view, row.numel, buffer.data());
    QueuedRecord record{kept, std::move(buffer), std::move(histogram)};
    share_data(record, TensorView{view.desc, record.data.data(), nullptr}, known);
    queue_.push(std::move(record));
    return;
  }
  if (blocks) {
    QueuedRecord record{kept, PoolBuffer{}, std::move(histogram)};
    share_data(record, view, known);
    write_at_once(record, view);
    return;
  }
  if (options_.full_policy == FullPolicy::kDrop) {
    lose(loss::kPoolDropped, row);
    return;
  }
  lose(loss::kPoolStatsOnly, row);
  kept.flags |= kRecordDataLost;
  take_row(kept, std::move(histogram), true);
}

// Lets later records share the data that this one is to be written with.
void RecordSink::share_data(QueuedRecord& record, const TensorView& data, KnownContent& known) {
  if (!known.shares_data || !known.key.valid()) return;
  record.key = known.key;
  record.number = known.content.data = parts_.contents.next_data();
  if (known.checks_bytes) known.content.check = compute_digest(data, DigestKind::kXxh3);
  known.content.written = false;
  known.learned = true;
}

void RecordSink::take_reference(const RecordRow& row, std::unique_ptr<ExponentHistogram> histogram, const Content& content) {
  if (!room_for_row(row)) return;
  parts_.contents.count_shared(row.bytes);
  QueuedRecord record{row, PoolBuffer{}, std::move(histogram)};
  record.same_as = content.data;
  if (content.written) content.place.put_into(record.row);
  if (content.written && writes_rows_at_once_) {
    write_reference(record);
  } else {
    queue_.push(std::move(record));
  }
}

QueuedRecord RecordSink::hold(const RecordRow& row, const TensorView* data, std::unique_ptr<ExponentHistogram> histogram) {
  QueuedRecord held{row, PoolBuffer{}, std::move(histogram)};
  if (data == nullptr) return held;
  const std::optional<uint64_t> bytes = copy_bytes(*data, row.numel);
  if (bytes.has_value()) held.data = parts_.pool.acquire(*bytes, PoolAccount::WhenFull::kGiveUp);
  if (held.data.empty()) {
    held.row.flags |= kRecordDataLost;
  } else {
    copy_elements(*data, row.numel, held.data.data());
  }
  return held;
}

void RecordSink::release(QueuedRecord record) {
  RecordRow& row = record.row;
  if ((row.flags & kRecordDataLost) != 0) lose(loss::kPoolStatsOnly, row);
  if (!record.data.empty() && !room_for_data(row, row.bytes)) {
    row.flags |= kRecordDataLost;
    record.data = PoolBuffer{};
  }
  if (record.data.empty()) {
    take_row(row, std::move(record.histogram), (row.flags & kRecordDataLost) != 0);
  } else {
    queue_.push(std::move(record));
  }
}

// For what the pool can never hold, or when there is no memory for it: from the tensor itself where it is contiguous.
void RecordSink::write_at_once(QueuedRecord& record, const TensorView& view) {
  const bool direct = view.is_contiguous();
  std::unique_ptr<std::byte[]> copy;
  TensorView packed = view;
  packed.strides = nullptr;
  if (!direct) {
    copy.reset(new (std::nothrow) std::byte[*packed_bytes(view.desc.dtype, record.row.numel)]);
    if (copy == nullptr) {
      lose(loss::kNoMemory, record.row);
      record.row.flags |= kRecordDataLost;
      parts_.contents.data_written(record.key, record.number, std::nullopt);
      take_row(record.row, nullptr, true);
      return;
    }
    copy_packed(view, copy.get());
    packed.data = copy.get();
  }
  const auto token = queue_.writer_token();
  write_data(record, &packed);
}

// The same for a record without data of its own.
bool RecordSink::room_for_row(const RecordRow& row, bool counted) {
  if (!disk_for_rows_.allows(sizeof(RecordRow), 0)) {
    if (!counted) lose_to_full_disk(row);
    return false;
  }
  return true;
}

void RecordSink::take_row(RecordRow& row, std::unique_ptr<ExponentHistogram> histogram, bool counted) {
  if (!room_for_row(row, counted)) return;
  if (!writes_rows_at_once_) {
    QueuedRecord record{row, PoolBuffer{}, std::move(histogram)};
    record.counted = counted;
    queue_.push(std::move(record));
    return;
  }
  write_record(row, nullptr, histogram.get(), counted);
}

void RecordSink::write_queued(QueuedRecord& record) {
  const int64_t before = parts_.governor.active() ? thread_cpu_ns() : 0;
  try {
    if (record.ends_step) {
      end_step_of_layout(record.row);
      return;
    }
    if (record.op_ran) {
      parts_.problems.note_error(parts_.layout.op_ran(record.row.op, record.row));
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
    parts_.problems.fail(error.what());
  }
  if (parts_.governor.active()) parts_.governor.spend(thread_cpu_ns() - before, 0, 0);
}

// Records that stand in one file with the one that failed.
void RecordSink::lose_earlier(const Status& status) {
  const uint64_t records = parts_.layout.take_lost();
  if (records == 0) return;
  records_.fetch_sub(records, std::memory_order_relaxed);
  losses_.add(
      reason_of(status), [&status] { return status.message(); }, records);
}

// What a layout writes when a step is over: inputs, parameters, files beside them.
void RecordSink::end_step_of_layout(const RecordRow& row) {
  const Status status = parts_.layout.end_step(row.step, row.run);
  const uint64_t records = parts_.layout.take_lost();
  records_.fetch_sub(records, std::memory_order_relaxed);
  if (!status.ok() && (records > 0 || status.code() != StatusCode::kUnsupported)) {
    losses_.add(
        reason_of(status), [&status] { return status.message(); }, std::max<uint64_t>(records, 1));
  }
  parts_.problems.note_error(status);
}

void RecordSink::write_data(QueuedRecord& record, const TensorView* data) {
  write_record(record.row, data, record.histogram.get(), record.counted);
  if (record.number == 0) return;
  const bool written = record.row.committed == 1 && (record.row.flags & kRecordHasData) != 0;
  parts_.contents.data_written(record.key, record.number, written ? std::optional(DataPlace::of(record.row)) : std::nullopt);
}

// Comes after the record with the data in the queue, whose place is known then.
void RecordSink::write_reference(QueuedRecord& record) {
  RecordRow& row = record.row;
  if ((row.flags & kRecordHasData) == 0) {
    const std::optional<DataPlace> place = parts_.contents.place_of(record.same_as);
    if (!place.has_value()) {
      lose(loss::kLostWithOther, row);
      row.flags |= kRecordDataLost;
      write_record(row, nullptr, record.histogram.get(), true);
      return;
    }
    place->put_into(row);
  }
  const Status status = parts_.layout.add_reference(row, record.histogram.get());
  if (status.ok()) {
    records_.fetch_add(1, std::memory_order_relaxed);
  } else {
    lose(reason_of(status), row);
    parts_.problems.note_failure(status);
  }
}

void RecordSink::write_record(RecordRow& row, const TensorView* data, const ExponentHistogram* histogram, bool counted) {
  // Where a tree holds values alone, a record without them leaves nothing.
  if (data == nullptr && counted && !options_.keeps_rows) return;
  Status status = parts_.layout.add_record(row, data, histogram);
  if (!status.ok()) {
    if (!counted) lose(reason_of(status), row);
    lose_earlier(status);
    parts_.problems.note_failure(status);
    if (data == nullptr || !options_.keeps_rows || status.code() == StatusCode::kUnsupported) return;
    // The statistics may still find a place.
    row.flags |= kRecordDataLost;
    status = parts_.layout.add_record(row, nullptr, histogram);
    if (!status.ok()) return;
    count_record(row);
    return;
  }
  // Some layouts keep nothing of memory without values.
  if (row.committed != 0 || (row.flags & kRecordUnwritten) == 0) count_record(row);
}

}  // namespace tensortap
