// The C functions of acl_rt.h about memory, and those of acl_dvpp.h.

#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "acl/ops/acl_dvpp.h"
#include "base/text.h"
#include "source/acl/devices.h"
#include "source/acl/failure.h"
#include "source/acl/memory.h"
#include "source/acl/stream.h"

namespace tensortap::acl_source {
namespace {

aclError allocate(void** pointer, size_t size, MemoryKind kind) {
  if (pointer == nullptr || size == 0) return fail(ACL_ERROR_INVALID_PARAM, "the pointer for the address is null, or the size is 0");
  const auto device = static_cast<uint32_t>(std::max(0, devices::current_device()));
  void* const memory = Memory::of_process().allocate(size, kind, device);
  if (memory == nullptr) return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, concat("there is no memory for ", size, " bytes"));
  *pointer = memory;
  return ACL_SUCCESS;
}

aclError release(void* pointer, MemoryKind kind) {
  if (pointer == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "the address is null");
  if (Memory::of_process().release(pointer, kind)) return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_PARAM,
              "no block begins at that address: it was not allocated by the function that belongs to this one, or is freed");
}

aclError copy_rows(const CopyRequest& first, size_t target_pitch, size_t source_pitch, size_t height) {
  if (first.size > target_pitch || first.size > source_pitch)
    return fail(ACL_ERROR_INVALID_PARAM, "the rows are wider than their distance");
  CopyRequest row = first;
  for (size_t i = 0; i < height; ++i) {
    const aclError error = copy_memory(Memory::of_process(), row);
    if (error != ACL_SUCCESS) return error;
    row.target = static_cast<char*>(row.target) + target_pitch;
    row.source = static_cast<const char*>(row.source) + source_pitch;
  }
  return ACL_SUCCESS;
}

aclError register_host_memory(void* pointer, uint64_t size, aclrtHostRegisterType type, void** device_pointer) {
  if (device_pointer == nullptr || type != ACL_HOST_REGISTER_MAPPED) {
    return fail(ACL_ERROR_INVALID_PARAM, "the pointer for the device's address is null, or the way to register memory is unknown");
  }
  const aclError code = Memory::of_process().register_range(pointer, size);
  if (code == ACL_SUCCESS) *device_pointer = pointer;
  return code;
}

aclError describe_pointer(const void* pointer, aclrtPtrAttributes* attributes) {
  if (pointer == nullptr || attributes == nullptr)
    return fail(ACL_ERROR_INVALID_PARAM, "the address or the pointer for its attributes is null");
  const auto place = Memory::of_process().place(pointer);
  *attributes = {};
  attributes->location.type = ACL_MEM_LOCATION_TYPE_UNREGISTERED;
  if (!place) return ACL_SUCCESS;
  const bool on_device = place->kind == MemoryKind::kDevice;
  attributes->location.type = on_device ? ACL_MEM_LOCATION_TYPE_DEVICE : ACL_MEM_LOCATION_TYPE_HOST;
  attributes->location.id = on_device ? place->device : 0;
  attributes->pageSize = static_cast<uint32_t>(sysconf(_SC_PAGESIZE));
  return ACL_SUCCESS;
}

}  // namespace
}  // namespace tensortap::acl_source

using tensortap::acl_source::allocate;
using tensortap::acl_source::answer_runtime;
using tensortap::acl_source::bad_handle;
using tensortap::acl_source::CopyRequest;
using tensortap::acl_source::fail;
using tensortap::acl_source::Memory;
using tensortap::acl_source::MemoryKind;
using tensortap::acl_source::release;
using tensortap::acl_source::Stream;

extern "C" {

aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy) {
  return answer_runtime([&] { return allocate(devPtr, size, MemoryKind::kDevice); });
}
aclError aclrtMallocAlign32(void** devPtr, size_t size, aclrtMemMallocPolicy policy) { return aclrtMalloc(devPtr, size, policy); }
aclError aclrtMallocCached(void** devPtr, size_t size, aclrtMemMallocPolicy policy) { return aclrtMalloc(devPtr, size, policy); }

