// A run that fails, seen by the program's callback: which op it was and what it was given.
//
// usage: exception_flow CONFIG|- MODEL       the model's inputs are int64; they are given the numbers 100, 101, ...

#include <iostream>
#include <vector>

#include "acl/acl.h"

static void describe(aclrtExceptionInfo* info) {
  char name[256] = {};
  aclTensorDesc* inputs = nullptr;
  aclTensorDesc* outputs = nullptr;
  size_t input_count = 0;
  size_t output_count = 0;
  std::cout << "device " << aclrtGetDeviceIdFromExceptionInfo(info) << "\n";
  const aclError code =
      aclmdlCreateAndGetOpDesc(aclrtGetDeviceIdFromExceptionInfo(info), aclrtGetStreamIdFromExceptionInfo(info),
                               aclrtGetTaskIdFromExceptionInfo(info), name, sizeof(name), &inputs, &input_count, &outputs, &output_count);
  std::cout << "op " << code << " " << name << "\n";
  for (size_t i = 0; i < input_count; ++i) {
    aclTensorDesc* desc = aclGetTensorDescByIndex(inputs, i);
    std::cout << "input " << aclGetTensorDescName(desc) << " type " << aclGetTensorDescType(desc) << " size " << aclGetTensorDescSize(desc)
              << "\n";
  }
  for (size_t i = 0; i < output_count; ++i) {
    aclTensorDesc* desc = aclGetTensorDescByIndex(outputs, i);
    std::cout << "output " << aclGetTensorDescName(desc) << " type " << aclGetTensorDescType(desc) << " size " << aclGetTensorDescSize(desc)
              << "\n";
  }
  void* arguments = info;
  uint32_t argument_bytes = 1;
  std::cout << "task " << aclrtGetTaskIdFromExceptionInfo(info) << " arguments "
            << aclrtGetArgsFromExceptionInfo(info, &arguments, &argument_bytes) << " " << (arguments == nullptr) << " " << argument_bytes
            << "\n";
  aclDestroyTensorDesc(inputs);
  aclDestroyTensorDesc(outputs);
}

int main(int count, char** arguments) {
  if (count < 3) return 2;
  if (aclInit(arguments[1][0] == '-' ? nullptr : arguments[1]) != ACL_SUCCESS) {
    std::cerr << aclGetRecentErrMsg() << "\n";
    return 1;
  }
  aclrtSetDevice(0);
  aclrtSetExceptionInfoCallback(describe);
  uint32_t model = 0;
  if (aclmdlLoadFromFile(arguments[2], &model) != ACL_SUCCESS) return 1;
  aclmdlDesc* desc = aclmdlCreateDesc();
  aclmdlGetDesc(desc, model);
  aclmdlDataset* input = aclmdlCreateDataset();
  aclmdlDataset* output = aclmdlCreateDataset();
  for (size_t i = 0; i < aclmdlGetNumInputs(desc); ++i) {
    std::vector<int64_t> values(aclmdlGetInputSizeByIndex(desc, i) / sizeof(int64_t));
    for (size_t k = 0; k < values.size(); ++k) values[k] = 100 + static_cast<int64_t>(k);
    void* memory = nullptr;
    aclrtMalloc(&memory, values.size() * sizeof(int64_t), ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMemcpy(memory, values.size() * sizeof(int64_t), values.data(), values.size() * sizeof(int64_t), ACL_MEMCPY_HOST_TO_DEVICE);
    aclmdlAddDatasetBuffer(input, aclCreateDataBuffer(memory, values.size() * sizeof(int64_t)));
  }
  for (size_t i = 0; i < aclmdlGetNumOutputs(desc); ++i) aclmdlAddDatasetBuffer(output, aclCreateDataBuffer(nullptr, 0));
  const aclError code = aclmdlExecute(model, input, output);
  std::cout << "execute " << code << "\n";
  return 0;  // without aclFinalize(): the dump is complete all the same
}
