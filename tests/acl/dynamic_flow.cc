// Open dimensions in the three ways that public programs use: a batch size or dimensions through the input of sizes, and descriptions of
// tensors.
//
// usage: dynamic_flow batch MODEL IN.bin OUT.bin N | dims MODEL IN.bin OUT.bin D... | shape MODEL IN.bin OUT.bin D...

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "acl/acl.h"

#define CHECK(call)                                                                              \
  do {                                                                                           \
    aclError check_code = (call);                                                                \
    if (check_code != ACL_SUCCESS) {                                                             \
      const char* check_text = aclGetRecentErrMsg();                                             \
      std::cerr << #call << ": " << check_code << " " << (check_text ? check_text : "") << "\n"; \
      return 1;                                                                                  \
    }                                                                                            \
  } while (false)

static aclError add_buffer(aclmdlDataset* dataset, size_t size, void** memory) {
  *memory = nullptr;
  if (size > 0) {
    const aclError code = aclrtMalloc(memory, size, ACL_MEM_MALLOC_NORMAL_ONLY);
    if (code != ACL_SUCCESS) return code;
  }
  return aclmdlAddDatasetBuffer(dataset, aclCreateDataBuffer(*memory, size));
}

int main(int count, char** arguments) {
  if (count < 6) return 2;
  const std::string way = arguments[1];
  std::ifstream file(arguments[3], std::ios::binary);
  std::vector<char> content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  aclmdlIODims dims = {};
  for (int i = 5; i < count; ++i) dims.dims[dims.dimCount++] = std::atoll(arguments[i]);

  CHECK(aclInit(nullptr));
  CHECK(aclrtSetDevice(0));
  uint32_t model = 0;
  CHECK(aclmdlLoadFromFile(arguments[2], &model));
  aclmdlDesc* desc = aclmdlCreateDesc();
  CHECK(aclmdlGetDesc(desc, model));
  aclmdlDataset* input = aclmdlCreateDataset();
  aclmdlDataset* output = aclmdlCreateDataset();
  void* memory = nullptr;

  const size_t input_size = way == "shape" ? content.size() : aclmdlGetInputSizeByIndex(desc, 0);
  if (input_size < content.size()) {
    std::cerr << "the input takes " << input_size << " bytes only\n";
    return 1;
  }
  CHECK(add_buffer(input, input_size, &memory));
  CHECK(aclrtMemcpy(memory, input_size, content.data(), content.size(), ACL_MEMCPY_HOST_TO_DEVICE));
  if (way == "shape") {
    aclTensorDesc* shape = aclCreateTensorDesc(aclmdlGetInputDataType(desc, 0), static_cast<int>(dims.dimCount), dims.dims, ACL_FORMAT_ND);
    CHECK(aclmdlSetDatasetTensorDesc(input, shape, 0));
    aclDestroyTensorDesc(shape);
    CHECK(add_buffer(output, 0, &memory));
  } else {
    size_t index = 0;
    CHECK(aclmdlGetInputIndexByName(desc, ACL_DYNAMIC_TENSOR_NAME, &index));
    CHECK(add_buffer(input, aclmdlGetInputSizeByIndex(desc, index), &memory));
    if (way == "batch") {
      CHECK(aclmdlSetDynamicBatchSize(model, input, index, static_cast<uint64_t>(dims.dims[0])));
    } else {
      CHECK(aclmdlSetInputDynamicDims(model, input, index, &dims));
    }
    CHECK(add_buffer(output, aclmdlGetOutputSizeByIndex(desc, 0), &memory));
  }

  CHECK(aclmdlExecute(model, input, output));

  aclTensorDesc* made = aclmdlGetDatasetTensorDesc(output, 0);
  const size_t size = aclGetTensorDescSize(made);
  std::cout << "made";
  for (size_t axis = 0; axis < aclGetTensorDescNumDims(made); ++axis) {
    int64_t dim = 0;
    CHECK(aclGetTensorDescDimV2(made, axis, &dim));
    std::cout << " " << dim;
  }
  std::cout << "\n";
  std::vector<char> host(size);
  CHECK(aclrtMemcpy(host.data(), size, aclGetDataBufferAddr(aclmdlGetDatasetBuffer(output, 0)), size, ACL_MEMCPY_DEVICE_TO_HOST));
  std::ofstream(arguments[4], std::ios::binary).write(host.data(), static_cast<long>(size));
  CHECK(aclmdlUnload(model));
  CHECK(aclFinalize());
  return 0;
}
