// Numbers for the blocks of memory that tensors live in, and for what they hold.
//
// A block is known by its StorageImpl, which is held weakly as long as it is in the table: its memory is free to go, its identity is not
// given to another. What expired is dropped a few at a time, whenever a block is added.

#ifndef TENSORTAP_SOURCE_PYTORCH_STORAGE_TABLE_H_
#define TENSORTAP_SOURCE_PYTORCH_STORAGE_TABLE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "source/pytorch/adapter_interface.h"

namespace tensortap {

// What a block holds at one moment.
struct StorageContent {
  uint64_t storage = 0;    // number of the block, 0 = none
  uint64_t version = 0;    // changes with every write
  bool unwritten = false;  // nothing was written since the allocation
};

// Thread-safe. Memory comes from mappings of its own. When there is none, content is unknown (number 0).
class StorageTable {
 public:
  explicit StorageTable(const tensortap_torch_adapter& adapter) : adapter_(adapter) {}
  ~StorageTable();
  StorageTable(const StorageTable&) = delete;
  StorageTable& operator=(const StorageTable&) = delete;

  // What the block of a tensor holds.
  StorageContent look(const tensortap_torch_tensor& tensor);
  // After an operator wrote into it.
  StorageContent wrote(const tensortap_torch_tensor& tensor);
  // After an operator allocated it without writing.
  StorageContent allocated(const tensortap_torch_tensor& tensor);
  // What is in the blocks now is not known to be what was in them: operators ran that were not seen.
  void lose_sight() { sight_.fetch_add(1, std::memory_order_relaxed); }
  // Blocks in the table, for tests.
  [[nodiscard]] size_t size() const;

 private:
  struct Entry {
    const void* storage;
    uint64_t number;
    uint32_t version;
    uint32_t sight;
    uint64_t fingerprint;  // of an unwritten block, else 0
  };
  struct Shard {
    std::mutex mutex;
    Entry* entries = nullptr;
    size_t capacity = 0;  // a power of two
    size_t used = 0;
    size_t sweep = 0;
  };
  static constexpr size_t kShards = 32;

  static size_t hash_of(const void* storage);
  Shard& shard_of(const void* storage) { return shards_[hash_of(storage) % kShards]; }
  Entry* find_or_add(Shard& shard, const void* storage);
  Entry* find(Shard& shard, const void* storage) const;
  bool grow(Shard& shard);
  void sweep(Shard& shard);
  static void erase(Shard& shard, size_t position);
  StorageContent content_of(const Entry& entry) const;

  const tensortap_torch_adapter& adapter_;
  std::atomic<uint64_t> next_{1};
  std::atomic<uint32_t> sight_{0};
  std::array<Shard, kShards> shards_;
};

}  // namespace tensortap

#endif  // TENSORTAP_SOURCE_PYTORCH_STORAGE_TABLE_H_
