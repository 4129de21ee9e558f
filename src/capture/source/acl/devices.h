// Which device and context a thread has chosen. All devices are this machine's processor; their number only says where dumps go.

#ifndef TENSORTAP_SOURCE_ACL_DEVICES_H_
#define TENSORTAP_SOURCE_ACL_DEVICES_H_

#include <cstdint>
#include <memory>

#include "acl/acl_rt.h"

namespace tensortap::acl_source {

inline constexpr int32_t kDeviceCount = 8;

struct Context {
  int32_t device = 0;
  bool is_default = false;  // made by setting the device: not to be destroyed by the program
};

// Thread-safe; the choice is each thread's own.
namespace devices {

aclError set(int32_t device);
// ACL_ERROR_RT_INVALID_DEVICEID for one that is not set.
aclError reset(int32_t device);
aclError create_context(int32_t device, aclrtContext* context);
aclError destroy_context(aclrtContext context);
aclError choose_context(aclrtContext context);
aclError current_context(aclrtContext* context);
// -1 when the thread has none.
int32_t current_device();

}  // namespace devices
}  // namespace tensortap::acl_source

#endif  // TENSORTAP_SOURCE_ACL_DEVICES_H_
