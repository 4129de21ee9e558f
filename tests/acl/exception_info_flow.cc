// Tensors that a program saves by itself when something failed.
//
// usage: exception_info_flow CONFIG       saves floats as an input, int32 as an output and bytes as a workspace under "sub/info"

#include <cstring>
#include <iostream>
#include <vector>

#include "acl/acl.h"
#include "acl/acl_dump.h"

static acldumpTensorInfo describe(acldumpTensorType type, aclDataType data_type, const std::vector<uint64_t>& shape, const void* values,
                                  size_t size) {
  acldumpTensorInfo info;
  std::memset(&info, 0, sizeof(info));
  info.type = type;
  info.dataType = data_type;
  info.format = ACL_FORMAT_ND;
  info.addrType = ACL_DUMP_ADDR_RAW;
  info.placement = ACL_DUMP_PLACEMENT_DEVICE;
  info.tensorSize = size;
  info.shapeNum = info.originShapeNum = static_cast<uint32_t>(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) info.shape[i] = info.originShape[i] = shape[i];
  void* memory = nullptr;
  aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMemcpy(memory, size, values, size, ACL_MEMCPY_HOST_TO_DEVICE);
  info.tensorAddr = static_cast<int64_t*>(memory);
  return info;
}

int main(int count, char** arguments) {
  if (count < 2 || aclInit(arguments[1]) != ACL_SUCCESS) return 1;
  aclrtSetDevice(1);
  char path[ACL_DUMP_MAX_FILE_PATH_LENGTH] = {0};
  if (acldumpGetExceptionInfoPath(path, sizeof(path)) != ACL_SUCCESS) return 1;
  std::cout << path << "\n";
  const float floats[6] = {0.5f, -1, 2, 3, 4, 1e30f};
  const int32_t numbers[3] = {7, -8, 9};
  const char bytes[5] = {1, 2, 3, 4, 5};
  const std::vector<acldumpTensorInfo> tensors = {describe(ACL_DUMP_TENSOR_OUTPUT, ACL_INT32, {3}, numbers, sizeof(numbers)),
                                                  describe(ACL_DUMP_TENSOR_INPUT, ACL_FLOAT, {2, 3}, floats, sizeof(floats)),
                                                  describe(ACL_DUMP_TENSOR_WORKSPACE, ACL_UINT8, {5}, bytes, sizeof(bytes))};
  for (int i = 0; i < 3; ++i) {
    const aclError code = acldumpSaveExceptionInfo("sub/info", "my tag", tensors.data(), tensors.size());
    if (code != ACL_SUCCESS) {
      std::cerr << aclGetRecentErrMsg() << "\n";
      return 1;
    }
  }
  return aclFinalize();
}
