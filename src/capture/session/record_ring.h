// RecordRing: the records of the last ops, with their tensors, in memory until a trigger fires.

#ifndef TENSORTAP_SESSION_RECORD_RING_H_
#define TENSORTAP_SESSION_RECORD_RING_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_set>
#include <vector>

#include "base/json_fwd.h"
#include "session/record_queue.h"
#include "tensor/tensor.h"

namespace tensortap {

// Thread-safe.
class RecordRing {
 public:
  // Keeps the records of the last `most_ops` executions of ops; copies come from `pool`, which must outlive the ring.
  RecordRing(uint64_t most_ops, PoolAccount& pool) : most_ops_(most_ops), pool_(pool) {}
  RecordRing(const RecordRing&) = delete;
  RecordRing& operator=(const RecordRing&) = delete;

  // Adds a record of an execution, with a copy of the elements where `bytes` has a value: of that size, filled by `copy(target)`. Where the
  // pool has no room the oldest ops are let go; without room even then the record says that its data is lost.
  template <class Copy>
  void add(const RecordRow& row, std::optional<uint64_t> bytes, Copy&& copy) {
    QueuedRecord record{row, PoolBuffer{}, nullptr};
    if (bytes.has_value()) {
      record.data = room_for(*bytes);
      if (record.data.empty()) {
        record.row.flags |= kRecordDataLost;
      } else {
        copy(record.data.data());
      }
    }
    push(std::move(record));
  }

  // Drops the execution of this row: its records come another way.
  void forget(const RecordRow& row);
  // The trigger fired: returns all held records that claim() did not take, the oldest first, and empties the ring.
  std::vector<QueuedRecord> take();
  // Whether the caller writes the record with this number: true once for each.
  bool claim(uint64_t sequence);

  // {"ops", "fired", "records", "let_go_for_memory"}
  [[nodiscard]] Json report() const;

  // For a handler of a signal: calls `use` for each held record, without a lock that could wait. False when the ring is just being changed.
  template <class Use>
  bool look(Use&& use) const noexcept {
    if (busy_.test_and_set(std::memory_order_acquire)) return false;
    for (const Entry& entry : entries_) {
      for (const QueuedRecord& record : entry.records) use(record);
    }
    busy_.clear(std::memory_order_release);
    return true;
  }

 private:
  struct Entry {
    OpId op = kNoOp;
    uint64_t run = 0;
    int64_t step = 0;
    uint32_t call = 0;
    std::vector<QueuedRecord> records;

    [[nodiscard]] bool is(const RecordRow& row) const { return op == row.op && run == row.run && step == row.step && call == row.call; }
  };

  PoolBuffer room_for(uint64_t bytes);
  void push(QueuedRecord record);

  const uint64_t most_ops_;
  PoolAccount& pool_;
  mutable std::atomic_flag busy_;  // guards what follows
  std::deque<Entry> entries_;
  std::unordered_set<uint64_t> claimed_;
  uint64_t fired_ = 0;
  uint64_t records_ = 0;
  uint64_t let_go_ = 0;
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_RECORD_RING_H_
