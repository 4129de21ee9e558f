// RingMemory of a dump as an object of shared memory: rows that a killed program had completed can be read from it.

#ifndef TENSORTAP_SYSTEM_TAP_RING_MEMORY_H_
#define TENSORTAP_SYSTEM_TAP_RING_MEMORY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/status.h"
#include "system/tap/rows_ring.h"
#include "trace/record_row.h"

namespace tensortap::tap {

// Counts what a program has captured so far; zeros at first.
struct RingCounts {
  std::atomic<uint64_t> rows;            // that append() took
  std::atomic<uint64_t> values;          // of these: whose values were to follow
  std::atomic<uint64_t> settled_values;  // of these: that arrived, or were counted as lost
  std::atomic<uint64_t> lost;            // records and values that the session counted as lost
};

// Owns the memory, and removes the object when it is destroyed. Move-only.
class RingObject {
 public:
  RingObject() = default;
  RingObject(RingObject&& other) noexcept { *this = std::move(other); }
  RingObject& operator=(RingObject&& other) noexcept;
  ~RingObject();

  // Memory for the rows of `records`, all of it allocated. Without shared memory: plain memory, which ends with the process. Removes
  // objects that an earlier file with the inode of `records` left. Errors: kExhausted without any memory.
  static Result<RingObject> create(const File& records);

  [[nodiscard]] RingMemory& memory() const { return *memory_; }
  [[nodiscard]] RingCounts& counts() const { return *counts_; }
  [[nodiscard]] bool outlives_process() const { return object_.is_open(); }

 private:
  RingMemory* memory_ = nullptr;
  RingCounts* counts_ = nullptr;
  void* map_ = nullptr;
  File object_;
};

// A row that is in a ring and perhaps not in the file.
struct LeftRow {
  uint64_t number;  // in the file
  RecordRow row;
};
// What a program left in a ring, or has in it now.
struct LeftRing {
  bool found = false;
  std::vector<LeftRow> rows;      // the complete ones, in order
  std::vector<uint64_t> unready;  // numbers of rows that were not complete
  uint64_t end = UINT64_MAX;      // no row from here on existed
  // RingCounts.
  uint64_t handed_over = 0;
  uint64_t values = 0;
  uint64_t settled_values = 0;
  uint64_t lost = 0;
};
// The ring of the file `records`; of one that settle_left_rings() removed, its counts.
LeftRing read_left_ring(const File& records);
// Adds the rows of a ring to its records.npy. A row that the file has in part only, or without its values, is replaced. Returns how many
// rows were missing. Only if the writer is dead.
Result<uint64_t> add_left_rows(File& records, std::span<const LeftRow> rows);
// The same for the bytes of the file, read after the ring, with room for kRingRows behind them. Rows that were not complete when the ring
// was read are marked as such: the writer may have been about to write them, and the bytes may have only a part.
uint64_t add_left_rows(std::span<std::byte> records, const LeftRing& left);
// Removes the ring of a file whose writer is dead, and what settle_left_rings() wrote of it.
void remove_ring(const File& records);
// Writes what dead programs of this user left in rings into their dumps, as far as these are where they were, and removes the rings. A ring
// without its dump is kept for an hour. The counts go into kLeftFile.
void settle_left_rings();

}  // namespace tensortap::tap

#endif  // TENSORTAP_SYSTEM_TAP_RING_MEMORY_H_
