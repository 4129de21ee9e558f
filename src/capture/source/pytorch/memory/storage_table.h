// Numbers for the blocks of memory that tensors live in, and for their contents.
//
// A block is known by its StorageImpl, which the table holds weakly: its memory is free to go, but no other block gets its identity. Each
// held StorageImpl is a small piece of the program's heap: the free memory around it cannot be joined, and the heap would grow without end.
// So a block is examined again soon after an operator met it, when most blocks expire. Blocks missed then are dropped a few at a time,
// whenever a block is added.

#ifndef TENSORTAP_SOURCE_PYTORCH_MEMORY_STORAGE_TABLE_H_
#define TENSORTAP_SOURCE_PYTORCH_MEMORY_STORAGE_TABLE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "source/pytorch/adapter/adapter_interface.h"
#include "source/pytorch/memory/unwritten_parts.h"

namespace tensortap::pytorch {

// When a block was written: in which step, and whether by an optimizer.
struct WriteTime {
  int64_t step = -1;  // -1 = not known
  bool by_optimizer = false;
};

// The content of a block at one moment.
struct StorageContent {
  uint64_t storage = 0;    // number of the block, 0 = none
  uint64_t version = 0;    // changes with every write
  bool unwritten = false;  // nothing of the tensor was written since the allocation
  bool partly = false;     // some of its elements were not
  bool unfilled = false;   // a copy from a device may still write into it: the program has not waited for it
};

// The blocks that one thread met lately, and that may have expired since. That thread owns it.
class MetStorages {
 public:
  WriteTime now;  // of the writes of the thread's operators

 private:
  friend class StorageTable;
  // Blocks of age n are examined every 2^n operators, and the survivors get the next age, up to the last. So an expired block is held about
  // as long again as it lived, at most, and a block that lives on costs next to nothing.
  static constexpr int kAges = 10;
  struct Block {
    const void* storage;
    uint32_t met_at;  // the latest meeting counts
  };
  std::array<std::vector<Block>, kAges> by_age_;
  uint32_t operators_ = 1;
};

// Thread-safe. Memory comes from separate mappings. Without memory, content is unknown (number 0).
class StorageTable {
 public:
  explicit StorageTable(const tensortap_torch_adapter& adapter) : adapter_(adapter) {}
  ~StorageTable();
  StorageTable(const StorageTable&) = delete;
  StorageTable& operator=(const StorageTable&) = delete;

  // The content of a tensor's block.
  StorageContent look(const tensortap_torch_tensor& tensor, MetStorages& met);
  // The same before an operator writes into the tensor, if its block is known: memory that no operator met yet stays unknown.
  void look_before_write(const tensortap_torch_tensor& tensor);
  // After an operator made it, or a view of it.
  StorageContent made(const tensortap_torch_tensor& tensor, MetStorages& met);
  // After an operator wrote into it.
  StorageContent wrote(const tensortap_torch_tensor& tensor, MetStorages& met);
  // The program filled it without an operator, where nothing was written since the allocation.
  void filled(const tensortap_torch_tensor& tensor, MetStorages& met);
  // After an operator allocated it without writing.
  StorageContent allocated(const tensortap_torch_tensor& tensor, MetStorages& met);
  // A copy from a device may still write into the tensor's block in host memory: the program has not waited for it.
  void left_unfilled(const tensortap_torch_tensor& tensor, MetStorages& met);
  // The program uses the block on the host, for which it must have waited.
  void used_on_host(const tensortap_torch_tensor& tensor, MetStorages& met);
  // Whether there may be such blocks.
  [[nodiscard]] bool has_unfilled() const { return unfilled_.load(std::memory_order_relaxed); }
  // When the block of a tensor was last written; -1 where no write was seen.
  [[nodiscard]] WriteTime written_at(const tensortap_torch_tensor& tensor);
  // Drops the blocks that expired since a thread met them. To be called before each operator, which can then reuse the memory.
  void let_go(MetStorages& met);
  // Drops all expired blocks.
  void let_go_of_all();
  // The contents of all blocks are unknown from now on: operators ran that were not seen.
  void lose_sight() { sight_.fetch_add(1, std::memory_order_relaxed); }
  // Blocks in the table, for tests.
  [[nodiscard]] size_t size() const;

 private:
  struct Entry {
    const void* storage;
    uint64_t number;
    uint32_t version;
    uint32_t sight;
    uint64_t fingerprint;   // of a block that nothing was written to, else 0
    UnwrittenParts* parts;  // of one that was written in part, else null; owned
    uint32_t met_at;        // number of the operator, of the thread that met it last; 0 = not met yet
    uint16_t returns;       // how often it was met again after a long time, up to kReturnsOfStaying
    bool unfilled;
    WriteTime written_at;
  };
  // Each in separate lines of the processor's cache.
  struct alignas(64) Shard {
    std::atomic_flag taken;
    Entry* entries = nullptr;
    size_t capacity = 0;  // a power of two
    size_t used = 0;
    size_t sweep = 0;
  };
  static constexpr size_t kShards = 32;
  // A block that a program meets again and again after so many operators, such as a parameter, is assumed to stay: it is not examined
  // before as many have passed. A block that autograd keeps for the backward pass comes back once, and is gone.
  static constexpr int kAgeOfStaying = 6;
  static constexpr uint16_t kReturnsOfStaying = 2;

  static size_t hash_of(const void* storage);
  // Where a block belongs in a shard of a capacity, and the place after one: capacities are powers of two.
  static size_t home_of(const void* storage, size_t capacity) { return (hash_of(storage) / kShards) & (capacity - 1); }
  static size_t next_of(size_t place, size_t capacity) { return (place + 1) & (capacity - 1); }
  Shard& shard_of(const void* storage) { return shards_[hash_of(storage) % kShards]; }
  // Under the shard's lock: finds the tensor's block or adds it, and calls `change(entry, added)`. Returns the block's content after that.
  template <class Change>
  StorageContent meet(const tensortap_torch_tensor& tensor, MetStorages& met, Change&& change);
  static void forget_parts(Entry& entry);
  void look_again(Entry& entry, const tensortap_torch_tensor& tensor) const;
  Entry* add(Shard& shard, const void* storage);
  Entry* find(Shard& shard, const void* storage) const;
  bool grow(Shard& shard);
  void sweep(Shard& shard);
  bool let_go_of(Shard& shard, size_t position);
  bool is_to_follow(const MetStorages::Block& block);
  static void note(Entry& entry, MetStorages& met);
  static void erase(Shard& shard, size_t position);
  static StorageContent content_of(const Entry& entry, const tensortap_torch_tensor& tensor);

  const tensortap_torch_adapter& adapter_;
  std::atomic<uint64_t> next_{1};
  std::atomic<uint32_t> sight_{0};
  std::atomic<bool> unfilled_{false};
  std::array<Shard, kShards> shards_;
};

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_MEMORY_STORAGE_TABLE_H_
