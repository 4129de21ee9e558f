// The memory that programs allocate here: the host's, with the extent of every block, so that wrong addresses and sizes are noticed.

#ifndef TENSORTAP_SOURCE_ACL_MEMORY_H_
#define TENSORTAP_SOURCE_ACL_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <shared_mutex>

#include "acl/acl_rt.h"

namespace tensortap::acl_source {

enum class MemoryKind : uint8_t { kDevice, kHost };

// The block that an address lies in.
struct MemoryPlace {
  MemoryKind kind = MemoryKind::kDevice;
  uint32_t device = 0;
};

// How a range of addresses lies to the blocks and to the program's own ranges that are registered.
enum class Extent : uint8_t {
  kInside,   // within one of them
  kBeyond,   // begins in a block and goes on behind it
  kForeign,  // begins in no block
};

// Thread-safe.
class Memory {
 public:
  // The one of the process; never destroyed.
  static Memory& of_process();

  // Null when there is no memory. Aligned to 64 bytes. `size` is not 0. `device` is the one that it belongs to.
  void* allocate(size_t size, MemoryKind kind, uint32_t device = 0);
  // False when no block of the kind begins there.
  bool release(void* pointer, MemoryKind kind);

  // Lets the device use a range of the program's memory, which counts as device memory until unregister_range(). Errors:
  // ACL_ERROR_INVALID_PARAM for memory that is not mapped, and for an overlap with another such range.
  aclError register_range(void* pointer, size_t size);
  // False when no registered range begins there.
  bool unregister_range(void* pointer);

  [[nodiscard]] Extent extent(const void* pointer, size_t size) const;
  // The block, or registered range, that an address lies in.
  [[nodiscard]] std::optional<MemoryPlace> place(const void* pointer) const;
  // The range lies in one block of device memory, or in a registered range.
  [[nodiscard]] bool is_device(const void* pointer, size_t size) const;

 private:
  struct Block {
    size_t size = 0;
    MemoryPlace place;
  };
  using Blocks = std::map<uintptr_t, Block>;
  static const Blocks::value_type* find(const Blocks& blocks, uintptr_t address);
  static Extent extent_in(const Blocks& blocks, uintptr_t begin, size_t size);

  mutable std::shared_mutex mutex_;
  Blocks blocks_;      // guarded by mutex_
  Blocks registered_;  // of the program, may lie in blocks; guarded by mutex_
};

// Copies and fills with every check. Codes as aclrtMemcpy() and aclrtMemset() give them; nothing is written on failure.
struct CopyRequest {
  void* target = nullptr;
  size_t capacity = 0;
  const void* source = nullptr;
  size_t size = 0;
  aclrtMemcpyKind kind = ACL_MEMCPY_HOST_TO_HOST;
};
aclError copy_memory(const Memory& memory, const CopyRequest& request);
aclError check_copy(const Memory& memory, const CopyRequest& request);
aclError fill_memory(const Memory& memory, void* target, size_t capacity, int32_t value, size_t size);

}  // namespace tensortap::acl_source

#endif  // TENSORTAP_SOURCE_ACL_MEMORY_H_
