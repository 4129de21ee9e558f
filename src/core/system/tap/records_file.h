// RecordsFile: records.npy while it is written. Rows wait in a RowsRing, whose memory survives the death of the process.

#ifndef TENSORTAP_SYSTEM_TAP_RECORDS_FILE_H_
#define TENSORTAP_SYSTEM_TAP_RECORDS_FILE_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>

#include "base/files.h"
#include "base/folder.h"
#include "base/status.h"
#include "system/tap/ring_memory.h"
#include "system/tap/rows_ring.h"
#include "system/tap/written_rows.h"
#include "trace/record_row.h"

namespace tensortap::tap {

inline constexpr uint64_t kRowsBegin = 4096;     // of records.npy: the header always takes a page
inline constexpr int kRowCountWidth = 20;        // digits kept for the row count in the header
std::string make_records_header(uint64_t rows);  // kRowsBegin bytes

class RecordsFile {
 public:
  // Creates records.npy; it must not exist.
  static Result<std::unique_ptr<RecordsFile>> create(const Folder& folder, Access access);
  ~RecordsFile();
  RecordsFile(const RecordsFile&) = delete;
  RecordsFile& operator=(const RecordsFile&) = delete;

  // Appends a row and sets its `committed`. Any thread at any time. Returns its number. kExhausted when the disk is full.
  Result<uint64_t> append(RecordRow& row);
  // append() of a row whose values follow.
  Result<uint64_t> append_first(RecordRow& row);
  // Those values are written, or lost: puts what `row` says of them into the row `number`. Once for each. One call at a time. kNotFound
  // when that row is lost.
  Status put_values(uint64_t number, const RecordRow& row);
  // See ReportsLosses::count_lost().
  void count_lost(uint64_t records) { object_.counts().lost.fetch_add(records, std::memory_order_relaxed); }
  // Writes the rows that wait, and the number of rows that are complete into the header. Any thread. Also kIo when another program has cut
  // the file since.
  Status flush();
  // Removes gaps, cuts the file to its rows and writes the header. Once, last, without other calls at the same time.
  Status finish();
  [[nodiscard]] const File& file() const { return file_; }
  // Rows that finish() left in the file.
  [[nodiscard]] uint64_t finished_rows() const { return finished_rows_; }
  // Rows appended so far.
  [[nodiscard]] uint64_t rows() const { return ring_.taken(); }
  // Rows that append() took and that could not be written later, or that went when the file was cut; counts from 0 again.
  LostRecords take_lost() {
    LostRecords lost = ring_.take_lost();
    lost.records += gone_.exchange(0);
    return lost;
  }

 private:
  RecordsFile(File file, RingObject object);
  Status write_rows(uint64_t first, std::span<const RecordRow> rows);
  Status write_columns(uint64_t number, const RecordRow& row, size_t begin);
  Status reserve(uint64_t rows);
  Status write_header(uint64_t rows);
  Status compact(uint64_t& rows);
  void notice_cut_locked();
  void flush_regularly();

  File file_;
  RingObject object_;
  RowsRing ring_;
  std::atomic<uint64_t> gone_{0};
  std::mutex mutex_;       // guards what follows, and how long the file is; taken behind the ring's
  uint64_t reserved_ = 0;  // rows that the disk has room for
  Status refused_;         // why it had none when it was last asked
  int64_t refused_until_ns_ = 0;
  WrittenRows written_;
  uint64_t finished_rows_ = 0;
  uint64_t first_gone_ = UINT64_MAX;  // from here on the file has gaps, because it was cut
  bool ends_ = false;
  std::condition_variable end_;
  std::thread flusher_;  // where the memory ends with the process
};

}  // namespace tensortap::tap

#endif  // TENSORTAP_SYSTEM_TAP_RECORDS_FILE_H_
