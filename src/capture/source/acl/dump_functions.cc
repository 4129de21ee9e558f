// The C functions of acl_dump.h, and of acl_rt.h about dumps of models.

#include <cstring>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "acl/acl_dump.h"
#include "base/files.h"
#include "base/text.h"
#include "source/acl/chunk_delivery.h"
#include "source/acl/devices.h"
#include "source/acl/exception_info.h"
#include "source/acl/failure.h"
#include "source/acl/lifecycle.h"

namespace tensortap::acl_source {
namespace {

bool is_exception_scene(acldumpType type, const std::string& scene) {
  if (type == AIC_ERR_BRIEF_DUMP) return scene == "brief";
  if (type == AIC_ERR_NORM_DUMP) return scene == "norm";
  return type == AIC_ERR_DETAIL_DUMP && scene == "detail";
}

// "" when no dump of the kind is asked for.
std::string dump_folder(acldumpType type) {
  const auto dump = Lifecycle::of_process().dump();
  if (!dump) return "";
  if (dump->kind == "exception") {
    if (!is_exception_scene(type, dump->scene)) return "";
    const std::string folder = join_path(dump->folder.empty() ? "." : dump->folder, "extra-info/data-dump");
    return make_directories(folder).ok() ? folder + "/" : "";
  }
  const bool overflow = dump->kind == "overflow";
  if ((type != DATA_DUMP || overflow) && (type != OVERFLOW_DUMP || !overflow)) return "";
  return join_path(dump->folder, dump->timestamp) + "/";
}

aclError give_exception_folder(char* path, size_t capacity) {
  if (path == nullptr || capacity <= 1) return fail(ACL_ERROR_INVALID_PARAM, "the buffer for the path is null or too small");
  std::string folder;
  const aclError found = exception_folder(folder);
  if (found != ACL_SUCCESS) return found;
  if (folder.size() + 1 > capacity) {
    return fail(ACL_ERROR_INVALID_PARAM, concat("the path takes ", folder.size() + 1, " bytes; there is room for ", capacity));
  }
  std::memcpy(path, folder.c_str(), folder.size() + 1);
  return ACL_SUCCESS;
}

}  // namespace
}  // namespace tensortap::acl_source

using tensortap::acl_source::answer;
using tensortap::acl_source::answer_or;
using tensortap::acl_source::fail;
using tensortap::acl_source::Lifecycle;

extern "C" {

aclError aclmdlInitDump(void) {
  return answer([] { return Lifecycle::of_process().init_dump(); });
}
aclError aclmdlSetDump(const char* dumpCfgPath) {
  return answer([&] { return Lifecycle::of_process().set_dump(dumpCfgPath); });
}
aclError aclmdlFinalizeDump(void) {
  return answer([] { return Lifecycle::of_process().finalize_dump(); });
}

aclError aclopStartDumpArgs(uint32_t dumpType, const char* path) {
  return answer([&] { return Lifecycle::of_process().start_dump_args(dumpType, path); });
}
aclError aclopStopDumpArgs(uint32_t dumpType) {
  return answer([&] { return Lifecycle::of_process().stop_dump_args(dumpType); });
}

aclError acldumpRegCallback(int32_t (*messageCallback)(const acldumpChunk*, int32_t), int32_t flag) {
  return answer([&]() -> aclError {
    if (messageCallback == nullptr || flag != 0) return fail(ACL_ERROR_FAILURE, "there is no callback, or the flag is not 0");
    tensortap::acl_source::register_chunk_callback(messageCallback);
    return ACL_SUCCESS;
  });
}
void acldumpUnregCallback(void) { tensortap::acl_source::unregister_chunk_callback(); }

const char* acldumpGetPath(acldumpType dumpType) {
  return answer_or<const char*>(nullptr, [&]() -> const char* {
    static thread_local std::string path;
    path = tensortap::acl_source::dump_folder(dumpType);
    return path.empty() ? nullptr : path.c_str();
  });
}

aclError acldumpSaveExceptionInfo(const char* fileName, const char* userTag, const acldumpTensorInfo* tensors, size_t tensorCount) {
  return answer([&] { return tensortap::acl_source::save_exception_info(fileName, userTag, tensors, tensorCount); });
}
aclError acldumpGetExceptionInfoPath(char* path, size_t maxLen) {
  return answer([&] { return tensortap::acl_source::give_exception_folder(path, maxLen); });
}
}
