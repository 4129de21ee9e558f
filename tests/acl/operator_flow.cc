// Operators called by themselves, as programs of single operators do.
//
// usage: operator_flow [CONFIG.json]

#include <iostream>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "acl/acl_op_compiler.h"

struct Tensor {
  Tensor(aclDataType type, const std::vector<int64_t>& dims, const void* data)
      : desc(aclCreateTensorDesc(type, static_cast<int>(dims.size()), dims.data(), ACL_FORMAT_ND)), memory(nullptr) {
    const size_t size = aclGetTensorDescSize(desc);
    aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST);
    if (data != nullptr) aclrtMemcpy(memory, size, data, size, ACL_MEMCPY_HOST_TO_DEVICE);
    buffer = aclCreateDataBuffer(memory, size);
  }
  aclTensorDesc* desc;
  void* memory;
  aclDataBuffer* buffer;
};

template <class T>
static void print(const char* name, const Tensor& tensor) {
  std::vector<T> values(aclGetTensorDescElementCount(tensor.desc));
  const size_t size = values.size() * sizeof(T);
  aclrtMemcpy(values.data(), size, tensor.memory, size, ACL_MEMCPY_DEVICE_TO_HOST);
  std::cout << name;
  for (const T value : values) std::cout << " " << value;
  std::cout << "\n";
}

static aclError run(const char* type, std::vector<Tensor> inputs, Tensor& output, aclopAttr* attributes, aclrtStream stream) {
  std::vector<aclTensorDesc*> descs;
  std::vector<aclDataBuffer*> buffers;
  for (const Tensor& input : inputs) {
    descs.push_back(input.desc);
    buffers.push_back(input.buffer);
  }
  const aclError code = aclopExecuteV2(type, static_cast<int>(inputs.size()), descs.data(), buffers.data(), 1, &output.desc, &output.buffer,
                                       attributes, stream);
  if (code != ACL_SUCCESS) std::cout << type << " failed " << code << "\n";
  return code;
}

int main(int count, char** arguments) {
  if (aclInit(count > 1 ? arguments[1] : nullptr) != ACL_SUCCESS) {
    std::cerr << aclGetRecentErrMsg() << "\n";
    return 1;
  }
  aclrtSetDevice(0);
  aclrtStream stream;
  aclrtCreateStream(&stream);
  const float a[] = {1, -2, 3, -4, 5, -6};
  const float b[] = {10, 20, 30, 40, 50, 60};
  const Tensor x(ACL_FLOAT, {2, 3}, a);
  const Tensor y(ACL_FLOAT, {2, 3}, b);
  Tensor z(ACL_FLOAT, {2, 3}, nullptr);
  aclopAttr* attributes = aclopCreateAttr();
  if (run("Add", {x, y}, z, attributes, stream) == ACL_SUCCESS) print<float>("Add", z);
  if (run("RealDiv", {y, x}, z, attributes, stream) == ACL_SUCCESS) print<float>("RealDiv", z);
  if (run("Relu", {x}, z, attributes, stream) == ACL_SUCCESS) print<float>("Relu", z);
  aclopSetAttrBool(attributes, "transpose_x2", 1);
  Tensor product(ACL_FLOAT, {2, 2}, nullptr);
  if (run("MatMul", {x, y}, product, attributes, stream) == ACL_SUCCESS) print<float>("MatMul", product);
  aclopDestroyAttr(attributes);

  Tensor whole(ACL_INT32, {2, 3}, nullptr);
  if (aclopCast(x.desc, x.buffer, whole.desc, whole.buffer, 0, stream) == ACL_SUCCESS) print<int32_t>("Cast", whole);

  aclopHandle* handle = nullptr;
  const aclTensorDesc* one_input[] = {x.desc};
  const aclTensorDesc* one_output[] = {z.desc};
  aclError code = aclopCreateHandle("Neg", 1, one_input, 1, one_output, nullptr, &handle);
  const aclDataBuffer* inputs[] = {x.buffer};
  aclDataBuffer* outputs[] = {z.buffer};
  if (code == ACL_SUCCESS) code = aclopExecWithHandle(handle, 1, inputs, 1, outputs, stream);
  if (code == ACL_SUCCESS) print<float>("Neg", z);
  aclopDestroyHandle(handle);

  run("NoSuchOperator", {x}, z, nullptr, stream);
  Tensor small(ACL_FLOAT, {1}, nullptr);
  run("Relu", {x}, small, nullptr, stream);
  aclrtSynchronizeStream(stream);
  aclrtDestroyStream(stream);
  aclFinalize();
  return 0;
}
