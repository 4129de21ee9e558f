// RowsRing: rows on their way into a file, in memory that may outlive the process. No thread of the program stores into the file's own
// pages.

#ifndef TENSORTAP_SYSTEM_TAP_ROWS_RING_H_
#define TENSORTAP_SYSTEM_TAP_ROWS_RING_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "base/status.h"
#include "layout/layout.h"
#include "trace/record_row.h"

namespace tensortap::tap {

inline constexpr uint64_t kBlockRows = 128;  // 64 KiB, the piece in which rows are written
inline constexpr uint64_t kRingBlocks = 4;
inline constexpr uint64_t kRingRows = kRingBlocks * kBlockRows;

// What happened to a row of the ring. A slot's state is `block << 3 | phase`; the block is the number of the row in the file / kBlockRows.
enum class SlotPhase : uint64_t {
  kEmpty,
  kTaken,     // a thread fills it
  kComplete,  // the row can be read
  kGivenUp,   // no thread took it in time; the row is lost
  kStuck,     // a thread took it and did not fill it in time; the row is lost, and the thread may still store into it
  kFreed,     // that thread is done
  kWritten,   // the row is in the file already
};
constexpr uint64_t slot_state(uint64_t block, SlotPhase phase) { return block << 3 | static_cast<uint64_t>(phase); }
constexpr SlotPhase phase_of(uint64_t state) { return static_cast<SlotPhase>(state & 7); }
constexpr uint64_t block_of(uint64_t state) { return state >> 3; }

// The ring's memory: zeros at first.
struct RingMemory {
  std::array<std::atomic<uint64_t>, kRingRows> states;
  std::array<RecordRow, kRingRows> rows;
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

// A thread claims a place, fills it and calls complete(). The thread that completes the last row of a block writes the block. A thread that
// stops between the two calls holds up others for a bounded time; then its row is lost, and the rest of the block is written.
// Thread-safe. Borrows the memory.
class RowsRing {
 public:
  // Writes rows, which are the file's from number `first` on. One call at a time, on any thread.
  using Write = Status (*)(void* context, uint64_t first, std::span<const RecordRow> rows);

  RowsRing(RingMemory& memory, Write write, void* context, int64_t longest_wait_ns = kLongestWaitNs);
  RowsRing(const RowsRing&) = delete;
  RowsRing& operator=(const RowsRing&) = delete;

  struct Place {
    uint64_t number;  // of the row in the file
    RecordRow* row;
  };
  // The next place; nothing while the file has room for no more (allow()).
  std::optional<Place> claim();
  // The row at `place` is filled. Errors: the row is lost, because it came too late (kIo) or its block could not be written; rows of other
  // calls that are lost with it are counted.
  Status complete(const Place& place);
  // How many rows the file has room for.
  void allow(uint64_t rows) { allowed_.store(rows, std::memory_order_release); }

  // Says in a row that complete() accepted where its values lie: `row` is the same row with its final member and flags. False when the row
  // is not in the ring any more: then it is in the file, or lost.
  bool put_values(uint64_t number, const RecordRow& row);

  // Writes the complete rows of blocks that are not full yet. Rows that cannot be written are lost, and counted.
  Status write_begun();
  // How many rows from the first on are in the file without a gap, if write_begun() has just returned.
  uint64_t prefix();
  // Places taken so far.
  [[nodiscard]] uint64_t taken() const { return next_.load(std::memory_order_acquire); }
  // Rows that complete() accepted and that could not be written; counts from 0 again.
  LostRecords take_lost() {
    const std::lock_guard lock(writing_);
    return std::exchange(lost_, {});
  }

  static constexpr int64_t kLongestWaitNs = 100'000'000;

 private:
  static constexpr uint64_t kWriting = 255;  // instead of a count of rows: a thread writes the block

  // How far a block is: `number << 8 | rows that are settled`, or kWriting for those.
  struct Progress {
    alignas(64) std::atomic<uint64_t> value;
  };
  std::atomic<uint64_t>& state_of(uint64_t number) { return memory_.states[number % kRingRows]; }
  std::atomic<uint64_t>& progress_of(uint64_t block) { return progress_[block % kRingBlocks].value; }
  bool wait_for(uint64_t block);
  bool take(uint64_t number);
  // One more row of the block is settled. True when it was the last: the caller has to write the block.
  bool settle(uint64_t block);
  void give_up(uint64_t block);
  Status write_block(uint64_t block, uint64_t own);
  void count_lost_locked(std::span<const RecordRow> rows);
  Status write_runs_locked(uint64_t block, uint64_t own);
  void free_block_locked(uint64_t block);
  void mark_locked(uint64_t begin, uint64_t end, SlotPhase phase);
  [[nodiscard]] uint64_t oldest_row() const;

  RingMemory& memory_;
  const Write write_;
  void* const context_;
  const int64_t longest_wait_ns_;
  std::atomic<uint64_t> next_{0};
  std::atomic<uint64_t> allowed_{0};
  std::array<Progress, kRingBlocks> progress_;
  std::mutex writing_;  // held while rows of the ring are read or given free; guards what follows
  uint64_t first_gap_ = UINT64_MAX;
  LostRecords lost_;
};

}  // namespace tensortap::tap

#endif  // TENSORTAP_SYSTEM_TAP_ROWS_RING_H_
