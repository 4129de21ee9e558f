#include "source/acl/memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <thread>
#include <vector>

#include "acl/acl.h"

namespace tensortap::acl_source {
namespace {

// A block of device memory, freed at the end.
struct DeviceBlock {
  explicit DeviceBlock(size_t size) { EXPECT_EQ(aclrtMalloc(&pointer, size, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS); }
  ~DeviceBlock() { EXPECT_EQ(aclrtFree(pointer), ACL_SUCCESS); }
  char* bytes() const { return static_cast<char*>(pointer); }
  void* pointer = nullptr;
};

TEST(AclMemory, AllocationsAreCheckedAndAligned) {
  void* pointer = nullptr;
  EXPECT_EQ(aclrtMalloc(nullptr, 8, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMalloc(&pointer, 0, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMalloc(&pointer, SIZE_MAX - 100, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_ERROR_RT_MEMORY_ALLOCATION);
  const DeviceBlock block(3);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block.pointer) % 64, 0U);
}

TEST(AclMemory, FreeingTwiceOrInTheWrongWayIsAnError) {
  void* device = nullptr;
  void* host = nullptr;
  ASSERT_EQ(aclrtMalloc(&device, 16, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  ASSERT_EQ(aclrtMallocHost(&host, 16), ACL_SUCCESS);
  int on_stack = 0;
  EXPECT_EQ(aclrtFree(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtFree(&on_stack), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtFree(static_cast<char*>(device) + 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtFree(host), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtFreeHost(device), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtFree(device), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(device), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtFreeHost(host), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreeHost(host), ACL_ERROR_INVALID_PARAM);
}

TEST(AclMemory, CopiesStayInsideOfBlocks) {
  const DeviceBlock block(8);
  const char text[] = "12345678";
  char back[8] = {};
  EXPECT_EQ(aclrtMemcpy(block.pointer, 8, text, 8, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpy(back, 8, block.pointer, 8, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
  EXPECT_EQ(std::memcmp(back, text, 8), 0);
  EXPECT_EQ(aclrtMemcpy(block.bytes() + 4, 4, block.pointer, 4, ACL_MEMCPY_DEVICE_TO_DEVICE), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpy(back, 8, block.pointer, 8, ACL_MEMCPY_DEFAULT), ACL_SUCCESS);
  EXPECT_EQ(std::memcmp(back, "12341234", 8), 0);
  EXPECT_EQ(aclrtMemcpy(block.pointer, 7, text, 8, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpy(block.bytes() + 1, 8, text, 8, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpy(back, 9, block.pointer, 9, ACL_MEMCPY_DEVICE_TO_HOST), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpy(back, 8, text, 8, ACL_MEMCPY_DEVICE_TO_HOST), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpy(back, 8, text, 8, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpy(nullptr, 8, text, 8, ACL_MEMCPY_HOST_TO_HOST), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpy(back, 8, text, 8, static_cast<aclrtMemcpyKind>(99)), ACL_ERROR_INVALID_PARAM);
}

TEST(AclMemory, WildAddressesAreErrors) {
  const DeviceBlock block(8);
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const gone = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(gone, page);
  EXPECT_EQ(aclrtMemcpy(block.pointer, 8, gone, 8, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpy(gone, 8, block.pointer, 8, ACL_MEMCPY_DEVICE_TO_HOST), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemset(gone, 8, 0, 8), ACL_ERROR_INVALID_PARAM);
}

TEST(AclMemory, FreedMemoryIsNoLongerOurs) {
  void* pointer = nullptr;
  ASSERT_EQ(aclrtMalloc(&pointer, 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  ASSERT_EQ(aclrtFree(pointer), ACL_SUCCESS);
  char back[8];
  EXPECT_EQ(aclrtMemcpy(back, 8, pointer, 8, ACL_MEMCPY_DEVICE_TO_HOST), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemset(pointer, 8, 0, 8), ACL_ERROR_INVALID_PARAM);
}

TEST(AclMemory, FillsStayInsideOfBlocks) {
  const DeviceBlock block(8);
  EXPECT_EQ(aclrtMemset(block.pointer, 8, 7, 8), ACL_SUCCESS);
  EXPECT_EQ(block.bytes()[7], 7);
  EXPECT_EQ(aclrtMemset(block.pointer, 8, 7, 9), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemset(block.pointer, 9, 7, 9), ACL_ERROR_INVALID_PARAM);
}

TEST(AclMemory, RegisteredMemoryOfTheProgramCountsAsDeviceMemory) {
  std::vector<char> own(64, 'a');
  void* address = nullptr;
  EXPECT_EQ(aclrtMemset(own.data(), 64, 0, 64), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtHostRegister(nullptr, 64, ACL_HOST_REGISTER_MAPPED, &address), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtHostRegister(own.data(), 64, ACL_HOST_REGISTER_MAPPED, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtHostRegister(own.data(), 64, static_cast<aclrtHostRegisterType>(7), &address), ACL_ERROR_INVALID_PARAM);
  ASSERT_EQ(aclrtHostRegister(own.data(), 64, ACL_HOST_REGISTER_MAPPED, &address), ACL_SUCCESS);
  EXPECT_EQ(address, own.data());
  EXPECT_EQ(aclrtHostRegister(own.data() + 63, 1, ACL_HOST_REGISTER_MAPPED, &address), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemset(own.data(), 64, 'b', 64), ACL_SUCCESS);
  EXPECT_EQ(own[63], 'b');
  EXPECT_EQ(aclrtMemset(own.data(), 65, 'b', 65), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtFree(own.data()), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtFreeHost(own.data()), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtHostUnregister(own.data() + 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtHostUnregister(own.data()), ACL_SUCCESS);
  EXPECT_EQ(aclrtHostUnregister(own.data()), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemset(own.data(), 64, 0, 64), ACL_ERROR_INVALID_PARAM);
}

TEST(AclMemory, AddressesSayWhatMemoryTheyLieIn) {
  ASSERT_EQ(aclrtSetDevice(2), ACL_SUCCESS);
  const DeviceBlock device(64);
  void* host = nullptr;
  ASSERT_EQ(aclrtMallocHost(&host, 64), ACL_SUCCESS);
  std::vector<char> own(64);
  aclrtPtrAttributes attributes{};
  EXPECT_EQ(aclrtPointerGetAttributes(nullptr, &attributes), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtPointerGetAttributes(host, nullptr), ACL_ERROR_INVALID_PARAM);
  ASSERT_EQ(aclrtPointerGetAttributes(device.bytes() + 63, &attributes), ACL_SUCCESS);
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(attributes.location.id, 2U);
  EXPECT_EQ(attributes.pageSize, static_cast<uint32_t>(getpagesize()));
  ASSERT_EQ(aclrtPointerGetAttributes(host, &attributes), ACL_SUCCESS);
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_HOST);
  ASSERT_EQ(aclrtPointerGetAttributes(own.data(), &attributes), ACL_SUCCESS);
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_UNREGISTERED);
  EXPECT_EQ(attributes.pageSize, 0U);
  void* address = nullptr;
  ASSERT_EQ(aclrtHostRegister(own.data(), 64, ACL_HOST_REGISTER_MAPPED, &address), ACL_SUCCESS);
  ASSERT_EQ(aclrtPointerGetAttributes(own.data(), &attributes), ACL_SUCCESS);
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_HOST);
  EXPECT_EQ(aclrtHostUnregister(own.data()), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreeHost(host), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(2), ACL_SUCCESS);
}

TEST(AclMemory, ManyThreadsAllocate) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 200; ++i) {
        const DeviceBlock block(static_cast<size_t>(i) + 1);
        EXPECT_EQ(aclrtMemset(block.pointer, static_cast<size_t>(i) + 1, i, static_cast<size_t>(i) + 1), ACL_SUCCESS);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(AclMemory, HandlesOfAnotherKindOrGoneAreErrors) {
  aclDataBuffer* const buffer = aclCreateDataBuffer(nullptr, 0);
  auto* const wrong = reinterpret_cast<aclmdlDataset*>(buffer);
  EXPECT_EQ(aclmdlAddDatasetBuffer(wrong, buffer), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlGetDatasetNumBuffers(wrong), 0U);
  aclmdlDataset* const dataset = aclmdlCreateDataset();
  EXPECT_EQ(aclmdlAddDatasetBuffer(dataset, reinterpret_cast<aclDataBuffer*>(dataset)), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlAddDatasetBuffer(dataset, buffer), ACL_SUCCESS);
  EXPECT_EQ(aclmdlGetDatasetBuffer(dataset, 0), buffer);
  EXPECT_EQ(aclmdlGetDatasetBuffer(dataset, 1), nullptr);
  EXPECT_EQ(aclDestroyDataBuffer(buffer), ACL_SUCCESS);
  EXPECT_EQ(aclDestroyDataBuffer(buffer), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlExecute(12345, dataset, dataset), ACL_ERROR_INVALID_MODEL_ID);
  EXPECT_EQ(aclmdlDestroyDataset(dataset), ACL_SUCCESS);
  EXPECT_EQ(aclmdlDestroyDataset(dataset), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlDestroyDesc(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlUnload(12345), ACL_ERROR_INVALID_MODEL_ID);
}

}  // namespace
}  // namespace tensortap::acl_source
