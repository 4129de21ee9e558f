#include "source/pytorch/python/pointer_table.h"

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

namespace tensortap::pytorch {
namespace {

constexpr size_t kFirstSlots = 256;
constexpr int kMostLooks = 20000;
constexpr int kLooksBeforeYield = 100;  // the writer may have lost its processor in the middle of a change

size_t first_slot(uintptr_t address, size_t mask) {
  return static_cast<size_t>((static_cast<uint64_t>(address) * 0x9e3779b97f4a7c15u) >> 24u) & mask;
}

}  // namespace

uint32_t PointerTable::find_once(uintptr_t address) const {
  const Slots* const slots = slots_.load(std::memory_order_acquire);
  if (slots == nullptr) return 0;
  for (size_t i = first_slot(address, slots->mask), looks = 0; looks <= slots->mask; i = (i + 1) & slots->mask, ++looks) {
    const uintptr_t here = slots->slots[i].address.load(std::memory_order_acquire);
    if (here == address) return slots->slots[i].number.load(std::memory_order_acquire);
    if (here == 0) return 0;
  }
  return 0;
}

uint32_t PointerTable::find(const void* address) const {
  for (int look = 0; look < kMostLooks; ++look) {
    if (look > kLooksBeforeYield) sched_yield();
    const uint64_t before = changes_.load(std::memory_order_acquire);
    if (before % 2 != 0) continue;
    const uint32_t number = find_once(reinterpret_cast<uintptr_t>(address));
    if (changes_.load(std::memory_order_acquire) == before) return number;
  }
  return 0;
}

PointerTable::Slot* PointerTable::slot_for(const Slots& slots, uintptr_t address) {
  size_t i = first_slot(address, slots.mask);
  while (true) {
    Slot& slot = slots.slots[i];
    const uintptr_t here = slot.address.load(std::memory_order_relaxed);
    if (here == address || here == 0) return &slot;
    i = (i + 1) & slots.mask;
  }
}

// Moves the living entries: to new slots when at least a quarter of the old ones are alive, else to the old slots again.
bool PointerTable::make_room() {
  const Slots* const old = slots_.load(std::memory_order_relaxed);
  const size_t capacity = old == nullptr ? 0 : old->mask + 1;
  if (used_ * 2 < capacity) return true;
  std::vector<std::pair<uintptr_t, uint32_t>> entries;
  for (size_t i = 0; i < capacity; ++i) {
    if (const uint32_t number = old->slots[i].number.load(std::memory_order_relaxed); number != 0)
      entries.emplace_back(old->slots[i].address.load(std::memory_order_relaxed), number);
  }
  const Slots* target = old;
  if (old == nullptr || alive_ * 4 >= capacity) {
    const size_t wanted = std::max(kFirstSlots, capacity * 2);
    // Not from the program's heap, which it would keep from shrinking.
    void* const memory = mmap(nullptr, sizeof(Slots) + wanted * sizeof(Slot), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    target = new (memory) Slots{wanted - 1, reinterpret_cast<Slot*>(static_cast<char*>(memory) + sizeof(Slots))};
  }
  changes_.fetch_add(1, std::memory_order_acq_rel);
  for (size_t i = 0; target == old && i < capacity; ++i) {
    old->slots[i].number.store(0, std::memory_order_release);
    old->slots[i].address.store(0, std::memory_order_release);
  }
  for (const auto& [address, number] : entries) {
    Slot* const slot = slot_for(*target, address);
    slot->number.store(number, std::memory_order_release);
    slot->address.store(address, std::memory_order_release);
  }
  slots_.store(target, std::memory_order_release);  // the old slots stay: a reader may be using them
  used_ = entries.size();
  changes_.fetch_add(1, std::memory_order_acq_rel);
  return true;
}

bool PointerTable::set(const void* address, uint32_t number) {
  const std::lock_guard lock(writer_);
  if (alive_ >= most_entries_ || !make_room()) return false;
  Slot* const slot = slot_for(*slots_.load(std::memory_order_relaxed), reinterpret_cast<uintptr_t>(address));
  const bool added = slot->address.load(std::memory_order_relaxed) == 0;
  alive_ += slot->number.load(std::memory_order_relaxed) == 0 ? 1 : 0;
  used_ += added ? 1 : 0;
  slot->number.store(number, std::memory_order_release);
  if (added) slot->address.store(reinterpret_cast<uintptr_t>(address), std::memory_order_release);
  return true;
}

void PointerTable::erase(const void* address) {
  const std::lock_guard lock(writer_);
  const Slots* const slots = slots_.load(std::memory_order_relaxed);
  if (slots == nullptr || address == nullptr) return;
  Slot* const slot = slot_for(*slots, reinterpret_cast<uintptr_t>(address));
  if (slot->number.exchange(0, std::memory_order_acq_rel) != 0) --alive_;
}

size_t PointerTable::size() const {
  const std::lock_guard lock(writer_);
  return alive_;
}

}  // namespace tensortap::pytorch
