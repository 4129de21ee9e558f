#include "source/acl/memory.h"

#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <mutex>

#include "base/text.h"
#include "source/acl/failure.h"

namespace tensortap::acl_source {
namespace {

constexpr size_t kBlockAlignment = 64;

uintptr_t address_of(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

uint64_t memory_of_machine() {
  struct sysinfo facts {};
  return sysinfo(&facts) == 0 ? uint64_t{facts.totalram + facts.totalswap} * facts.mem_unit : UINT64_MAX;
}

// Whether all pages of a range belong to the process: a wild pointer is found before it is followed. msync() looks and writes nothing.
bool is_mapped(const void* pointer, size_t size) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = address_of(pointer) / page * page;
  uintptr_t end = 0;
  if (__builtin_add_overflow(address_of(pointer), size, &end)) return false;
  return msync(reinterpret_cast<void*>(begin), end - begin, MS_ASYNC) == 0;
}

// `is_device`: the side must be device memory; nothing: either will do.
enum class Side : uint8_t { kHost, kDevice, kEither };

struct Sides {
  Side target;
  Side source;
};

bool sides_of(aclrtMemcpyKind kind, Sides& sides) {
  switch (kind) {
    case ACL_MEMCPY_HOST_TO_HOST:
      sides = {Side::kHost, Side::kHost};
      return true;
    case ACL_MEMCPY_HOST_TO_DEVICE:
    case ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE:
      sides = {Side::kDevice, Side::kHost};
      return true;
    case ACL_MEMCPY_DEVICE_TO_HOST:
      sides = {Side::kHost, Side::kDevice};
      return true;
    case ACL_MEMCPY_DEVICE_TO_DEVICE:
    case ACL_MEMCPY_INNER_DEVICE_TO_DEVICE:
    case ACL_MEMCPY_INTER_DEVICE_TO_DEVICE:
      sides = {Side::kDevice, Side::kDevice};
      return true;
    case ACL_MEMCPY_DEFAULT:
      sides = {Side::kEither, Side::kEither};
      return true;
  }
  return false;
}

aclError check_side(const Memory& memory, const void* pointer, size_t size, Side side, const char* what) {
  if (pointer == nullptr) return fail(ACL_ERROR_INVALID_PARAM, concat(what, " is null"));
  if (size == 0) return ACL_SUCCESS;
  const Extent extent = memory.extent(pointer, size);
  if (extent == Extent::kBeyond)
    return fail(ACL_ERROR_INVALID_PARAM, concat(what, " has fewer than ", size, " bytes from that address on"));
  if (extent == Extent::kForeign && side == Side::kDevice) {
    return fail(ACL_ERROR_INVALID_PARAM, concat(what, " is to be device memory, but was not allocated with aclrtMalloc(), or is freed"));
  }
  if (extent == Extent::kForeign && !is_mapped(pointer, size)) {
    return fail(ACL_ERROR_INVALID_PARAM, concat(what, " is no memory of this process"));
  }
  return ACL_SUCCESS;
}

}  // namespace

Memory& Memory::of_process() {
  static auto* const memory = new Memory;
  return *memory;
}

void* Memory::allocate(size_t size, MemoryKind kind, uint32_t device) {
  static const uint64_t most = memory_of_machine();
  if (size > most) return nullptr;
  void* const pointer = std::aligned_alloc(kBlockAlignment, (size + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment);
  if (pointer == nullptr) return nullptr;
  const std::unique_lock lock(mutex_);
  blocks_[address_of(pointer)] = {size, {kind, device}};
  return pointer;
}

bool Memory::release(void* pointer, MemoryKind kind) {
  {
    const std::unique_lock lock(mutex_);
    const auto block = blocks_.find(address_of(pointer));
    if (block == blocks_.end() || block->second.place.kind != kind) return false;
    blocks_.erase(block);
  }
  std::free(pointer);
  return true;
}

aclError Memory::register_range(void* pointer, size_t size) {
  if (pointer == nullptr || size == 0) return fail(ACL_ERROR_INVALID_PARAM, "no memory to register");
  if (!is_mapped(pointer, size)) return fail(ACL_ERROR_INVALID_PARAM, concat("not all of the ", size, " bytes belong to this process"));
  const uintptr_t begin = address_of(pointer);
  const std::unique_lock lock(mutex_);
  const auto next = registered_.lower_bound(begin);
  if (find(registered_, begin) != nullptr || (next != registered_.end() && next->first < begin + size)) {
    return fail(ACL_ERROR_INVALID_PARAM, "a part of the memory is registered already: call aclrtHostUnregister() first");
  }
  registered_[begin] = {size, {MemoryKind::kHost, 0}};
  return ACL_SUCCESS;
}

bool Memory::unregister_range(void* pointer) {
  const std::unique_lock lock(mutex_);
  return registered_.erase(address_of(pointer)) > 0;
}

const Memory::Blocks::value_type* Memory::find(const Blocks& blocks, uintptr_t address) {
  auto block = blocks.upper_bound(address);
  if (block == blocks.begin()) return nullptr;
  --block;
  return address - block->first < block->second.size ? &*block : nullptr;
}

Extent Memory::extent_in(const Blocks& blocks, uintptr_t begin, size_t size) {
  const auto* const block = find(blocks, begin);
  if (block == nullptr) return Extent::kForeign;
  return size <= block->second.size - (begin - block->first) ? Extent::kInside : Extent::kBeyond;
}

Extent Memory::extent(const void* pointer, size_t size) const {
  const std::shared_lock lock(mutex_);
  const Extent in_block = extent_in(blocks_, address_of(pointer), size);
  return in_block == Extent::kForeign ? extent_in(registered_, address_of(pointer), size) : in_block;
}

std::optional<MemoryPlace> Memory::place(const void* pointer) const {
  const std::shared_lock lock(mutex_);
  const auto* block = find(blocks_, address_of(pointer));
  if (block == nullptr) block = find(registered_, address_of(pointer));
  return block == nullptr ? std::nullopt : std::optional(block->second.place);
}

bool Memory::is_device(const void* pointer, size_t size) const {
  const std::shared_lock lock(mutex_);
  const uintptr_t begin = address_of(pointer);
  if (extent_in(registered_, begin, size) == Extent::kInside) return true;
  const auto* const block = find(blocks_, begin);
  return block != nullptr && block->second.place.kind == MemoryKind::kDevice && extent_in(blocks_, begin, size) == Extent::kInside;
}

aclError check_copy(const Memory& memory, const CopyRequest& request) {
  Sides sides{};
  if (!sides_of(request.kind, sides))
    return fail(ACL_ERROR_INVALID_PARAM, concat("there is no kind ", static_cast<int>(request.kind), " of copy"));
  if (request.size > request.capacity) {
    return fail(ACL_ERROR_INVALID_PARAM, concat(request.size, " bytes do not fit in the destination's ", request.capacity));
  }
  const aclError target = check_side(memory, request.target, request.size, sides.target, "the destination of the copy");
  return target != ACL_SUCCESS ? target : check_side(memory, request.source, request.size, sides.source, "the source of the copy");
}

aclError copy_memory(const Memory& memory, const CopyRequest& request) {
  const aclError checked = check_copy(memory, request);
  if (checked == ACL_SUCCESS && request.size > 0) std::memmove(request.target, request.source, request.size);
  return checked;
}

aclError fill_memory(const Memory& memory, void* target, size_t capacity, int32_t value, size_t size) {
  if (size > capacity) return fail(ACL_ERROR_INVALID_PARAM, concat(size, " bytes do not fit in the destination's ", capacity));
  if (target == nullptr || memory.extent(target, size) != Extent::kInside) {
    return fail(ACL_ERROR_INVALID_PARAM, concat("the memory to fill was not allocated here, is freed, or has fewer than ", size, " bytes"));
  }
  if (size > 0) std::memset(target, value, size);
  return ACL_SUCCESS;
}

}  // namespace tensortap::acl_source
