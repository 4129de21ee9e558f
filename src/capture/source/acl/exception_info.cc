#include "source/acl/exception_info.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
#include "source/acl/devices.h"
#include "source/acl/failure.h"
#include "source/acl/lifecycle.h"
#include "source/acl/memory.h"
#include "tensortap/capture.h"

namespace tensortap::acl_source {
namespace {

constexpr uint64_t kMostTries = 100;  // for a time that no other file has
constexpr uint64_t kMillisecond = 1000;

aclError wrong_tensor(size_t index, const std::string& why) { return fail(ACL_ERROR_INVALID_PARAM, concat("tensors[", index, "]: ", why)); }

aclError check_tensor(const acldumpTensorInfo& tensor, size_t index) {
  if (tensor.shapeNum > ACL_DUMP_MAX_SHAPE_NUM || tensor.originShapeNum > ACL_DUMP_MAX_SHAPE_NUM) {
    return wrong_tensor(index, concat("a shape has at most ", ACL_DUMP_MAX_SHAPE_NUM, " dimensions"));
  }
  if (tensor.type < ACL_DUMP_TENSOR_INPUT || tensor.type > ACL_DUMP_TENSOR_WORKSPACE) return wrong_tensor(index, "unknown type");
  if (tensor.addrType != ACL_DUMP_ADDR_RAW || tensor.placement != ACL_DUMP_PLACEMENT_DEVICE) {
    return wrong_tensor(index, "addrType must be ACL_DUMP_ADDR_RAW, placement ACL_DUMP_PLACEMENT_DEVICE");
  }
  if (tensor.tensorAddr == nullptr || tensor.tensorSize == 0) return wrong_tensor(index, "no address, or no bytes");
  if (Memory::of_process().extent(tensor.tensorAddr, tensor.tensorSize) == Extent::kInside) return ACL_SUCCESS;
  return wrong_tensor(index, concat("its ", tensor.tensorSize, " bytes were not allocated here, or are freed"));
}

tensortap_exception_tensor describe(const acldumpTensorInfo& tensor) {
  tensortap_exception_tensor described{};
  described.size = sizeof(described);
  described.role = static_cast<uint32_t>(tensor.type);
  described.type = tensor.dataType;
  described.format = tensor.format;
  described.data = tensor.tensorAddr;
  described.bytes = tensor.tensorSize;
  described.dims = tensor.shape;
  described.rank = tensor.shapeNum;
  described.original_dims = tensor.originShape;
  described.original_rank = tensor.originShapeNum;
  return described;
}

bool leads_out(std::string_view path) {
  const auto parts = split(path, '/');
  return std::ranges::find(parts, "..") != parts.end();
}

aclError write_file(const std::string& path, const char* tag, const std::vector<tensortap_exception_tensor>& tensors) {
  std::array<char, 512> message{};
  const std::string name = file_name(path);
  const uint64_t now_us = wall_clock_us();
  for (uint64_t i = 0; i < kMostTries; ++i) {
    const std::string dated = concat(path, ".custom.", wall_clock_digits(now_us + i * kMillisecond));
    const tensortap_exception_file file{sizeof(file), 0, dated.c_str(), name.c_str(), tag, tensors.data(), tensors.size()};
    const int code = tensortap_write_exception(&file, message.data(), message.size());
    if (code == TENSORTAP_OK) return ACL_SUCCESS;
    if (code != TENSORTAP_UNSUPPORTED) break;
  }
  return fail(ACL_ERROR_FAILURE, message.data());
}

}  // namespace

aclError exception_folder(std::string& folder) {
  const auto dump = Lifecycle::of_process().dump();
  if (!dump || dump->kind != "exception") return fail(ACL_ERROR_FAILURE, "no exception dump is on: the config needs a dump_scene");
  const int32_t device = std::max(0, devices::current_device());
  folder = join_path(dump->folder.empty() ? "." : dump->folder, concat("extra-info/data-dump/", device, "/"));
  const Status made = make_directories(folder);
  return made.ok() ? ACL_SUCCESS : fail(ACL_ERROR_FAILURE, made.message());
}

aclError save_exception_info(const char* file_name, const char* user_tag, const acldumpTensorInfo* tensors, size_t count) {
  if (file_name == nullptr || *file_name == '\0' || leads_out(file_name)) {
    return fail(ACL_ERROR_INVALID_PARAM, "the name of the file is missing, or has \"..\" in it");
  }
  if (tensors == nullptr || count == 0) return fail(ACL_ERROR_INVALID_PARAM, "there are no tensors");
  std::string folder;
  const aclError found = exception_folder(folder);
  if (found != ACL_SUCCESS) return found;
  std::vector<tensortap_exception_tensor> described;
  for (size_t i = 0; i < count; ++i) {
    const aclError checked = check_tensor(tensors[i], i);
    if (checked != ACL_SUCCESS) return checked;
    described.push_back(describe(tensors[i]));
  }
  const std::string path = join_path(folder, file_name);
  const Status made = make_directories(parent_path(path));
  return made.ok() ? write_file(path, user_tag, described) : fail(ACL_ERROR_FAILURE, made.message());
}

}  // namespace tensortap::acl_source
