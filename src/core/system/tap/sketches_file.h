// sketches.npy and sketch_channels.npy, written and read (docs/layouts/tap.md).

#ifndef TENSORTAP_SYSTEM_TAP_SKETCHES_FILE_H_
#define TENSORTAP_SYSTEM_TAP_SKETCHES_FILE_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/folder.h"
#include "base/status.h"
#include "layout/dump_room.h"
#include "system/tap/written_files.h"
#include "tensor/tensor_sketch.h"

namespace tensortap::tap {

// Appends sketches; the files are made with the first one. Thread-safe.
class SketchesFile {
 public:
  // `room` accounts for the bytes that it appends. `folder` and `room` outlive this.
  SketchesFile(const Folder& folder, Access access, DumpRoom& room) : folder_(folder), access_(access), room_(room) {}

  // After an error nothing of the sketch is left in the files.
  Status add(uint64_t sequence, const TensorSketch& sketch);
  // Writes the numbers of rows into the headers.
  Status flush();
  [[nodiscard]] uint64_t bytes_written() const { return bytes_.load(std::memory_order_relaxed); }
  // The files as they are now; without other calls at the same time.
  void tell_files(std::vector<WrittenFile>& files) const;

 private:
  Status add_locked(uint64_t sequence, const TensorSketch& sketch);

  const Folder& folder_;
  const Access access_;
  DumpRoom& room_;
  std::mutex mutex_;
  File rows_file_;
  File channels_file_;  // made with the first sketch that has channels
  uint64_t rows_ = 0;
  uint64_t channels_ = 0;
  CutWatch rows_cut_;
  CutWatch channels_cut_;
  std::atomic<uint64_t> bytes_{0};
};

// Finds the sketches of records in the bytes of the two files, all of them untrusted. Immutable.
class SketchIndex {
 public:
  SketchIndex() = default;
  // Borrows the bytes.
  SketchIndex(std::span<const std::byte> rows, std::span<const std::byte> channels);
  // Errors: kNotFound when the files have none of this record, kCorrupt when they do not hold what its row says.
  [[nodiscard]] Result<TensorSketch> find(uint64_t sequence) const;

 private:
  std::span<const std::byte> rows_;
  std::span<const std::byte> channels_;
  std::vector<std::pair<uint64_t, uint64_t>> by_sequence_;  // sequence, row; sorted
};

}  // namespace tensortap::tap

#endif  // TENSORTAP_SYSTEM_TAP_SKETCHES_FILE_H_
