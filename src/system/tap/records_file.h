// RecordsFile: records.npy while it is written. Rows live in shared maps of the file, so that they survive the death of the process.

#ifndef TENSORTAP_SYSTEM_TAP_RECORDS_FILE_H_
#define TENSORTAP_SYSTEM_TAP_RECORDS_FILE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>

#include "base/files.h"
#include "base/status.h"
#include "trace/record_row.h"

namespace tensortap::tap {

inline constexpr uint64_t kRowsBegin = 4096;     // of records.npy: the header always takes a page
inline constexpr int kRowCountWidth = 20;        // digits kept for the row count in the header
std::string make_records_header(uint64_t rows);  // kRowsBegin bytes

class RecordsFile {
 public:
  // Creates the file; it must not exist.
  static Result<std::unique_ptr<RecordsFile>> create(const std::string& path, Access access);
  ~RecordsFile();
  RecordsFile(const RecordsFile&) = delete;
  RecordsFile& operator=(const RecordsFile&) = delete;

  // Appends a row and sets its `committed`. Any thread at any time. kExhausted when the disk is full: nothing is left behind.
  Status append(RecordRow& row);
  // Writes the number of rows that are complete into the header. Any thread.
  Status update_header();
  // Removes gaps, cuts the file to its rows and writes the header. Once, last, without other calls at the same time.
  Status finish();
  // Rows appended so far.
  [[nodiscard]] uint64_t rows() const { return next_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint64_t kChunkBytes = uint64_t{1} << 20;
  static constexpr uint64_t kChunkRows = kChunkBytes / sizeof(RecordRow);
  static constexpr uint64_t kMaxChunks = uint64_t{1} << 17;

  // A piece of the file, mapped from when its first row is asked for until its last row is complete.
  // Plain members behind atomic_ref: the table comes as zero pages, of which only the used ones take memory.
  struct Chunk {
    std::byte* data;
    uint32_t complete;  // rows
  };
  struct Free {
    void operator()(Chunk* chunks) const { std::free(chunks); }
  };

  RecordsFile(File file, Chunk* chunks) : file_(std::move(file)), chunks_(chunks) {}
  [[nodiscard]] std::byte* data_of(uint64_t chunk) const { return std::atomic_ref(chunks_[chunk].data).load(std::memory_order_acquire); }
  Status take_row(uint64_t& row);
  Status grow(uint64_t row);
  void retire(uint64_t chunk);
  uint64_t complete_prefix();
  Status write_header(uint64_t rows);
  Status compact(uint64_t& rows);

  File file_;
  std::unique_ptr<Chunk[], Free> chunks_;
  std::atomic<uint64_t> next_{0};      // first row that nobody has taken
  std::atomic<uint64_t> capacity_{0};  // rows that the file has room for
  std::mutex mutex_;                   // growing, unmapping, and prefix_
  uint64_t prefix_ = 0;                // rows before this one are complete
};

}  // namespace tensortap::tap

#endif  // TENSORTAP_SYSTEM_TAP_RECORDS_FILE_H_
