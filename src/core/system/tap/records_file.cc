#include "system/tap/records_file.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <optional>
#include <system_error>

#include "base/clock.h"
#include "base/signals_blocked.h"
#include "base/spans.h"
#include "base/text.h"
#include "format/npy/npy_header.h"
#include "system/tap/tap_files.h"
#include "trace/waiting_values.h"

namespace tensortap::tap {
namespace {

static_assert(std::endian::native == std::endian::little, "rows are written as they are in memory");

constexpr uint64_t kReserved = (uint64_t{1} << 20) / sizeof(RecordRow);  // rows for which the disk is asked at a time
constexpr auto kFlushEvery = std::chrono::milliseconds(50);
constexpr int64_t kAskAgainAfterNs = 50'000'000;  // allocating from a full disk takes long, and the program waits

// The columns that say where a record's values lie, except for its flags.
constexpr size_t kPlaceBegin = offsetof(RecordRow, data_offset);
constexpr size_t kPlaceEnd = offsetof(RecordRow, storage);

}  // namespace

std::string make_records_header(uint64_t rows) {
  std::string descr = "[";
  for (const RecordField& field : record_fields()) {
    descr += concat(descr.size() > 1 ? ", " : "", "('", field.name, "', '", field.numpy_type, "'");
    if (field.count > 1) descr += concat(", (", field.count, ",)");
    descr += ')';
  }
  const std::array<int64_t, 1> shape = {static_cast<int64_t>(rows)};
  return make_npy_header(descr + "]", shape, {.total = kRowsBegin, .count_width = kRowCountWidth});
}

Result<std::unique_ptr<RecordsFile>> RecordsFile::create(const Folder& folder, Access access) {
  settle_left_rings();
  TENSORTAP_ASSIGN_OR_RETURN(File file, folder.open_file(kRecordsFile, O_RDWR | O_CREAT | O_EXCL, access));
  // Says to `repair` that the dump is alive; goes with the process.
  (void)flock(file.fd(), LOCK_EX | LOCK_NB);
  TENSORTAP_ASSIGN_OR_RETURN(RingObject object, RingObject::create(file));
  std::unique_ptr<RecordsFile> records(new RecordsFile(std::move(file), std::move(object)));
  TENSORTAP_RETURN_IF_ERROR(records->write_header(0));
  TENSORTAP_RETURN_IF_ERROR(records->reserve(1));
  return records;
}

RecordsFile::RecordsFile(File file, RingObject object)
    : file_(std::move(file)),
      object_(std::move(object)),
      ring_(
          object_.memory(),
          [](void* records, uint64_t first, std::span<const RecordRow> rows) {
            return static_cast<RecordsFile*>(records)->write_rows(first, rows);
          },
          this) {
  if (object_.outlives_process()) return;
  const SignalsBlocked blocked;
  try {
    flusher_ = std::thread(&RecordsFile::flush_regularly, this);
  } catch (const std::system_error&) {
    // Without a thread, rows are written when a block is full.
  }
}

RecordsFile::~RecordsFile() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  end_.notify_all();
  if (flusher_.joinable()) flusher_.join();
  (void)ring_.write_begun();
}

Result<uint64_t> RecordsFile::append(RecordRow& row) {
  std::optional<RowsRing::Place> place = ring_.claim();
  while (!place.has_value()) {
    TENSORTAP_RETURN_IF_ERROR(reserve(ring_.taken() + 1));
    place = ring_.claim();
  }
  row.committed = 1;
  std::memcpy(place->row, &row, sizeof(RecordRow));
  if (Status status = ring_.complete(*place); !status.ok()) {
    row.committed = 0;
    return status;
  }
  object_.counts().rows.fetch_add(1, std::memory_order_relaxed);
  return place->number;
}

Result<uint64_t> RecordsFile::append_first(RecordRow& row) {
  // Before the row: a count of values that is too high by those that threads are about to hand over is an upper limit.
  object_.counts().values.fetch_add(1, std::memory_order_relaxed);
  Result<uint64_t> number = append(row);
  if (!number.ok()) object_.counts().settled_values.fetch_add(1, std::memory_order_relaxed);
  return number;
}

Status RecordsFile::put_values(uint64_t number, const RecordRow& row) {
  object_.counts().settled_values.fetch_add(1, std::memory_order_relaxed);
  if (ring_.put_values(number, row)) return {};
  {
    const std::lock_guard lock(mutex_);
    notice_cut_locked();
    if (!written_.contains(number)) return not_found("the record was lost before its values came");
  }
  // No other code writes a row that left the ring, so no lock is held here. First write the place alone: the row still marks its values as
  // on their way. Then write, in one call, the columns that mark them as present: if the program dies within it, only the member's number
  // is missing.
  RecordRow placed = row;
  placed.member = kValuesOnTheWay;
  TENSORTAP_RETURN_IF_ERROR(write_columns(number, placed, kPlaceBegin));
  return write_columns(number, row, offsetof(RecordRow, flags));
}

