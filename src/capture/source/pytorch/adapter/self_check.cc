#include "source/pytorch/adapter/self_check.h"

#include <ATen/ATen.h>
#include <tensortap/capture.h>

#include "source/pytorch/adapter/tensor_facts.h"

namespace tensortap::torch_adapter {
namespace {

const char* test_plain_tensor() {
  at::Tensor tensor = at::zeros({2, 3, 4}, at::kFloat);
  tensor.select(0, 1).select(0, 2).select(0, 3).fill_(7);
  const tensortap_torch_tensor facts = describe(tensor, 5, -1);
  if (facts.kind != TENSORTAP_TORCH_STRIDED || facts.dtype != TENSORTAP_FLOAT32) return "kind or dtype of a plain tensor is wrong";
  if (facts.rank != 3 || facts.dims[0] != 2 || facts.dims[1] != 3 || facts.dims[2] != 4) return "shape of a plain tensor is wrong";
  if (facts.strides[0] != 12 || facts.strides[1] != 4 || facts.strides[2] != 1) return "strides of a plain tensor are wrong";
  if (facts.storage_bytes != 24 * sizeof(float) || facts.data != facts.storage_data) return "storage of a plain tensor is wrong";
  const auto* values = static_cast<const float*>(facts.data);
  return values[0] == 0 && values[23] == 7 ? nullptr : "values of a plain tensor are wrong";
}

const char* test_view() {
  const at::Tensor tensor = at::arange(12, at::kLong).view({3, 4});
  const at::Tensor view = tensor.t().slice(0, 1);
  const tensortap_torch_tensor whole = describe(tensor, 0, -1);
  const tensortap_torch_tensor facts = describe(view, 0, -1);
  if (facts.storage != whole.storage || facts.rank != 2 || facts.strides[0] != 1 || facts.strides[1] != 4) return "a view is wrong";
  return *static_cast<const int64_t*>(facts.data) == 1 ? nullptr : "data of a view is wrong";
}

const char* test_values() {
  const at::Tensor tensor = at::ones({2}, at::kHalf);
  const c10::IValue list(std::vector<at::Tensor>{tensor, tensor});
  int32_t count = 0;
  for_each_tensor(list, [&count](const at::Tensor& one, int32_t element) { count += one.defined() && element == count ? 1 : 100; });
  if (count != 2) return "a list of tensors is wrong";
  if (describe(at::Tensor(), 0, -1).kind != TENSORTAP_TORCH_UNDEFINED) return "an undefined tensor is wrong";
  const at::Tensor meta = at::ones({2}, at::TensorOptions(at::kFloat).device(at::kMeta));
  return describe(meta, 0, -1).kind == TENSORTAP_TORCH_META ? nullptr : "a meta tensor is wrong";
}

}  // namespace

const char* self_test() {
  try {
    if (const char* problem = test_plain_tensor()) return problem;
    if (const char* problem = test_view()) return problem;
    return test_values();
  } catch (...) {
    return "an operator of the self-test raised an exception";
  }
}

}  // namespace tensortap::torch_adapter
