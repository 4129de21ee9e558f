// A table from addresses to numbers that any thread reads without a lock, in a few nanoseconds, while another one changes it.

#ifndef TENSORTAP_SOURCE_PYTORCH_PYTHON_POINTER_TABLE_H_
#define TENSORTAP_SOURCE_PYTORCH_PYTHON_POINTER_TABLE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace tensortap::pytorch {

// Meant for globals: needs no construction at run time and is never destroyed. Readers look again while a change goes on, and give up in a
// forked child whose parent was changing it. Its memory is enough for twice the most entries that it ever had.
class PointerTable {
 public:
  explicit constexpr PointerTable(size_t most_entries) : most_entries_(most_entries) {}

  // 0 when the address is unknown. Any thread, no lock.
  [[nodiscard]] uint32_t find(const void* address) const;
  // Adds or replaces; `number` is not 0, `address` not null. False when the table is full or there is no memory.
  bool set(const void* address, uint32_t number);
  void erase(const void* address);
  [[nodiscard]] size_t size() const;

 private:
  struct Slot {
    std::atomic<uintptr_t> address;
    std::atomic<uint32_t> number;  // 0 with an address: erased
  };
  struct Slots {
    size_t mask;
    Slot* slots;
  };

  [[nodiscard]] uint32_t find_once(uintptr_t address) const;
  bool make_room();
  static Slot* slot_for(const Slots& slots, uintptr_t address);

  size_t most_entries_;
  std::atomic<uint64_t> changes_{0};  // odd while entries move
  std::atomic<const Slots*> slots_{nullptr};
  mutable std::mutex writer_;
  size_t used_ = 0;   // slots with an address, erased ones included
  size_t alive_ = 0;  // slots with a number
};

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_PYTHON_POINTER_TABLE_H_
