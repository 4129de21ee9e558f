// The memory that programs allocate here: the host's, with the extent of every block, so that wrong addresses and sizes are noticed.

#ifndef TENSORTAP_SOURCE_ACL_MEMORY_H_
#define TENSORTAP_SOURCE_ACL_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <shared_mutex>

#include "acl/acl_rt.h"

namespace tensortap::acl {

enum class MemoryKind : uint8_t { kDevice, kHost };

// How a range of addresses lies to the blocks.
enum class Extent : uint8_t {
  kInside,   // within one block
  kBeyond,   // begins in a block and goes on behind it
  kForeign,  // begins in no block
};

// Thread-safe.
class Memory {
 public:
  // The one of the process; never destroyed.
  static Memory& of_process();

  // Null when there is no memory. Aligned to 64 bytes. `size` is not 0.
  void* allocate(size_t size, MemoryKind kind);
  // False when no block of the kind begins there.
  bool release(void* pointer, MemoryKind kind);

  [[nodiscard]] Extent extent(const void* pointer, size_t size) const;
  // The range lies in one block of device memory.
  [[nodiscard]] bool is_device(const void* pointer, size_t size) const;

 private:
  struct Block {
    size_t size = 0;
    MemoryKind kind = MemoryKind::kDevice;
  };
  mutable std::shared_mutex mutex_;
  std::map<uintptr_t, Block> blocks_;  // guarded by mutex_
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

}  // namespace tensortap::acl

#endif  // TENSORTAP_SOURCE_ACL_MEMORY_H_
