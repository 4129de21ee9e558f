// The C functions of acl.h.

#include <string>

#include "acl/acl.h"
#include "base/text.h"
#include "source/acl/failure.h"
#include "source/acl/lifecycle.h"

namespace tensortap::acl_source {
namespace {

// The release of CANN whose interface include/acl follows.
constexpr const char* kMajorVersion = "8";
constexpr const char* kMinorVersion = "5";
constexpr const char* kReleaseVersion = "0";

aclError package_version(aclCANNPackageName name, aclCANNPackageVersion* version) {
  if (version == nullptr || name < ACL_PKG_NAME_CANN || name > ACL_PKG_NAME_DRIVER) {
    return fail(ACL_ERROR_INVALID_PARAM, "unknown package, or the pointer for its version is null");
  }
  if (name != ACL_PKG_NAME_CANN && name != ACL_PKG_NAME_RUNTIME && name != ACL_PKG_NAME_TOOLKIT) {
    return fail(ACL_ERROR_INVALID_FILE, concat("package ", static_cast<int>(name), " of CANN is not installed"));
  }
  *version = {};
  const std::string whole = concat(kMajorVersion, ".", kMinorVersion, ".", kReleaseVersion);
  whole.copy(version->version, sizeof(version->version) - 1);
  version->majorVersion[0] = *kMajorVersion;
  version->minorVersion[0] = *kMinorVersion;
  version->releaseVersion[0] = *kReleaseVersion;
  return ACL_SUCCESS;
}

}  // namespace
}  // namespace tensortap::acl_source

using tensortap::acl_source::answer;
using tensortap::acl_source::answer_or;
using tensortap::acl_source::fail;
using tensortap::acl_source::Lifecycle;

extern "C" {

aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion* version) {
  return answer([&] { return tensortap::acl_source::package_version(name, version); });
}

aclError aclInit(const char* configPath) {
  return answer([&] { return Lifecycle::of_process().init(configPath); });
}
aclError aclFinalize(void) {
  return answer([] { return Lifecycle::of_process().finalize(true, nullptr); });
}
aclError aclFinalizeReference(uint64_t* refCount) {
  return answer([&] { return Lifecycle::of_process().finalize(false, refCount); });
}

aclError aclrtGetVersion(int32_t* majorVersion, int32_t* minorVersion, int32_t* patchVersion) {
  return answer([&]() -> aclError {
    if (majorVersion == nullptr || minorVersion == nullptr || patchVersion == nullptr) {
      return fail(ACL_ERROR_INVALID_PARAM, "a pointer for the version is null");
    }
    *majorVersion = ACL_MAJOR_VERSION;
    *minorVersion = ACL_MINOR_VERSION;
    *patchVersion = ACL_PATCH_VERSION;
    return ACL_SUCCESS;
  });
}

const char* aclrtGetSocName(void) { return "tensortap-onnxruntime"; }

const char* aclGetRecentErrMsg(void) {
  return answer_or<const char*>(nullptr, [] { return tensortap::acl_source::take_message(); });
}
}
