#include "system/tap/records_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/spans.h"
#include "base/text.h"
#include "format/npy/npy_header.h"

namespace tensortap::tap {
namespace {

static_assert(std::endian::native == std::endian::little, "rows are written as they stand in memory");

constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, which older headers lack

// Blocks before maps: a store into a mapped page without a block raises SIGBUS when the disk is full. Zeros are written
// instead of blocks reserved: large writes make large pages in the system's cache, and to map those takes a third of the time.
Status allocate(File& file, uint64_t begin, uint64_t bytes) {
  static constinit std::array<std::byte, uint64_t{256} << 10> zeros{};
  for (uint64_t done = 0; done < bytes; done += zeros.size()) {
    const auto piece = first_of(std::span<const std::byte>(zeros), bytes - done);
    TENSORTAP_RETURN_IF_ERROR(file.write_at(begin + done, piece));
  }
  return {};
}

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
  TENSORTAP_ASSIGN_OR_RETURN(File file, File::open(path, O_RDWR | O_CREAT | O_EXCL, access));
  // Says to `repair` that the dump is alive; goes with the process.
  (void)flock(file.fd(), LOCK_EX | LOCK_NB);
  auto* chunks = static_cast<Chunk*>(std::calloc(kMaxChunks, sizeof(Chunk)));
  if (chunks == nullptr) return exhausted(concat(path, ": no memory"));
  std::unique_ptr<RecordsFile> records(new RecordsFile(std::move(file), chunks));
  TENSORTAP_RETURN_IF_ERROR(records->write_header(0));
  // The first rows find their room ready: an op's own thread writes them.
  TENSORTAP_RETURN_IF_ERROR(records->grow(0));
  return records;
}

RecordsFile::~RecordsFile() {
  for (uint64_t chunk = 0; chunk * kChunkRows < capacity_.load(); ++chunk) {
    if (std::byte* data = data_of(chunk)) munmap(data, kChunkBytes);
  }
}

Status RecordsFile::append(RecordRow& row) {
  uint64_t index = 0;
  TENSORTAP_RETURN_IF_ERROR(take_row(index));
  std::byte* target = data_of(index / kChunkRows) + index % kChunkRows * sizeof(RecordRow);
  // All but the flag, which grow() may look at meanwhile.
  constexpr size_t kFlag = offsetof(RecordRow, committed);
  const auto* source = reinterpret_cast<const std::byte*>(&row);
  std::memcpy(target, source, kFlag);
  std::memcpy(target + kFlag + 1, source + kFlag + 1, sizeof(RecordRow) - kFlag - 1);
  row.committed = 1;
  auto* committed = reinterpret_cast<uint8_t*>(target + kFlag);
  std::atomic_ref<uint8_t>(*committed).store(1, std::memory_order_release);
  const std::atomic_ref complete(chunks_[index / kChunkRows].complete);
  if (complete.fetch_add(1, std::memory_order_acq_rel) + 1 == kChunkRows) retire(index / kChunkRows);
  return {};
}

// A row is taken only when there is room for it, so that a full disk leaves no gaps.
Status RecordsFile::take_row(uint64_t& row) {
  row = next_.load(std::memory_order_relaxed);
  do {
    while (row >= capacity_.load(std::memory_order_acquire)) {
      TENSORTAP_RETURN_IF_ERROR(grow(row));
      row = next_.load(std::memory_order_relaxed);
    }
  } while (!next_.compare_exchange_weak(row, row + 1, std::memory_order_acq_rel, std::memory_order_relaxed));
  return {};
}

Status RecordsFile::grow(uint64_t row) {
  const std::lock_guard lock(mutex_);
  const uint64_t capacity = capacity_.load(std::memory_order_relaxed);
  if (row < capacity) return {};
  const uint64_t chunk = capacity / kChunkRows;
  if (chunk >= kMaxChunks) return io_error(concat(file_.path(), ": holds ", capacity, " rows, the most that a dump can"));
  const uint64_t begin = kRowsBegin + chunk * kChunkBytes;
  if (Status status = allocate(file_, begin, kChunkBytes); !status.ok()) {
    // What was allocated before the disk was full goes back, so that the rest of the program has it.
    (void)file_.truncate(begin);
    return status;
  }
  void* data = mmap(nullptr, kChunkBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.fd(), static_cast<off_t>(begin));
  if (data == MAP_FAILED) return errno_status(file_.path(), errno);
  // All page faults at once, for writing; kernels before 5.14 take them one by one.
  (void)madvise(data, kChunkBytes, kPopulateWrite);
  std::atomic_ref(chunks_[chunk].data).store(static_cast<std::byte*>(data), std::memory_order_release);
  capacity_.store(capacity + kChunkRows, std::memory_order_release);
  return chunk == 0 ? Status() : write_header(complete_prefix());
}

// Unmaps a chunk of which every row is complete: a long capture holds no more memory than a short one.
void RecordsFile::retire(uint64_t chunk) {
  const std::lock_guard lock(mutex_);
  munmap(std::atomic_ref(chunks_[chunk].data).exchange(nullptr), kChunkBytes);
}

// Rows from the first on without a gap. Under mutex_.
uint64_t RecordsFile::complete_prefix() {
  const uint64_t end = next_.load(std::memory_order_acquire);
  while (prefix_ < end) {
    std::byte* data = data_of(prefix_ / kChunkRows);
    if (data == nullptr) {
      prefix_ = (prefix_ / kChunkRows + 1) * kChunkRows;
      continue;
    }
    auto* committed = reinterpret_cast<uint8_t*>(data + prefix_ % kChunkRows * sizeof(RecordRow) + offsetof(RecordRow, committed));
    if (std::atomic_ref<uint8_t>(*committed).load(std::memory_order_acquire) == 0) break;
    ++prefix_;
  }
  return prefix_;
}

Status RecordsFile::write_header(uint64_t rows) {
  const std::string header = make_records_header(rows);
  return file_.write_at(0, std::as_bytes(std::span(header)));
}

Status RecordsFile::update_header() {
  const std::lock_guard lock(mutex_);
  return write_header(complete_prefix());
}

// Moves complete rows over the gaps that threads left which died between taking a row and filling it.
Status RecordsFile::compact(uint64_t& rows) {
  const uint64_t end = next_.load();
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
  const std::lock_guard lock(mutex_);
  uint64_t rows = complete_prefix();
  TENSORTAP_RETURN_IF_ERROR(compact(rows));
  TENSORTAP_RETURN_IF_ERROR(file_.truncate(kRowsBegin + rows * sizeof(RecordRow)));
  return write_header(rows);
}

}  // namespace tensortap::tap
