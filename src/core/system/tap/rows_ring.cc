#include "system/tap/rows_ring.h"

#include <sched.h>

#include <algorithm>
#include <ctime>

#include "base/clock.h"
#include "trace/waiting_values.h"

namespace tensortap::tap {
namespace {

constexpr uint64_t kNoRow = UINT64_MAX;
constexpr int kYields = 64;  // before a thread that waits goes to sleep

void pause_briefly(int round) {
  if (round < kYields) {
    sched_yield();
    return;
  }
  const timespec time{0, 50'000};
  nanosleep(&time, nullptr);
}

// The program may die, and another process may read, between any two of these. The flags say whether the values are present. If they are
// not, the member says whether they are on their way.
void store_values(const RecordRow& from, RecordRow& to) {
  to.data_offset = from.data_offset;
  to.data_bytes = from.data_bytes;
  to.data_header = from.data_header;
  std::atomic_ref<uint8_t>(to.flags).store(from.flags, std::memory_order_release);
  std::atomic_ref<uint64_t>(to.member).store(from.member, std::memory_order_release);
}

}  // namespace

RowsRing::RowsRing(RingMemory& memory, Write write, void* context, int64_t longest_wait_ns)
    : memory_(memory), write_(write), context_(context), longest_wait_ns_(longest_wait_ns) {
  for (uint64_t row = 0; row < kRingRows; ++row) {
    memory_.states[row].store(slot_state(row / kBlockRows, SlotPhase::kEmpty), std::memory_order_relaxed);
  }
  for (uint64_t block = 0; block < kRingBlocks; ++block) progress_of(block).store(block << 8, std::memory_order_release);
}

std::optional<RowsRing::Place> RowsRing::claim() {
  for (;;) {
    uint64_t number = next_.load(std::memory_order_relaxed);
    do {
      if (number >= allowed_.load(std::memory_order_acquire)) return std::nullopt;
    } while (!next_.compare_exchange_weak(number, number + 1, std::memory_order_acq_rel, std::memory_order_relaxed));
    // A number that is not taken is a gap in the file.
    if (wait_for(number / kBlockRows) && take(number)) return Place{number, &memory_.rows[number % kRingRows]};
  }
}

// Waits until the ring's block holds rows of `block`. False when it has gone on to a later one.
bool RowsRing::wait_for(uint64_t block) {
  const std::atomic<uint64_t>& progress = progress_of(block);
  int64_t until = 0;
  for (int round = 0;; ++round) {
    const uint64_t now = progress.load(std::memory_order_acquire);
    if (now >> 8 >= block) return now >> 8 == block;
    if ((now & 0xFF) == kWriting) {
      until = 0;  // takes as long as the disk does
    } else if (until == 0) {
      until = monotonic_ns() + longest_wait_ns_;
    } else if (monotonic_ns() > until) {
      give_up(now >> 8);
      until = 0;
    }
    pause_briefly(round);
  }
}

bool RowsRing::take(uint64_t number) {
  std::atomic<uint64_t>& state = state_of(number);
  const uint64_t block = number / kBlockRows;
  const uint64_t taken = slot_state(block, SlotPhase::kTaken);
  uint64_t found = slot_state(block, SlotPhase::kEmpty);
  if (state.compare_exchange_strong(found, taken, std::memory_order_acq_rel)) return true;
  if (phase_of(found) == SlotPhase::kFreed && state.compare_exchange_strong(found, taken, std::memory_order_acq_rel)) return true;
  // Another thread may still store here: the number is left out.
  if (phase_of(found) == SlotPhase::kStuck && block_of(found) < block && settle(block)) (void)write_block(block, kNoRow);
  return false;
}

Status RowsRing::complete(const Place& place) {
  const uint64_t block = place.number / kBlockRows;
  std::atomic<uint64_t>& state = state_of(place.number);
  uint64_t taken = slot_state(block, SlotPhase::kTaken);
  if (!state.compare_exchange_strong(taken, slot_state(block, SlotPhase::kComplete), std::memory_order_acq_rel)) {
    state.store(slot_state(block, SlotPhase::kFreed), std::memory_order_release);
    return io_error("a thread was stopped while it wrote a record, for longer than others could wait");
  }
  return settle(block) ? write_block(block, place.number) : Status();
}

bool RowsRing::put_values(uint64_t number, const RecordRow& row) {
  const std::lock_guard lock(writing_);
  if (state_of(number).load(std::memory_order_acquire) != slot_state(number / kBlockRows, SlotPhase::kComplete)) return false;
  store_values(row, memory_.rows[number % kRingRows]);
  return true;
}

bool RowsRing::settle(uint64_t block) {
  std::atomic<uint64_t>& progress = progress_of(block);
  uint64_t now = progress.load(std::memory_order_relaxed);
  for (;;) {
    // Another thread has given the rest of the block up, and writes it.
    if (now >> 8 != block || (now & 0xFF) == kWriting) return false;
    const bool last = (now & 0xFF) == kBlockRows - 1;
    const uint64_t next = last ? (block << 8 | kWriting) : now + 1;
    if (progress.compare_exchange_weak(now, next, std::memory_order_acq_rel, std::memory_order_relaxed)) return last;
  }
}

// Writes a block without the rows that were not completed.
void RowsRing::give_up(uint64_t block) {
  std::atomic<uint64_t>& progress = progress_of(block);
  uint64_t now = progress.load(std::memory_order_acquire);
  do {
    if (now >> 8 != block || (now & 0xFF) == kWriting) return;
  } while (!progress.compare_exchange_weak(now, block << 8 | kWriting, std::memory_order_acq_rel));
  for (uint64_t number = block * kBlockRows; number < (block + 1) * kBlockRows; ++number) {
    uint64_t empty = slot_state(block, SlotPhase::kEmpty);
    uint64_t taken = slot_state(block, SlotPhase::kTaken);
    std::atomic<uint64_t>& state = state_of(number);
    if (!state.compare_exchange_strong(empty, slot_state(block, SlotPhase::kGivenUp), std::memory_order_acq_rel)) {
      state.compare_exchange_strong(taken, slot_state(block, SlotPhase::kStuck), std::memory_order_acq_rel);
    }
  }
  (void)write_block(block, kNoRow);
}

// Rows whose values are lost already were counted with these.
void RowsRing::count_lost_locked(std::span<const RecordRow> rows) {
  const auto is_counted = [](const RecordRow& row) { return (row.flags & kRecordDataLost) != 0 && !waits_for_values(row); };
  lost_.records += rows.size();
  lost_.counted += static_cast<uint64_t>(std::ranges::count_if(rows, is_counted));
}

// `own`: the number of the caller's row, whose loss it reports itself.
Status RowsRing::write_block(uint64_t block, uint64_t own) {
  const std::lock_guard lock(writing_);
  const Status status = write_runs_locked(block, own);
  free_block_locked(block);
  return status;
}

Status RowsRing::write_runs_locked(uint64_t block, uint64_t own) {
  Status of_own;
  const uint64_t end = (block + 1) * kBlockRows;
  for (uint64_t first = block * kBlockRows; first < end;) {
    const uint64_t complete = slot_state(block, SlotPhase::kComplete);
    uint64_t last = first;
    while (last < end && state_of(last).load(std::memory_order_acquire) == complete) ++last;
    if (last == first) {
      const bool is_there = state_of(first).load(std::memory_order_relaxed) == slot_state(block, SlotPhase::kWritten);
      if (!is_there) first_gap_ = std::min(first_gap_, first);
      ++first;
      continue;
    }
    const Status status = write_(context_, first, {&memory_.rows[first % kRingRows], last - first});
    if (!status.ok()) {
      first_gap_ = std::min(first_gap_, first);
      const uint64_t own_end = own >= first && own < last ? own : last;
      count_lost_locked({&memory_.rows[first % kRingRows], own_end - first});
      if (own_end < last) {
        count_lost_locked({&memory_.rows[(own + 1) % kRingRows], last - own - 1});
        of_own = status;
      }
    }
    first = last;
  }
  return of_own;
}

void RowsRing::free_block_locked(uint64_t block) {
  const uint64_t next = block + kRingBlocks;
  for (uint64_t number = block * kBlockRows; number < (block + 1) * kBlockRows; ++number) {
    std::atomic<uint64_t>& state = state_of(number);
    // A slot that a thread may still store into keeps its state until that thread is done.
    uint64_t found = state.load(std::memory_order_acquire);
    while (phase_of(found) != SlotPhase::kStuck &&
           !state.compare_exchange_weak(found, slot_state(next, SlotPhase::kEmpty), std::memory_order_acq_rel)) {
    }
  }
  progress_of(block).store(next << 8, std::memory_order_release);
}

// The first row of the oldest block that is not written.
uint64_t RowsRing::oldest_row() const {
  uint64_t oldest = UINT64_MAX;
  for (const Progress& progress : progress_) oldest = std::min(oldest, progress.value.load(std::memory_order_acquire) >> 8);
  return oldest * kBlockRows;
}

Status RowsRing::write_begun() {
  const std::lock_guard lock(writing_);
  Status first_error;
  const uint64_t end = taken();
  for (uint64_t number = oldest_row(); number < end;) {
    const auto is_here = [this](uint64_t row) {
      return state_of(row).load(std::memory_order_acquire) == slot_state(row / kBlockRows, SlotPhase::kComplete);
    };
    uint64_t last = number;
    while (last < end && is_here(last) && (last == number || last % kRingRows != 0)) ++last;
    if (last == number) {
      ++number;
      continue;
    }
    Status status = write_(context_, number, {&memory_.rows[number % kRingRows], last - number});
    mark_locked(number, last, status.ok() ? SlotPhase::kWritten : SlotPhase::kGivenUp);
    if (!status.ok()) {
      first_gap_ = std::min(first_gap_, number);
      count_lost_locked({&memory_.rows[number % kRingRows], last - number});
    }
    if (first_error.ok()) first_error = std::move(status);
    number = last;
  }
  return first_error;
}

void RowsRing::mark_locked(uint64_t begin, uint64_t end, SlotPhase phase) {
  for (uint64_t number = begin; number < end; ++number) {
    state_of(number).store(slot_state(number / kBlockRows, phase), std::memory_order_release);
  }
}

uint64_t RowsRing::prefix() {
  const std::lock_guard lock(writing_);
  const uint64_t end = taken();
  uint64_t number = oldest_row();
  const auto is_done = [this](uint64_t row) {
    const uint64_t state = state_of(row).load(std::memory_order_acquire);
    return block_of(state) > row / kBlockRows || phase_of(state) == SlotPhase::kWritten;
  };
  while (number < end && is_done(number)) ++number;
  return std::min(number, first_gap_);
}

}  // namespace tensortap::tap