aclError aclrtMemFlush(void* devPtr, size_t size) {
  return answer_runtime([&]() -> aclError {
    return Memory::of_process().is_device(devPtr, size) ? ACL_SUCCESS : fail(ACL_ERROR_INVALID_PARAM, "this is no device memory");
  });
}
aclError aclrtMemInvalidate(void* devPtr, size_t size) { return aclrtMemFlush(devPtr, size); }

aclError aclrtFree(void* devPtr) {
  return answer_runtime([&] { return release(devPtr, MemoryKind::kDevice); });
}
aclError aclrtMallocHost(void** hostPtr, size_t size) {
  return answer_runtime([&] { return allocate(hostPtr, size, MemoryKind::kHost); });
}
aclError aclrtFreeHost(void* hostPtr) {
  return answer_runtime([&] { return release(hostPtr, MemoryKind::kHost); });
}
aclError aclrtHostRegister(void* ptr, uint64_t size, aclrtHostRegisterType type, void** devPtr) {
  return answer_runtime([&] { return tensortap::acl_source::register_host_memory(ptr, size, type, devPtr); });
}
aclError aclrtHostUnregister(void* ptr) {
  return answer_runtime([&]() -> aclError {
    if (Memory::of_process().unregister_range(ptr)) return ACL_SUCCESS;
    return fail(ACL_ERROR_INVALID_PARAM, "no registered memory begins at that address");
  });
}
aclError aclrtPointerGetAttributes(const void* ptr, aclrtPtrAttributes* attributes) {
  return answer_runtime([&] { return tensortap::acl_source::describe_pointer(ptr, attributes); });
}
aclError acldvppMalloc(void** devPtr, size_t size) { return aclrtMalloc(devPtr, size, ACL_MEM_MALLOC_NORMAL_ONLY); }
aclError acldvppFree(void* devPtr) { return aclrtFree(devPtr); }

aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind) {
  return answer_runtime([&] { return tensortap::acl_source::copy_memory(Memory::of_process(), {dst, destMax, src, count, kind}); });
}

aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind, aclrtStream stream) {
  return answer_runtime([&]() -> aclError {
    const auto known = Stream::find(stream);
    if (!known) return bad_handle("stream");
    const CopyRequest request{dst, destMax, src, count, kind};
    const aclError checked = tensortap::acl_source::check_copy(Memory::of_process(), request);
    if (checked == ACL_SUCCESS) known->add([request] { return tensortap::acl_source::copy_memory(Memory::of_process(), request); });
    return checked;
  });
}

aclError aclrtMemcpy2d(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height, aclrtMemcpyKind kind) {
  return answer_runtime([&] { return tensortap::acl_source::copy_rows({dst, width, src, width, kind}, dpitch, spitch, height); });
}

aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count) {
  return answer_runtime([&] { return tensortap::acl_source::fill_memory(Memory::of_process(), devPtr, maxCount, value, count); });
}

aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream) {
  return answer_runtime([&]() -> aclError {
    const auto known = Stream::find(stream);
    if (!known) return bad_handle("stream");
    if (count > maxCount || !Memory::of_process().is_device(devPtr, count)) {
      return fail(ACL_ERROR_INVALID_PARAM, "this is no device memory of that size");
    }
    known->add([=] { return tensortap::acl_source::fill_memory(Memory::of_process(), devPtr, maxCount, value, count); });
    return ACL_SUCCESS;
  });
}

aclError aclrtGetMemInfo(aclrtMemAttr, size_t* free, size_t* total) {
  return answer_runtime([&]() -> aclError {
    struct sysinfo facts {};
    if (free == nullptr || total == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "a pointer for the sizes is null");
    if (sysinfo(&facts) != 0) return fail(ACL_ERROR_INTERNAL_ERROR, "the system does not say how much memory it has");
    *free = facts.freeram * facts.mem_unit;
    *total = facts.totalram * facts.mem_unit;
    return ACL_SUCCESS;
  });
}
}
