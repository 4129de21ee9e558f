// The C functions of acl_rt.h about devices, contexts, streams, callbacks and events.

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "base/text.h"
#include "source/acl/devices.h"
#include "source/acl/failure.h"
#include "source/acl/live_handles.h"
#include "source/acl/stream.h"

namespace tensortap::acl_source {
namespace {

aclError make_stream(aclrtStream* stream) {
  if (stream == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "the pointer for the stream is null");
  *stream = live<Stream>().add(std::make_shared<Stream>());
  return ACL_SUCCESS;
}

aclError destroy_stream(aclrtStream handle) {
  const auto stream = live<Stream>().remove(handle);
  if (!stream) return bad_handle("stream");
  if (!CallbackReports::of_process().is_subscribed(stream.get())) {
    stream->synchronize();
    return ACL_SUCCESS;
  }
  // A callback that is not processed any more would keep the stream for ever.
  CallbackReports::of_process().forget(stream.get());
  return ACL_SUCCESS;
}

aclError synchronize(aclrtStream handle, int32_t timeout_ms) {
  const auto stream = Stream::find(handle);
  return stream ? stream->synchronize(timeout_ms) : bad_handle("stream");
}

aclError synchronize_all() {
  aclError first = Stream::of_null()->synchronize();
  for (const auto& stream : live<Stream>().all()) {
    const aclError error = stream->synchronize();
    if (first == ACL_SUCCESS) first = error;
  }
  return first;
}

aclError launch_callback(aclrtCallback function, void* user_data, aclrtCallbackBlockType type, aclrtStream handle) {
  const auto stream = Stream::find(handle);
  if (!stream) return bad_handle("stream");
  if (function == nullptr || (type != ACL_CALLBACK_NO_BLOCK && type != ACL_CALLBACK_BLOCK)) {
    return fail(ACL_ERROR_INVALID_PARAM, "no callback, or no such way to call it");
  }
  if (!CallbackReports::of_process().is_subscribed(stream.get())) {
    return fail(ACL_ERROR_STREAM_NOT_SUBSCRIBE, "no thread has subscribed to this stream: call aclrtSubscribeReport()");
  }
  const Stream* const plain = stream.get();
  stream->add([=]() -> aclError {
    CallbackReports::of_process().hand_over(
        plain, [=] { function(user_data); }, type == ACL_CALLBACK_BLOCK);
    return ACL_SUCCESS;
  });
  return ACL_SUCCESS;
}

aclError make_event(aclrtEvent* event) {
  if (event == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "the pointer for the event is null");
  *event = live<Event>().add(std::make_shared<Event>());
  return ACL_SUCCESS;
}

aclError record_event(aclrtEvent handle, aclrtStream stream_handle) {
  const auto event = live<Event>().find(handle);
  const auto stream = Stream::find(stream_handle);
  if (!event || !stream) return bad_handle(event ? "stream" : "event");
  event->expect();
  stream->add([event]() -> aclError {
    event->complete();
    return ACL_SUCCESS;
  });
  return ACL_SUCCESS;
}

// Of aclrtSetOpWaitTimeout(), in seconds.
std::atomic<uint32_t> most_seconds_to_wait{0};

aclError wait_for_event(aclrtStream stream_handle, aclrtEvent handle) {
  const auto event = live<Event>().find(handle);
  const auto stream = Stream::find(stream_handle);
  if (!event || !stream) return bad_handle(event ? "stream" : "event");
  stream->add([event, seconds = most_seconds_to_wait.load()]() -> aclError {
    if (event->wait(seconds)) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, concat("the event was not reached within ", seconds, " seconds (aclrtSetOpWaitTimeout)"));
  });
  return ACL_SUCCESS;
}

aclError device_info(uint32_t device, aclrtDevAttr attribute, int64_t* value) {
  if (value == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "the pointer for the value is null");
  if (device >= static_cast<uint32_t>(kDeviceCount)) {
    return fail(ACL_ERROR_RT_INVALID_DEVICEID, concat("there is no device ", device, "; there are 0 to ", kDeviceCount - 1));
  }
  switch (attribute) {
    case ACL_DEV_ATTR_AICPU_CORE_NUM:
    case ACL_DEV_ATTR_AICORE_CORE_NUM:
    case ACL_DEV_ATTR_CUBE_CORE_NUM:
    case ACL_DEV_ATTR_VECTOR_CORE_NUM:
      *value = std::max<int64_t>(1, sysconf(_SC_NPROCESSORS_ONLN));
      return ACL_SUCCESS;
    case ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE:
      *value = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
      return ACL_SUCCESS;
    case ACL_DEV_ATTR_L2_CACHE_SIZE:
      *value = std::max<int64_t>(0, sysconf(_SC_LEVEL2_CACHE_SIZE));
      return ACL_SUCCESS;
    case ACL_DEV_ATTR_SMP_ID:
    case ACL_DEV_ATTR_PHY_CHIP_ID:
    case ACL_DEV_ATTR_IS_VIRTUAL:
      *value = 0;
      return ACL_SUCCESS;
    case ACL_DEV_ATTR_WARP_SIZE:
    case ACL_DEV_ATTR_MAX_THREAD_PER_VECTOR_CORE:
    case ACL_DEV_ATTR_LOCAL_MEM_PER_VECTOR_CORE:
    case ACL_DEV_ATTR_SUPER_POD_DEVIDE_ID:
    case ACL_DEV_ATTR_SUPER_POD_SERVER_ID:
    case ACL_DEV_ATTR_SUPER_POD_ID:
    case ACL_DEV_ATTR_CUST_OP_PRIVILEGE:
    case ACL_DEV_ATTR_MAINBOARD_ID:
      return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, concat("a processor has no device attribute ", static_cast<int>(attribute)));
  }
  return fail(ACL_ERROR_INVALID_PARAM, concat("there is no device attribute ", static_cast<int>(attribute)));
}

