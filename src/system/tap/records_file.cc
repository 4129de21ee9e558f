#include "system/tap/records_file.h"

#include <fcntl.h>
#include <sys/file.h>

#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <optional>
#include <system_error>

#include "base/signals_blocked.h"
#include "base/text.h"
#include "format/npy/npy_header.h"

namespace tensortap::tap {
namespace {

static_assert(std::endian::native == std::endian::little, "rows are written as they stand in memory");

constexpr uint64_t kReserved = (uint64_t{1} << 20) / sizeof(RecordRow);  // rows for which the disk is asked at a time
constexpr auto kFlushEvery = std::chrono::milliseconds(50);

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

Result<std::unique_ptr<RecordsFile>> RecordsFile::create(const std::string& path, Access access) {
  settle_left_rings();
  TENSORTAP_ASSIGN_OR_RETURN(File file, File::open(path, O_RDWR | O_CREAT | O_EXCL, access));
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

Status RecordsFile::append(RecordRow& row) {
  std::optional<RowsRing::Place> place = ring_.claim();
  while (!place.has_value()) {
    TENSORTAP_RETURN_IF_ERROR(reserve(ring_.taken() + 1));
    place = ring_.claim();
  }
  row.committed = 1;
  std::memcpy(place->row, &row, sizeof(RecordRow));
  Status status = ring_.complete(*place);
  if (!status.ok()) row.committed = 0;
  return status;
}

Status RecordsFile::write_rows(uint64_t first, std::span<const RecordRow> rows) {
  return file_.write_at(kRowsBegin + first * sizeof(RecordRow), std::as_bytes(rows));
}

// Blocks of the disk before rows, so that a full disk refuses a row before it is taken, where the file system can promise that.
Status RecordsFile::reserve(uint64_t rows) {
  const std::lock_guard lock(mutex_);
  if (rows <= reserved_) return {};
  const uint64_t begin = kRowsBegin + reserved_ * sizeof(RecordRow);
  if (Status status = file_.reserve(begin, kReserved * sizeof(RecordRow)); !status.ok()) {
    // What was allocated before the disk was full goes back, so that the rest of the program has it.
    (void)file_.truncate(begin);
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
  const std::lock_guard lock(mutex_);
  const Status header = write_header(ring_.prefix());
  return status.ok() ? header : status;
}

// Moves complete rows over the gaps that threads left which died between taking a row and filling it.
Status RecordsFile::compact(uint64_t& rows) {
  const uint64_t end = ring_.taken();
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
  TENSORTAP_RETURN_IF_ERROR(ring_.write_begun());
  const std::lock_guard lock(mutex_);
  uint64_t rows = ring_.prefix();
  TENSORTAP_RETURN_IF_ERROR(compact(rows));
  TENSORTAP_RETURN_IF_ERROR(file_.truncate(kRowsBegin + rows * sizeof(RecordRow)));
  return write_header(rows);
}

}  // namespace tensortap::tap
