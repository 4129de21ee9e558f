#include "source/acl/stream.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <thread>
#include <vector>

#include "acl/acl.h"

namespace tensortap::acl_source {
namespace {

struct StreamHandle {
  StreamHandle() { EXPECT_EQ(aclrtCreateStream(&handle), ACL_SUCCESS); }
  ~StreamHandle() { EXPECT_EQ(aclrtDestroyStream(handle), ACL_SUCCESS); }
  aclrtStream handle = nullptr;
};

TEST(AclStream, TasksRunInOrderAndGiveTheirFirstError) {
  Stream stream;
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) {
    stream.add([&order, i]() -> aclError {
      order.push_back(i);
      return i == 40 ? ACL_ERROR_FAILURE : i == 41 ? ACL_ERROR_INTERNAL_ERROR : ACL_SUCCESS;
    });
  }
  EXPECT_EQ(stream.synchronize(), ACL_ERROR_FAILURE);
  EXPECT_EQ(stream.synchronize(), ACL_SUCCESS);
  ASSERT_EQ(order.size(), 100U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(AclStream, ACopyIsThereAfterSynchronisation) {
  const StreamHandle stream;
  void* block = nullptr;
  ASSERT_EQ(aclrtMalloc(&block, 8, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  char back[8] = {};
  EXPECT_EQ(aclrtMemcpyAsync(block, 8, "12345678", 8, ACL_MEMCPY_HOST_TO_DEVICE, stream.handle), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpyAsync(back, 8, block, 8, ACL_MEMCPY_DEVICE_TO_HOST, stream.handle), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream.handle), ACL_SUCCESS);
  EXPECT_EQ(std::string(back, 8), "12345678");
  EXPECT_EQ(aclrtMemcpyAsync(back, 8, block, 9, ACL_MEMCPY_DEVICE_TO_HOST, stream.handle), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
}

TEST(AclStream, HandlesAreChecked) {
  int number = 0;
  EXPECT_EQ(aclrtSynchronizeStream(&number), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtDestroyStream(&number), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtDestroyStream(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtCreateStream(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtRecordEvent(&number, nullptr), ACL_ERROR_INVALID_PARAM);
}

void count_call(void* user) { ++*static_cast<std::atomic<int>*>(user); }

// As in the asynchronous samples: a thread subscribes and processes reports until the main thread stops it, and the main thread
// synchronises.
TEST(AclStream, CallbacksRunOnTheThreadThatSubscribed) {
  const StreamHandle stream;
  std::atomic<int> calls{0};
  std::atomic<bool> run{true};
  std::atomic<aclError> early{ACL_SUCCESS};
  std::atomic<uint64_t> thread_id{0};
  EXPECT_EQ(aclrtLaunchCallback(count_call, &calls, ACL_CALLBACK_BLOCK, stream.handle), ACL_ERROR_STREAM_NOT_SUBSCRIBE);
  std::thread processor([&] {
    early = aclrtProcessReport(0);
    thread_id = pthread_self();
    while (run) aclrtProcessReport(5);
  });
  while (thread_id == 0) std::this_thread::yield();
  EXPECT_EQ(early, ACL_ERROR_THREAD_NOT_SUBSCRIBE);
  ASSERT_EQ(aclrtSubscribeReport(thread_id, stream.handle), ACL_SUCCESS);
  EXPECT_EQ(aclrtSubscribeReport(thread_id, stream.handle), ACL_ERROR_REPEAT_SUBSCRIBE);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(aclrtLaunchCallback(count_call, &calls, ACL_CALLBACK_BLOCK, stream.handle), ACL_SUCCESS);
  }
  EXPECT_EQ(aclrtSynchronizeStream(stream.handle), ACL_SUCCESS);
  EXPECT_EQ(calls, 20);
  EXPECT_EQ(aclrtUnSubscribeReport(thread_id + 1, stream.handle), ACL_ERROR_THREAD_NOT_SUBSCRIBE);
  EXPECT_EQ(aclrtUnSubscribeReport(thread_id, stream.handle), ACL_SUCCESS);
  EXPECT_EQ(aclrtUnSubscribeReport(thread_id, stream.handle), ACL_ERROR_STREAM_NOT_SUBSCRIBE);
  run = false;
  processor.join();
}

TEST(AclStream, AThreadWithoutCallbacksWaitsAsLongAsItSays) {
  const StreamHandle stream;
  const auto self = static_cast<uint64_t>(pthread_self());
  ASSERT_EQ(aclrtSubscribeReport(self, stream.handle), ACL_SUCCESS);
  EXPECT_EQ(aclrtProcessReport(1), ACL_ERROR_WAIT_CALLBACK_TIMEOUT);
  EXPECT_EQ(aclrtProcessReport(-2), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtUnSubscribeReport(self, stream.handle), ACL_SUCCESS);
}

TEST(AclStream, EventsJoinStreams) {
  const StreamHandle first;
  const StreamHandle second;
  aclrtEvent event = nullptr;
  ASSERT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
  void* block = nullptr;
  ASSERT_EQ(aclrtMalloc(&block, 4, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  char back[4] = {};
  EXPECT_EQ(aclrtMemcpyAsync(block, 4, "abcd", 4, ACL_MEMCPY_HOST_TO_DEVICE, first.handle), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(event, first.handle), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(second.handle, event), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpyAsync(back, 4, block, 4, ACL_MEMCPY_DEVICE_TO_HOST, second.handle), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(second.handle), ACL_SUCCESS);
  EXPECT_EQ(std::string(back, 4), "abcd");
  aclrtEventStatus status = ACL_EVENT_STATUS_RESERVED;
  EXPECT_EQ(aclrtQueryEvent(event, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_EVENT_STATUS_COMPLETE);
  float ms = -1;
  EXPECT_EQ(aclrtEventElapsedTime(&ms, event, event), ACL_SUCCESS);
  EXPECT_EQ(ms, 0.0F);
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
}

TEST(AclStream, WaitsForAnEventEndWithTheirTime) {
  const StreamHandle first;
  const StreamHandle second;
  aclrtEvent event = nullptr;
  ASSERT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
  const auto thread = static_cast<uint64_t>(pthread_self());
  ASSERT_EQ(aclrtSubscribeReport(thread, first.handle), ACL_SUCCESS);
  bool called = false;
  // The first stream stands still until this thread processes the callback, so the event is not reached.
  ASSERT_EQ(aclrtLaunchCallback([](void* flag) { *static_cast<bool*>(flag) = true; }, &called, ACL_CALLBACK_BLOCK, first.handle),
            ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event, first.handle), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetOpWaitTimeout(1), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(second.handle, event), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(second.handle), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
  EXPECT_EQ(aclrtSetOpWaitTimeout(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtProcessReport(-1), ACL_SUCCESS);
  EXPECT_TRUE(called);
  EXPECT_EQ(aclrtStreamWaitEvent(second.handle, event), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(second.handle), ACL_SUCCESS);
  EXPECT_EQ(aclrtUnSubscribeReport(thread, first.handle), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
}

TEST(AclDevices, TheLastErrorIsEachThreadsOwn) {
  std::thread([] {
    EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS);
    EXPECT_EQ(aclrtSetDevice(1000), ACL_ERROR_RT_INVALID_DEVICEID);
    EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);  // does not clear it
    EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_RT_INVALID_DEVICEID);
    EXPECT_EQ(aclrtPeekAtLastError(static_cast<aclrtLastErrLevel>(1)), ACL_ERROR_INVALID_PARAM);
    std::thread([] { EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS); }).join();
    EXPECT_EQ(aclrtGetRunMode(nullptr), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(aclrtGetLastError(static_cast<aclrtLastErrLevel>(1)), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS);
  }).join();
}

TEST(AclDevices, DeviceInfoIsThatOfThisMachine) {
  int64_t value = -1;
  EXPECT_EQ(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_AICORE_CORE_NUM, &value), ACL_SUCCESS);
  EXPECT_EQ(value, static_cast<int64_t>(std::thread::hardware_concurrency()));
  EXPECT_EQ(aclrtGetDeviceInfo(7, ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE, &value), ACL_SUCCESS);
  size_t free = 0;
  size_t total = 0;
  ASSERT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), ACL_SUCCESS);
  EXPECT_EQ(value, static_cast<int64_t>(total));
  EXPECT_EQ(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_IS_VIRTUAL, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 0);
  EXPECT_EQ(aclrtGetDeviceInfo(8, ACL_DEV_ATTR_IS_VIRTUAL, &value), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_WARP_SIZE, &value), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtGetDeviceInfo(0, static_cast<aclrtDevAttr>(9999), &value), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_IS_VIRTUAL, nullptr), ACL_ERROR_INVALID_PARAM);
}

TEST(AclDevices, ContextsAreEachThreadsOwn) {
  std::thread([] {
    int32_t device = -1;
    aclrtContext context = nullptr;
    EXPECT_EQ(aclrtGetDevice(&device), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtSetDevice(-1), ACL_ERROR_RT_INVALID_DEVICEID);
    EXPECT_EQ(aclrtSetDevice(1000), ACL_ERROR_RT_INVALID_DEVICEID);
    EXPECT_EQ(aclrtSetDevice(3), ACL_SUCCESS);
    EXPECT_EQ(aclrtGetDevice(&device), ACL_SUCCESS);
    EXPECT_EQ(device, 3);
    EXPECT_EQ(aclrtGetCurrentContext(&context), ACL_SUCCESS);
    EXPECT_EQ(aclrtDestroyContext(context), ACL_ERROR_INVALID_PARAM);  // it belongs to the device
    EXPECT_EQ(aclrtCreateContext(&context, 2), ACL_SUCCESS);
    EXPECT_EQ(aclrtGetDevice(&device), ACL_SUCCESS);
    EXPECT_EQ(device, 2);
    EXPECT_EQ(aclrtDestroyContext(context), ACL_SUCCESS);
    EXPECT_EQ(aclrtDestroyContext(context), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(aclrtSetCurrentContext(context), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(aclrtResetDevice(3), ACL_SUCCESS);
    EXPECT_EQ(aclrtResetDevice(3), ACL_ERROR_RT_INVALID_DEVICEID);
  }).join();
}

}  // namespace
}  // namespace tensortap::acl_source