aclError check_level(aclrtLastErrLevel level) {
  if (level == ACL_RT_THREAD_LEVEL) return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_PARAM, "the last error is known for threads only: ACL_RT_THREAD_LEVEL");
}

template <class Use>
aclError with_event(aclrtEvent handle, Use&& use) noexcept {
  return answer_runtime([&]() -> aclError {
    const auto event = live<Event>().find(handle);
    return event ? use(*event) : bad_handle("event");
  });
}

}  // namespace
}  // namespace tensortap::acl_source

using tensortap::acl_source::answer_runtime;
using tensortap::acl_source::bad_handle;
using tensortap::acl_source::CallbackReports;
using tensortap::acl_source::Event;
using tensortap::acl_source::fail;
using tensortap::acl_source::live;
using tensortap::acl_source::Stream;
namespace devices = tensortap::acl_source::devices;

extern "C" {

aclError aclrtSetDevice(int32_t deviceId) {
  return answer_runtime([&] { return devices::set(deviceId); });
}
aclError aclrtResetDevice(int32_t deviceId) {
  return answer_runtime([&] { return devices::reset(deviceId); });
}
aclError aclrtResetDeviceForce(int32_t deviceId) { return aclrtResetDevice(deviceId); }

aclError aclrtGetDevice(int32_t* deviceId) {
  return answer_runtime([&]() -> aclError {
    if (deviceId == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "the pointer for the device is null");
    const int32_t device = devices::current_device();
    if (device < 0) return fail(ACL_ERROR_RT_CONTEXT_NULL, "this thread has no device: call aclrtSetDevice()");
    *deviceId = device;
    return ACL_SUCCESS;
  });
}

aclError aclrtGetDeviceCount(uint32_t* count) {
  if (count == nullptr) return answer_runtime([] { return fail(ACL_ERROR_INVALID_PARAM, "the pointer for the count is null"); });
  *count = tensortap::acl_source::kDeviceCount;
  return ACL_SUCCESS;
}

aclError aclrtGetRunMode(aclrtRunMode* runMode) {
  if (runMode == nullptr) return answer_runtime([] { return fail(ACL_ERROR_INVALID_PARAM, "the pointer for the run mode is null"); });
  *runMode = ACL_HOST;
  return ACL_SUCCESS;
}

aclError aclrtSynchronizeDevice(void) {
  return answer_runtime([] { return tensortap::acl_source::synchronize_all(); });
}

aclError aclrtGetDeviceInfo(uint32_t deviceId, aclrtDevAttr attr, int64_t* value) {
  return answer_runtime([&] { return tensortap::acl_source::device_info(deviceId, attr, value); });
}

aclError aclrtGetLastError(aclrtLastErrLevel level) {
  const aclError last = aclrtPeekAtLastError(level);
  if (level == ACL_RT_THREAD_LEVEL) tensortap::acl_source::forget_runtime_error();
  return last;
}

// These two do not count among the functions whose error they give.
aclError aclrtPeekAtLastError(aclrtLastErrLevel level) {
  const aclError checked = tensortap::acl_source::answer([&] { return tensortap::acl_source::check_level(level); });
  return checked == ACL_SUCCESS ? tensortap::acl_source::last_runtime_error() : checked;
}

aclError aclrtSetTsDevice(aclrtTsId tsId) {
  if (tsId == ACL_TS_ID_AICORE || tsId == ACL_TS_ID_AIVECTOR) return ACL_SUCCESS;
  return answer_runtime([] { return fail(ACL_ERROR_INVALID_PARAM, "unknown core"); });
}

aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId) {
  return answer_runtime([&] { return devices::create_context(deviceId, context); });
}
aclError aclrtDestroyContext(aclrtContext context) {
  return answer_runtime([&] { return devices::destroy_context(context); });
}
aclError aclrtSetCurrentContext(aclrtContext context) {
  return answer_runtime([&] { return devices::choose_context(context); });
}
aclError aclrtGetCurrentContext(aclrtContext* context) {
  return answer_runtime([&] { return devices::current_context(context); });
}

