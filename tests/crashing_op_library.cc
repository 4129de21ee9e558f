// Custom operators of ONNX Runtime that crash: "Fragile" of the domain "test.crash" adds its two inputs, and writes to nowhere when the
// second begins with a negative number. What tests/crashed_ops_test.py has programs register.

#include "source/onnxruntime/runtime/ort_interface.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>

namespace {

using namespace tensortap::onnxruntime;

constexpr int32_t kFloat = 1;
constexpr size_t kMostDims = 8;
Api api;

struct Operand {
  const float* values = nullptr;
  std::array<int64_t, kMostDims> dims{};
  size_t rank = 0;
  size_t count = 1;
};

Operand operand(const abi::KernelContext* context, size_t index) {
  Operand found;
  const abi::Value* value = nullptr;
  abi::TensorInfo* info = nullptr;
  void* values = nullptr;
  api.find(ort::kKernelContextGetInput)(context, index, &value);
  api.find(ort::kGetTensorMutableData)(const_cast<abi::Value*>(value), &values);
  api.find(ort::kGetTensorTypeAndShape)(value, &info);
  api.find(ort::kGetDimensionsCount)(info, &found.rank);
  api.find(ort::kGetDimensions)(info, found.dims.data(), std::min(found.rank, kMostDims));
  api.find(ort::kReleaseTensorTypeAndShapeInfo)(info);
  found.values = static_cast<const float*>(values);
  for (size_t i = 0; i < found.rank; ++i) found.count *= static_cast<size_t>(found.dims[i]);
  return found;
}

abi::Status* compute(void* /*kernel*/, abi::KernelContext* context) {
  const Operand a = operand(context, 0);
  const Operand b = operand(context, 1);
  if (b.values[0] < 0) {
    volatile int* nowhere = nullptr;
    *nowhere = 1;
  }
  abi::Value* output = nullptr;
  void* sums = nullptr;
  if (abi::Status* status = api.find(ort::kKernelContextGetOutput)(context, 0, a.dims.data(), a.rank, &output)) return status;
  api.find(ort::kGetTensorMutableData)(output, &sums);
  for (size_t i = 0; i < a.count; ++i) static_cast<float*>(sums)[i] = a.values[i] + b.values[i];
  return nullptr;
}

abi::CustomOp fragile_op(uint32_t release) {
  abi::CustomOp op{};
  op.version = std::min(release, abi::kCustomOpRelease);
  op.get_name = [](const abi::CustomOp*) -> const char* { return "Fragile"; };
  op.get_execution_provider_type = [](const abi::CustomOp*) -> const char* { return nullptr; };  // the CPU
  op.get_input_type = [](const abi::CustomOp*, size_t) -> int32_t { return kFloat; };
  op.get_input_type_count = [](const abi::CustomOp*) -> size_t { return 2; };
  op.get_input_memory_type = [](const abi::CustomOp*, size_t) -> int32_t { return 0; };
  op.get_input_characteristic = [](const abi::CustomOp*, size_t) -> int32_t { return abi::kRequired; };
  op.get_output_type = [](const abi::CustomOp*, size_t) -> int32_t { return kFloat; };
  op.get_output_type_count = [](const abi::CustomOp*) -> size_t { return 1; };
  op.get_output_characteristic = [](const abi::CustomOp*, size_t) -> int32_t { return abi::kRequired; };
  op.get_start_version = [](const abi::CustomOp*) -> int { return 1; };
  op.get_end_version = [](const abi::CustomOp*) -> int { return INT32_MAX; };
  op.create_kernel_v2 = [](const abi::CustomOp*, const void*, const abi::KernelInfo*, void** kernel) -> abi::Status* {
    *kernel = nullptr;
    return nullptr;
  };
  op.kernel_compute_v2 = &compute;
  op.kernel_destroy = [](void*) {};
  return op;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) abi::Status* RegisterCustomOps(abi::SessionOptions* options, const abi::ApiBase* base) {
  const int release = std::atoi(base->get_version_string() + 2);  // "1.23.2"
  api = Api(base->get_api(static_cast<uint32_t>(kOldestRelease)), release);
  static const abi::CustomOp op = fragile_op(static_cast<uint32_t>(release));
  abi::CustomOpDomain* domain = nullptr;
  if (abi::Status* status = api.find(ort::kCreateCustomOpDomain)("test.crash", &domain)) return status;
  if (abi::Status* status = api.find(ort::kCustomOpDomainAdd)(domain, &op)) return status;
  return api.find(ort::kAddCustomOpDomain)(options, domain);
}
