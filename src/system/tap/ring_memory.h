// RingMemory of a dump as an object of shared memory: rows that a killed program had completed can be read from it.

#ifndef TENSORTAP_SYSTEM_TAP_RING_MEMORY_H_
#define TENSORTAP_SYSTEM_TAP_RING_MEMORY_H_

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
  [[nodiscard]] bool outlives_process() const { return object_.is_open(); }

 private:
  RingMemory* memory_ = nullptr;
  void* map_ = nullptr;
  File object_;
};

// A row that is in a ring and perhaps not in the file.
struct LeftRow {
  uint64_t number;  // in the file
  RecordRow row;
};
// The complete rows in the ring of the file `records`, in order; of a program that still runs, as they are now. None when it has no ring.
std::vector<LeftRow> read_left_rows(const File& records);
// Puts the rows that are missing in a records.npy into the file, or into its bytes, which end kRingRows behind it. Returns how many those
// were.
Result<uint64_t> add_left_rows(File& records, std::span<const LeftRow> rows);
uint64_t add_left_rows(std::span<std::byte> records, std::span<const LeftRow> rows);
// Removes the ring of a file whose writer is dead.
void remove_ring(const File& records);
// Writes what dead programs of this user left in rings into their dumps, as far as these are where they were, and removes the rings. A ring
// without its dump is kept for an hour.
void settle_left_rings();

}  // namespace tensortap::tap

#endif  // TENSORTAP_SYSTEM_TAP_RING_MEMORY_H_