aclError aclrtCreateStream(aclrtStream* stream) {
  return answer_runtime([&] { return tensortap::acl_source::make_stream(stream); });
}
aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t, uint32_t) { return aclrtCreateStream(stream); }
aclError aclrtDestroyStream(aclrtStream stream) {
  return answer_runtime([&] { return tensortap::acl_source::destroy_stream(stream); });
}
aclError aclrtDestroyStreamForce(aclrtStream stream) { return aclrtDestroyStream(stream); }
aclError aclrtSynchronizeStream(aclrtStream stream) {
  return answer_runtime([&] { return tensortap::acl_source::synchronize(stream, -1); });
}
aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
  return answer_runtime([&] { return tensortap::acl_source::synchronize(stream, timeout); });
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status) {
  return answer_runtime([&]() -> aclError {
    const auto known = Stream::find(stream);
    if (!known || status == nullptr) return bad_handle("stream");
    *status = known->idle() ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
    return ACL_SUCCESS;
  });
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  return answer_runtime([&] { return tensortap::acl_source::wait_for_event(stream, event); });
}

aclError aclrtSetOpWaitTimeout(uint32_t timeout) {
  tensortap::acl_source::most_seconds_to_wait = timeout;
  return ACL_SUCCESS;
}

aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream) {
  return answer_runtime([&]() -> aclError {
    const auto known = Stream::find(stream);
    return known ? CallbackReports::of_process().subscribe(threadId, known.get()) : bad_handle("stream");
  });
}

aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream) {
  return answer_runtime([&]() -> aclError {
    const auto known = Stream::find(stream);
    return known ? CallbackReports::of_process().unsubscribe(threadId, known.get()) : bad_handle("stream");
  });
}

aclError aclrtLaunchCallback(aclrtCallback fn, void* userData, aclrtCallbackBlockType blockType, aclrtStream stream) {
  return answer_runtime([&] { return tensortap::acl_source::launch_callback(fn, userData, blockType, stream); });
}

aclError aclrtProcessReport(int32_t timeout) {
  return answer_runtime([&]() -> aclError {
    if (timeout < -1) return fail(ACL_ERROR_INVALID_PARAM, "the time is -1 for ever, or milliseconds");
    return CallbackReports::of_process().process(static_cast<uint64_t>(pthread_self()), timeout);
  });
}

aclError aclrtCreateEvent(aclrtEvent* event) {
  return answer_runtime([&] { return tensortap::acl_source::make_event(event); });
}
aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t) { return aclrtCreateEvent(event); }

aclError aclrtDestroyEvent(aclrtEvent event) {
  return answer_runtime([&]() -> aclError { return live<Event>().remove(event) ? ACL_SUCCESS : bad_handle("event"); });
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
  return answer_runtime([&] { return tensortap::acl_source::record_event(event, stream); });
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
  return tensortap::acl_source::with_event(event, [&](Event& known) -> aclError {
    if (!Stream::find(stream)) return bad_handle("stream");
    known.reset();
    return ACL_SUCCESS;
  });
}

aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status) {
  return tensortap::acl_source::with_event(event, [&](const Event& known) -> aclError {
    if (status == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "the pointer for the status is null");
    *status = known.is_complete() ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
    return ACL_SUCCESS;
  });
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
  return tensortap::acl_source::with_event(event, [&](const Event& known) -> aclError {
    if (status == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "the pointer for the status is null");
    *status = known.is_complete() ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
    return ACL_SUCCESS;
  });
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
  return tensortap::acl_source::with_event(event, [](const Event& known) -> aclError {
    known.wait();
    return ACL_SUCCESS;
  });
}

aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent) {
  return answer_runtime([&]() -> aclError {
    const auto start = live<Event>().find(startEvent);
    const auto end = live<Event>().find(endEvent);
    if (!start || !end) return bad_handle("event");
    if (ms == nullptr || !start->is_recorded() || !end->is_recorded() || !start->is_complete() || !end->is_complete()) {
      return fail(ACL_ERROR_INVALID_PARAM, "both events must be recorded and reached");
    }
    *ms = static_cast<float>(end->time_ns() - start->time_ns()) / 1e6f;
    return ACL_SUCCESS;
  });
}
}
