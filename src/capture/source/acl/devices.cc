#include "source/acl/devices.h"

#include <array>
#include <mutex>

#include "base/text.h"
#include "source/acl/failure.h"
#include "source/acl/live_handles.h"

namespace tensortap::acl_source::devices {
namespace {

struct DeviceState {
  uint32_t users = 0;
  std::shared_ptr<Context> context;
};

struct DeviceTable {
  std::mutex mutex;
  std::array<DeviceState, kDeviceCount> devices;  // guarded by mutex
};

DeviceTable& table() {
  static auto* const devices = new DeviceTable;
  return *devices;
}

// Handle of the thread's context; looked up before it is used, for another thread may destroy it.
thread_local aclrtContext chosen_context = nullptr;

bool is_device_number(int32_t device) { return device >= 0 && device < kDeviceCount; }

aclError no_such_device(int32_t device) {
  return fail(ACL_ERROR_RT_INVALID_DEVICEID, concat("there is no device ", device, "; there are 0 to ", kDeviceCount - 1));
}

}  // namespace

aclError set(int32_t device) {
  if (!is_device_number(device)) return no_such_device(device);
  const std::lock_guard lock(table().mutex);
  DeviceState& state = table().devices[static_cast<size_t>(device)];
  if (!state.context) {
    state.context = std::make_shared<Context>(Context{device, true});
    live<Context>().add(state.context);
  }
  ++state.users;
  chosen_context = state.context.get();
  return ACL_SUCCESS;
}

aclError reset(int32_t device) {
  if (!is_device_number(device)) return no_such_device(device);
  const std::lock_guard lock(table().mutex);
  DeviceState& state = table().devices[static_cast<size_t>(device)];
  if (!state.context) return fail(ACL_ERROR_RT_INVALID_DEVICEID, concat("device ", device, " is not set"));
  if (--state.users > 0) return ACL_SUCCESS;
  live<Context>().remove(state.context.get());
  state.context.reset();
  return ACL_SUCCESS;
}

aclError create_context(int32_t device, aclrtContext* context) {
  if (context == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "the pointer for the context is null");
  if (!is_device_number(device)) return no_such_device(device);
  *context = live<Context>().add(std::make_shared<Context>(Context{device, false}));
  chosen_context = *context;
  return ACL_SUCCESS;
}

aclError destroy_context(aclrtContext context) {
  const auto known = live<Context>().find(context);
  if (!known) return bad_handle("context");
  if (known->is_default) return fail(ACL_ERROR_INVALID_PARAM, "the context of aclrtSetDevice() ends with aclrtResetDevice()");
  live<Context>().remove(context);
  return ACL_SUCCESS;
}

aclError choose_context(aclrtContext context) {
  if (!live<Context>().find(context)) return bad_handle("context");
  chosen_context = context;
  return ACL_SUCCESS;
}

aclError current_context(aclrtContext* context) {
  if (context == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "the pointer for the context is null");
  if (!live<Context>().find(chosen_context)) return fail(ACL_ERROR_RT_CONTEXT_NULL, "this thread has no context: call aclrtSetDevice()");
  *context = chosen_context;
  return ACL_SUCCESS;
}

int32_t current_device() {
  const auto context = live<Context>().find(chosen_context);
  return context ? context->device : -1;
}

}  // namespace tensortap::acl_source::devices
