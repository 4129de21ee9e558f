// An AscendCL program in the style of the public classification samples: device, context, stream, a model loaded with separate memory, one
// data set for inputs and outputs, and results copied back to the host.
//
// usage: sample_flow MODEL OUTPUT_PREFIX INPUT.bin...       with an acl.json in the current folder that is its config

#include <cstdio>
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

static bool read_file(const char* path, std::vector<char>& content) {
  std::ifstream file(path, std::ios::binary);
  content.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  return file.good() || file.eof();
}

static int release(const std::vector<aclmdlDataset*>& datasets) {
  for (aclmdlDataset* dataset : datasets) {
    for (size_t i = 0; i < aclmdlGetDatasetNumBuffers(dataset); ++i) {
      aclDataBuffer* buffer = aclmdlGetDatasetBuffer(dataset, i);
      CHECK(aclrtFree(aclGetDataBufferAddr(buffer)));
      CHECK(aclDestroyDataBuffer(buffer));
    }
    CHECK(aclmdlDestroyDataset(dataset));
  }
  return 0;
}

int main(int count, char** arguments) {
  if (count < 4) return 2;
  CHECK(aclInit(std::ifstream("acl.json") ? "acl.json" : nullptr));
  const int32_t device = 0;
  aclrtContext context;
  aclrtStream stream;
  aclrtRunMode mode;
  CHECK(aclrtSetDevice(device));
  CHECK(aclrtCreateContext(&context, device));
  CHECK(aclrtCreateStream(&stream));
  CHECK(aclrtGetRunMode(&mode));
  const bool is_device = mode == ACL_DEVICE;

  size_t work_size = 0, weight_size = 0;
  void* work = nullptr;
  void* weights = nullptr;
  uint32_t model = 0;
  CHECK(aclmdlQuerySize(arguments[1], &work_size, &weight_size));
  CHECK(aclrtMalloc(&work, work_size, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMalloc(&weights, weight_size, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclmdlLoadFromFileWithMem(arguments[1], &model, work, work_size, weights, weight_size));
  aclmdlDesc* desc = aclmdlCreateDesc();
  CHECK(aclmdlGetDesc(desc, model));

  aclmdlDataset* input = aclmdlCreateDataset();
  for (size_t i = 0; i < aclmdlGetNumInputs(desc); ++i) {
    std::vector<char> content;
    if (static_cast<int>(i) + 3 >= count || !read_file(arguments[i + 3], content)) return 2;
    if (content.size() != aclmdlGetInputSizeByIndex(desc, i)) {
      std::cerr << "input " << i << " has " << content.size() << " bytes, not " << aclmdlGetInputSizeByIndex(desc, i) << "\n";
      return 1;
    }
    void* memory = nullptr;
    CHECK(aclrtMalloc(&memory, content.size(), ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMemcpy(memory, content.size(), content.data(), content.size(),
                      is_device ? ACL_MEMCPY_DEVICE_TO_DEVICE : ACL_MEMCPY_HOST_TO_DEVICE));
    CHECK(aclmdlAddDatasetBuffer(input, aclCreateDataBuffer(memory, content.size())));
  }
  aclmdlDataset* output = aclmdlCreateDataset();
  for (size_t i = 0; i < aclmdlGetNumOutputs(desc); ++i) {
    const size_t size = aclmdlGetOutputSizeByIndex(desc, i);
    void* memory = nullptr;
    CHECK(aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclmdlAddDatasetBuffer(output, aclCreateDataBuffer(memory, size)));
  }

  CHECK(aclmdlExecute(model, input, output));

  for (size_t i = 0; i < aclmdlGetDatasetNumBuffers(output); ++i) {
    aclDataBuffer* buffer = aclmdlGetDatasetBuffer(output, i);
    const size_t size = aclGetDataBufferSizeV2(buffer);
    void* host = nullptr;
    CHECK(aclrtMallocHost(&host, size));
    CHECK(aclrtMemcpy(host, size, aclGetDataBufferAddr(buffer), size, ACL_MEMCPY_DEVICE_TO_HOST));
    std::ofstream(arguments[2] + std::to_string(i) + ".bin", std::ios::binary)
        .write(static_cast<const char*>(host), static_cast<long>(size));
    aclmdlIODims dims;
    CHECK(aclmdlGetCurOutputDims(desc, i, &dims));
    std::cout << dims.name;
    for (size_t axis = 0; axis < dims.dimCount; ++axis) std::cout << " " << dims.dims[axis];
    std::cout << "\n";
    CHECK(aclrtFreeHost(host));
  }

  if (release({input, output}) != 0) return 1;
  CHECK(aclmdlDestroyDesc(desc));
  CHECK(aclmdlUnload(model));
  for (void* memory : {work, weights}) CHECK(aclrtFree(memory));
  CHECK(aclrtDestroyStream(stream));
  CHECK(aclrtDestroyContext(context));
  CHECK(aclrtResetDevice(device));
  CHECK(aclFinalize());
  return 0;
}