// Those from the byte `begin` of the row to the end of its place.
Status RecordsFile::write_columns(uint64_t number, const RecordRow& row, size_t begin) {
  const auto columns = *part_of(std::as_bytes(std::span(&row, 1)), begin, kPlaceEnd - begin);
  return file_.write_at(kRowsBegin + number * sizeof(RecordRow) + begin, columns);
}

Status RecordsFile::write_rows(uint64_t first, std::span<const RecordRow> rows) {
  const std::lock_guard lock(mutex_);
  notice_cut_locked();
  TENSORTAP_RETURN_IF_ERROR(file_.write_at(kRowsBegin + first * sizeof(RecordRow), std::as_bytes(rows)));
  written_.add(first, rows.size());
  return {};
}

// Called before anything makes the file longer, which would hide that another program cut it.
void RecordsFile::notice_cut_locked() {
  const Result<uint64_t> size = file_.size();
  if (!size.ok() || *size >= kRowsBegin + reserved_ * sizeof(RecordRow)) return;
  const uint64_t rows = (*size - std::min(*size, kRowsBegin)) / sizeof(RecordRow);
  const uint64_t gone = written_.cut(rows);
  if (gone == 0) return;
  gone_ += gone;
  first_gone_ = std::min(first_gone_, rows);
  // Otherwise a part of a row would pass for a whole row once the rest is filled with zeros.
  if (*size > kRowsBegin) (void)file_.truncate(kRowsBegin + rows * sizeof(RecordRow));
}

// Blocks of the disk before rows, so that a full disk refuses a row before it is taken, where the file system can promise that.
Status RecordsFile::reserve(uint64_t rows) {
  const std::lock_guard lock(mutex_);
  if (rows <= reserved_) return {};
  if (!refused_.ok() && monotonic_ns() < refused_until_ns_) return refused_;
  notice_cut_locked();
  const uint64_t begin = kRowsBegin + reserved_ * sizeof(RecordRow);
  if (Status status = file_.reserve(begin, kReserved * sizeof(RecordRow)); !status.ok()) {
    // Frees the blocks allocated before the disk was full, so that the rest of the program can use them.
    (void)file_.truncate(begin);
    refused_ = status;
    refused_until_ns_ = monotonic_ns() + kAskAgainAfterNs;
    return status;
  }
  reserved_ += kReserved;
  ring_.allow(reserved_);
  return {};
}

void RecordsFile::flush_regularly() {
  std::unique_lock lock(mutex_);
  while (!end_.wait_for(lock, kFlushEvery, [this] { return ends_; })) {
    lock.unlock();
    (void)ring_.write_begun();
    lock.lock();
  }
}

Status RecordsFile::write_header(uint64_t rows) {
  const std::string header = make_records_header(rows);
  return file_.write_at(0, std::as_bytes(std::span(header)));
}

Status RecordsFile::flush() {
  Status status = ring_.write_begun();
  const uint64_t rows = ring_.prefix();
  const std::lock_guard lock(mutex_);
  notice_cut_locked();
  if (status.ok() && gone_ > 0) status = io_error(concat(file_.path(), ": another program made the file shorter; its last rows are lost"));
  const Status header = write_header(std::min(rows, first_gone_));
  return status.ok() ? header : status;
}

// Moves complete rows over gaps: of threads that died between taking a row and filling it, of writes that failed, of a file that was cut.
Status RecordsFile::compact(uint64_t& rows) {
  TENSORTAP_ASSIGN_OR_RETURN(const uint64_t size, file_.size());
  const uint64_t end = std::min(ring_.taken(), (size - std::min(size, kRowsBegin)) / sizeof(RecordRow));
  RecordRow row;
  const auto bytes = std::as_writable_bytes(std::span(&row, 1));
  for (uint64_t from = rows; from < end; ++from) {
    TENSORTAP_RETURN_IF_ERROR(file_.read_at(kRowsBegin + from * sizeof(RecordRow), bytes));
    if (row.committed == 0) continue;
    if (from != rows) TENSORTAP_RETURN_IF_ERROR(file_.write_at(kRowsBegin + rows * sizeof(RecordRow), bytes));
    ++rows;
  }
  return {};
}

Status RecordsFile::finish() {
  const Status written = ring_.write_begun();
  uint64_t rows = ring_.prefix();
  const std::lock_guard lock(mutex_);
  notice_cut_locked();
  rows = std::min(rows, first_gone_);
  TENSORTAP_RETURN_IF_ERROR(compact(rows));
  finished_rows_ = rows;
  TENSORTAP_RETURN_IF_ERROR(file_.truncate(kRowsBegin + rows * sizeof(RecordRow)));
  TENSORTAP_RETURN_IF_ERROR(write_header(rows));
  return written;
}

}  // namespace tensortap::tap
