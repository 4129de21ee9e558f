// The C functions of acl_prof.h: accepted in their order, nothing is measured.

#include <atomic>
#include <memory>
#include <string>

#include "acl/acl_prof.h"
#include "base/files.h"
#include "source/acl/failure.h"
#include "source/acl/live_handles.h"
#include "source/acl/objects.h"

namespace tensortap::acl_source {
namespace {

std::atomic<bool> profiling{false};

aclError use_profile(const aclprofConfig* handle) {
  if (!profiling.load()) return fail(ACL_ERROR_PROF_NOT_RUN, "call aclprofInit() first");
  return live<aclprofConfig>().find(handle) ? ACL_SUCCESS : bad_handle("profiling config");
}

}  // namespace
}  // namespace tensortap::acl_source

using tensortap::acl_source::answer;
using tensortap::acl_source::answer_or;
using tensortap::acl_source::fail;
using tensortap::acl_source::live;

extern "C" {

aclError aclprofInit(const char* profilerResultPath, size_t length) {
  return answer([&]() -> aclError {
    if (profilerResultPath == nullptr || length == 0) return fail(ACL_ERROR_INVALID_PARAM, "no folder for profiles");
    if (!tensortap::is_directory(std::string(profilerResultPath, length)))
      return fail(ACL_ERROR_INVALID_FILE, "the folder for profiles does not exist");
    return tensortap::acl_source::profiling.exchange(true) ? fail(ACL_ERROR_PROF_ALREADY_RUN, "profiling was begun already") : ACL_SUCCESS;
  });
}

aclError aclprofFinalize(void) {
  return answer([]() -> aclError {
    return tensortap::acl_source::profiling.exchange(false) ? ACL_SUCCESS : fail(ACL_ERROR_PROF_NOT_RUN, "profiling was not begun");
  });
}

aclprofConfig* aclprofCreateConfig(uint32_t* deviceIdList, uint32_t deviceNums, aclprofAicoreMetrics, const aclprofAicoreEvents*,
                                   uint64_t dataTypeConfig) {
  return answer_or<aclprofConfig*>(nullptr, [&]() -> aclprofConfig* {
    if (deviceIdList == nullptr || deviceNums == 0) return nullptr;
    return live<aclprofConfig>().add(std::make_shared<aclprofConfig>(aclprofConfig{dataTypeConfig}));
  });
}

aclError aclprofDestroyConfig(const aclprofConfig* profilerConfig) {
  return answer([&]() -> aclError {
    return live<aclprofConfig>().remove(profilerConfig) ? ACL_SUCCESS : tensortap::acl_source::bad_handle("profiling config");
  });
}

aclError aclprofStart(const aclprofConfig* profilerConfig) {
  return answer([&] { return tensortap::acl_source::use_profile(profilerConfig); });
}
aclError aclprofStop(const aclprofConfig* profilerConfig) { return aclprofStart(profilerConfig); }
}
