#include "session/record_sink.h"

#include <algorithm>
#include <ctime>

#include "session/copy_elements.h"

namespace tensortap {
namespace {

int64_t thread_cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

RecordSink::RecordSink(const Parts& parts, SinkOptions options)
    : parts_(parts),
      options_(std::move(options)),
      writes_rows_at_once_(parts_.layout.takes_statistics_on_any_thread()),
      writer_({parts_.layout, parts_.ops, parts_.problems, parts_.contents}, options_.folder, options_.keeps_rows),
      disk_(options_.folder, options_.limits.free_beside_data()),
      disk_for_rows_(options_.folder, options_.limits.free_beside_rows()),
      queue_([](void* sink, QueuedRecord& record) { static_cast<RecordSink*>(sink)->write_queued(record); }, this) {}

bool RecordSink::admits(const RecordRow& row) {
  const uint64_t most = options_.limits.max_records;
  if (most == 0 || admitted_.fetch_add(1, std::memory_order_relaxed) < most) return true;
  writer_.lose(loss::kMaxRecords, row);
  return false;
}

void RecordSink::flush() {
  queue_.drain();
  const auto token = queue_.writer_token();
  writer_.flush();
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

void RecordSink::described(const RecordRow& row) {
  QueuedRecord told{row, PoolBuffer{}, nullptr};
  told.described = true;
  queue_.push(std::move(told));
}

void RecordSink::round_passed(int64_t step, uint64_t run) {
  RecordRow row;
  row.step = step;
  row.run = run;
  QueuedRecord end{row, PoolBuffer{}, nullptr, true};
  end.passed = true;
  queue_.push(std::move(end));
}

void RecordSink::take(RecordRow& row, const TensorView* data, std::unique_ptr<ExponentHistogram> histogram, KnownContent& known,
                      bool on_writer) {
  if (data == nullptr) {
    take_row(row, std::move(histogram), false, on_writer);
  } else {
    take_data(row, *data, std::move(histogram), known, on_writer);
  }
}

void RecordSink::take_late(const RecordRow& row, std::unique_ptr<LateWork> late) {
  QueuedRecord record{row, PoolBuffer{}, nullptr};
  record.late = std::move(late);
  queue_.push(std::move(record));
}

// The writer thread has its turn already: nothing that it would wait for comes before the record.
void RecordSink::pass_on(QueuedRecord record, bool on_writer) {
  if (on_writer) {
    writer_.write(record);
  } else {
    queue_.push(std::move(record));
  }
}

void RecordSink::add_sketch(RecordRow& row, const TensorSketch& sketch) {
  if (disk_for_rows_.allows(sizeof(sketch) + sketch.channels.size() * sizeof(ChannelSums), 0)) {
    writer_.add_sketch(row, sketch);
  } else {
    row.sketch = static_cast<uint8_t>(SketchState::kNotWritten);
    writer_.lose_to_full_disk(row, options_.limits.free_beside_rows());
  }
}

// Whether limits and disk let the data in; the loss is counted when they do not. The layout holds "max_bytes", to the byte; here nothing is
// copied that it would refuse in any case.
bool RecordSink::room_for_data(const RecordRow& row, uint64_t bytes) {
  if (options_.most_data != 0 &&
      std::max(promised_.load(std::memory_order_relaxed), parts_.layout.bytes_written()) + bytes > options_.most_data) {
    writer_.lose(loss::kMaxBytes, row);
    return false;
  }
  if (!disk_.allows(bytes, parts_.pool.in_use())) {
    writer_.lose_to_full_disk(row, options_.limits.free_beside_data());
    return false;
  }
  promised_.fetch_add(bytes, std::memory_order_relaxed);
  return true;
}

void RecordSink::take_data(const RecordRow& row, const TensorView& view, std::unique_ptr<ExponentHistogram> histogram, KnownContent& known,
                           bool on_writer) {
  if (known.shares_data && known.found && known.content.data != 0) {
    take_reference(row, std::move(histogram), known.content, on_writer);
    return;
  }
  RecordRow kept = row;
  const std::optional<uint64_t> bytes = copy_bytes(view, row.numel);
  if (!bytes.has_value()) writer_.lose(loss::kMalformed, row);
  if (!bytes.has_value() || !room_for_data(row, *bytes)) {
    kept.flags |= kRecordDataLost;
    take_row(kept, std::move(histogram), true, on_writer);
    return;
  }
  if (on_writer) {
    // From where it is: the copy is the record's own.
    QueuedRecord record{kept, PoolBuffer{}, std::move(histogram)};
    if (!writer_.write_row_first(record)) return;
    share_data(record, view, known);
    write_at_once(record, view, true);
    return;
  }
  const bool blocks = options_.full_policy == FullPolicy::kBlock;
  const bool waits = blocks && !options_.never_waits;
  PoolBuffer buffer =
      parts_.pool.acquire(*bytes, waits ? PoolAccount::WhenFull::kWait : PoolAccount::WhenFull::kGiveUp, &queue_.is_behind());
  if (!buffer.empty()) {
    QueuedRecord record{kept, std::move(buffer), std::move(histogram)};
    if (!writer_.write_row_first(record)) return;
    copy_elements(view, row.numel, record.data.data());
    share_data(record, TensorView{view.desc, record.data.data(), nullptr}, known);
    queue_.push(std::move(record));
    return;
  }
  if (blocks) {
    QueuedRecord record{kept, PoolBuffer{}, std::move(histogram)};
    share_data(record, view, known);
    write_at_once(record, view, false);
    return;
  }
  if (options_.full_policy == FullPolicy::kDrop) {
    writer_.lose(loss::kPoolDropped, row);
    return;
  }
  writer_.lose(loss::kPoolStatsOnly, row);
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

void RecordSink::take_reference(const RecordRow& row, std::unique_ptr<ExponentHistogram> histogram, const Content& content,
                                bool on_writer) {
  if (!room_for_row(row)) return;
  parts_.contents.count_shared(row.bytes);
  QueuedRecord record{row, PoolBuffer{}, std::move(histogram)};
  record.same_as = content.data;
  if (content.written) content.place.put_into(record.row);
  if (content.written && writes_rows_at_once_) {
    writer_.write_reference(record);
  } else if (writer_.write_row_first(record)) {
    pass_on(std::move(record), on_writer);
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
  if ((row.flags & kRecordDataLost) != 0) writer_.lose(loss::kPoolStatsOnly, row);
  if (!record.data.empty() && !room_for_data(row, row.bytes)) {
    row.flags |= kRecordDataLost;
    record.data = PoolBuffer{};
  }
  if (record.data.empty()) {
    take_row(row, std::move(record.histogram), (row.flags & kRecordDataLost) != 0);
  } else if (writer_.write_row_first(record)) {
    queue_.push(std::move(record));
  }
}

// For data larger than the pool, or when memory is short: writes from the tensor itself where it is contiguous.
void RecordSink::write_at_once(QueuedRecord& record, const TensorView& view, bool on_writer) {
  const bool direct = view.is_contiguous();
  std::unique_ptr<std::byte[]> copy;
  TensorView packed = view;
  packed.strides = nullptr;
  if (!direct) {
    copy.reset(new (std::nothrow) std::byte[*packed_bytes(view.desc.dtype, record.row.numel)]);
    if (copy == nullptr) {
      writer_.lose(loss::kNoMemory, record.row);
      record.row.flags |= kRecordDataLost;
      parts_.contents.data_written(record.key, record.number, std::nullopt);
      take_row(record.row, nullptr, true, on_writer);
      return;
    }
    copy_packed(view, copy.get());
    packed.data = copy.get();
  }
  const auto token = on_writer ? std::unique_lock<std::mutex>() : queue_.writer_token();
  writer_.write_data(record, &packed);
}

// The same for a record without separate data.
bool RecordSink::room_for_row(const RecordRow& row, bool counted) {
  if (!disk_for_rows_.allows(sizeof(RecordRow), 0)) {
    if (!counted) writer_.lose_to_full_disk(row, options_.limits.free_beside_rows());
    return false;
  }
  return true;
}

void RecordSink::take_row(RecordRow& row, std::unique_ptr<ExponentHistogram> histogram, bool counted, bool on_writer) {
  if (!room_for_row(row, counted)) return;
  if (!writes_rows_at_once_) {
    QueuedRecord record{row, PoolBuffer{}, std::move(histogram)};
    record.counted = counted;
    pass_on(std::move(record), on_writer);
    return;
  }
  writer_.write_row(row, nullptr, histogram.get(), counted);
}

void RecordSink::write_queued(QueuedRecord& record) {
  const int64_t before = parts_.governor.active() ? thread_cpu_ns() : 0;
  try {
    if (record.late != nullptr) {
      record.late->finish(record);
    } else {
      writer_.write(record);
    }
  } catch (const std::exception& error) {
    parts_.problems.fail(error.what());
  }
  if (parts_.governor.active()) parts_.governor.spend(thread_cpu_ns() - before, 0, 0);
}

}  // namespace tensortap
