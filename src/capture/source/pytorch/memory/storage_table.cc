#include "source/pytorch/memory/storage_table.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/flag_lock.h"

namespace tensortap::pytorch {
namespace {

constexpr size_t kFirstCapacity = 128;
constexpr size_t kSweptAtOnce = 2;

void* map_zeroed(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

// Shows whether something other than an operator, such as torch.tensor() or NumPy, filled a block after it was allocated. Reads both ends
// only: the program may never touch the memory between them. Memory of a device has no useful fingerprint.
uint64_t fingerprint_of(const tensortap_torch_tensor& tensor) {
  if (tensor.kind != TENSORTAP_TORCH_STRIDED || tensor.storage_data == nullptr || tensor.storage_bytes == 0) return 1;
  const auto* bytes = static_cast<const unsigned char*>(tensor.storage_data);
  const size_t part = std::min<size_t>(tensor.storage_bytes, 64);
  uint64_t hash = 14695981039346656037U;
  for (size_t i = 0; i < part; ++i) hash = (hash ^ bytes[i]) * 1099511628211U;
  for (size_t i = tensor.storage_bytes - part; i < tensor.storage_bytes; ++i) hash = (hash ^ bytes[i]) * 1099511628211U;
  return hash | 1U;
}

}  // namespace

StorageTable::~StorageTable() {
  for (Shard& shard : shards_) {
    for (size_t i = 0; i < shard.capacity; ++i) {
      if (shard.entries[i].storage == nullptr) continue;
      adapter_.drop_storage(shard.entries[i].storage);
      forget_parts(shard.entries[i]);
    }
    if (shard.entries != nullptr) munmap(shard.entries, shard.capacity * sizeof(Entry));
  }
}

size_t StorageTable::hash_of(const void* storage) {
  const auto address = reinterpret_cast<uintptr_t>(storage) >> 4U;
  return static_cast<size_t>((address * 0x9E3779B97F4A7C15U) >> 20U);
}

size_t StorageTable::size() const {
  size_t count = 0;
  for (const Shard& shard : shards_) count += shard.used;
  return count;
}

StorageTable::Entry* StorageTable::find(Shard& shard, const void* storage) const {
  if (shard.capacity == 0) return nullptr;
  for (size_t i = home_of(storage, shard.capacity);; i = next_of(i, shard.capacity)) {
    if (shard.entries[i].storage == storage) return &shard.entries[i];
    if (shard.entries[i].storage == nullptr) return nullptr;
  }
}

bool StorageTable::grow(Shard& shard) {
  const size_t capacity = shard.capacity == 0 ? kFirstCapacity : shard.capacity * 2;
  auto* entries = static_cast<Entry*>(map_zeroed(capacity * sizeof(Entry)));
  if (entries == nullptr) return false;
  for (size_t i = 0; i < shard.capacity; ++i) {
    const Entry& entry = shard.entries[i];
    if (entry.storage == nullptr) continue;
    size_t to = home_of(entry.storage, capacity);
    while (entries[to].storage != nullptr) to = next_of(to, capacity);
    entries[to] = entry;
  }
  if (shard.entries != nullptr) munmap(shard.entries, shard.capacity * sizeof(Entry));
  shard.entries = entries;
  shard.capacity = capacity;
  return true;
}

// Closes the gap with the entries behind it that belong before it.
void StorageTable::erase(Shard& shard, size_t position) {
  size_t gap = position;
  for (size_t i = next_of(gap, shard.capacity); shard.entries[i].storage != nullptr; i = next_of(i, shard.capacity)) {
    const size_t home = home_of(shard.entries[i].storage, shard.capacity);
    const bool stays = gap <= i ? (gap < home && home <= i) : (gap < home || home <= i);
    if (stays) continue;
    shard.entries[gap] = shard.entries[i];
    gap = i;
  }
  shard.entries[gap] = Entry{};
  --shard.used;
}

bool StorageTable::let_go_of(Shard& shard, size_t position) {
  const void* storage = shard.entries[position].storage;
  if (storage == nullptr || adapter_.storage_expired(storage) == 0) return false;
  forget_parts(shard.entries[position]);
  erase(shard, position);
  adapter_.drop_storage(storage);
  return true;
}

void StorageTable::sweep(Shard& shard) {
  for (size_t i = 0; i < kSweptAtOnce && shard.capacity > 0; ++i) {
    shard.sweep = next_of(shard.sweep, shard.capacity);
    let_go_of(shard, shard.sweep);
  }
}

void StorageTable::let_go_of_all() {
  for (Shard& shard : shards_) {
    const FlagLock lock(shard.taken);
    // A block that moves up into a gap is examined as well.
    for (size_t i = 0; i < shard.capacity; ++i) {
      while (let_go_of(shard, i)) continue;
    }
  }
}

bool StorageTable::is_to_follow(const MetStorages::Block& block) {
  Shard& shard = shard_of(block.storage);
  const FlagLock lock(shard.taken);
  const Entry* entry = find(shard, block.storage);
  if (entry == nullptr || entry->met_at != block.met_at) return false;
  return !let_go_of(shard, static_cast<size_t>(entry - shard.entries));
}

void StorageTable::let_go(MetStorages& met) {
  ++met.operators_;
  constexpr int kOldest = MetStorages::kAges - 1;
  // From the oldest that is due on, so that a block that moves on is not examined twice.
  for (int age = std::min(std::countr_zero(met.operators_), kOldest); age >= 0; --age) {
    std::vector<MetStorages::Block>& blocks = met.by_age_[age];
    std::erase_if(blocks, [this](const MetStorages::Block& block) { return !is_to_follow(block); });
    if (age == kOldest) continue;
    std::vector<MetStorages::Block>& older = met.by_age_[age + 1];
    older.insert(older.end(), blocks.begin(), blocks.end());
    blocks.clear();
  }
}

void StorageTable::note(Entry& entry, MetStorages& met) {
  if (entry.met_at == met.operators_) return;
  const bool returns = entry.met_at != 0 && met.operators_ - entry.met_at >= 1U << kAgeOfStaying;
  if (returns && entry.returns < kReturnsOfStaying) ++entry.returns;
  const int age = entry.returns < kReturnsOfStaying ? 0 : kAgeOfStaying;
  met.by_age_[age].push_back({entry.storage, met.operators_});
  entry.met_at = met.operators_;
}

StorageTable::Entry* StorageTable::add(Shard& shard, const void* storage) {
  sweep(shard);
  if (shard.used * 4 >= shard.capacity * 3 && !grow(shard)) return nullptr;
  size_t i = home_of(storage, shard.capacity);
  while (shard.entries[i].storage != nullptr) i = next_of(i, shard.capacity);
  adapter_.hold_storage(storage);
  shard.entries[i] = {
      storage, next_.fetch_add(1, std::memory_order_relaxed), 1, sight_.load(std::memory_order_relaxed), 0, nullptr, 0, 0, false, {}};
  ++shard.used;
  return &shard.entries[i];
}

StorageContent StorageTable::content_of(const Entry& entry, const tensortap_torch_tensor& tensor) {
  using Part = UnwrittenParts::Part;
  const Part written = entry.parts == nullptr ? Part::kWritten : entry.parts->written_of(tensor);
  const bool unwritten = entry.fingerprint != 0 || written == Part::kNothing;
  return {entry.number, (uint64_t{entry.sight} << 32U) | entry.version, unwritten, written == Part::kSome, entry.unfilled};
}

template <class Change>
StorageContent StorageTable::meet(const tensortap_torch_tensor& tensor, MetStorages& met, Change&& change) {
  if (tensor.storage == nullptr) return {};
  Shard& shard = shard_of(tensor.storage);
  const FlagLock lock(shard.taken);
  Entry* const known = find(shard, tensor.storage);
  Entry* const entry = known != nullptr ? known : add(shard, tensor.storage);
  if (entry == nullptr) return {};
  note(*entry, met);
  change(*entry, known == nullptr);
  return content_of(*entry, tensor);
}

void StorageTable::forget_parts(Entry& entry) {
  delete entry.parts;
  entry.parts = nullptr;
}

void StorageTable::look_again(Entry& entry, const tensortap_torch_tensor& tensor) const {
  const uint32_t sight = sight_.load(std::memory_order_relaxed);
  if (entry.parts != nullptr && (entry.sight != sight || !entry.parts->are_as_left(tensor))) {
    forget_parts(entry);
    ++entry.version;
  }
  entry.sight = sight;
  if (entry.fingerprint == 0 || entry.fingerprint == fingerprint_of(tensor)) return;
  entry.fingerprint = 0;
  ++entry.version;
}

StorageContent StorageTable::look(const tensortap_torch_tensor& tensor, MetStorages& met) {
  return meet(tensor, met, [&](Entry& entry, bool /*added*/) { look_again(entry, tensor); });
}

void StorageTable::look_before_write(const tensortap_torch_tensor& tensor) {
  if (tensor.storage == nullptr) return;
  Shard& shard = shard_of(tensor.storage);
  const FlagLock lock(shard.taken);
  if (Entry* const entry = find(shard, tensor.storage); entry != nullptr) look_again(*entry, tensor);
}

StorageContent StorageTable::made(const tensortap_torch_tensor& tensor, MetStorages& met) {
  return meet(tensor, met, [&](Entry& entry, bool added) {
    look_again(entry, tensor);
    if (added) entry.written_at = met.now;
  });
}

StorageContent StorageTable::wrote(const tensortap_torch_tensor& tensor, MetStorages& met) {
  return meet(tensor, met, [&](Entry& entry, bool /*added*/) {
    const uint32_t sight = sight_.load(std::memory_order_relaxed);
    if (entry.sight != sight) forget_parts(entry);
    entry.sight = sight;
    // The parts that were unwritten before are known: the begin of the operator called look_before_write().
    if (entry.fingerprint != 0) {
      entry.parts = UnwrittenParts::after_first_write(tensor).release();
    } else if (entry.parts != nullptr && !entry.parts->wrote(tensor)) {
      forget_parts(entry);
    }
    entry.fingerprint = 0;
    entry.unfilled = false;
    entry.written_at = met.now;
    ++entry.version;
  });
}

WriteTime StorageTable::written_at(const tensortap_torch_tensor& tensor) {
  if (tensor.storage == nullptr) return {};
  Shard& shard = shard_of(tensor.storage);
  const FlagLock lock(shard.taken);
  const Entry* const entry = find(shard, tensor.storage);
  return entry == nullptr ? WriteTime{} : entry->written_at;
}

void StorageTable::filled(const tensortap_torch_tensor& tensor, MetStorages& met) {
  meet(tensor, met, [](Entry& entry, bool /*added*/) {
    if (entry.fingerprint == 0 && entry.parts == nullptr) return;
    entry.fingerprint = 0;
    forget_parts(entry);
    ++entry.version;
  });
}

void StorageTable::left_unfilled(const tensortap_torch_tensor& tensor, MetStorages& met) {
  unfilled_.store(true, std::memory_order_relaxed);
  meet(tensor, met, [](Entry& entry, bool /*added*/) { entry.unfilled = true; });
}

void StorageTable::used_on_host(const tensortap_torch_tensor& tensor, MetStorages& met) {
  meet(tensor, met, [](Entry& entry, bool /*added*/) { entry.unfilled = false; });
}

StorageContent StorageTable::allocated(const tensortap_torch_tensor& tensor, MetStorages& met) {
  return meet(tensor, met, [&](Entry& entry, bool added) {
    // A block that was known before is one that resize_ or out= gave again: it may hold values.
    if (added) entry.fingerprint = fingerprint_of(tensor);
  });
}

}  // namespace tensortap::pytorch
