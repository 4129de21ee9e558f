// Describes a tensor without running any code of the program: subclasses may override even sizes().

#ifndef TENSORTAP_SOURCE_PYTORCH_ADAPTER_TENSOR_FACTS_H_
#define TENSORTAP_SOURCE_PYTORCH_ADAPTER_TENSOR_FACTS_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <vector>

#include "source/pytorch/adapter/adapter_interface.h"

namespace tensortap::torch_adapter {

tensortap_torch_kind kind_of(const at::Tensor& tensor);

// Describes a tensor; pointers borrow from it.
tensortap_torch_tensor describe(const at::Tensor& tensor, uint32_t slot, int32_t element);
// The flags that describe() does not set: for an argument of a call that no tensor of a Python class wraps.
uint32_t role_of(const at::Tensor& tensor);

// Calls visit(tensor, element) for each tensor of a value: a tensor, a list, a list of lists, or a tuple.
template <class Visit>
void for_each_tensor(const c10::IValue& value, Visit&& visit) {
  if (value.isTensor()) {
    visit(value.toTensor(), -1);
  } else if (value.isTensorList()) {
    int32_t element = 0;
    for (const at::Tensor& tensor : value.toTensorList()) visit(tensor, element++);
  } else if (value.isList()) {
    int32_t element = 0;
    for (const c10::IValue& one : value.toListRef()) {
      if (one.isTensorList()) {
        for (const at::Tensor& tensor : one.toTensorList()) visit(tensor, element++);
        continue;
      }
      if (one.isTensor()) visit(one.toTensor(), element);
      ++element;
    }
  } else if (value.isTuple()) {
    int32_t element = 0;
    for (const c10::IValue& one : value.toTupleRef().elements()) {
      if (one.isTensor()) visit(one.toTensor(), element);
      ++element;
    }
  }
}

}  // namespace tensortap::torch_adapter

#endif  // TENSORTAP_SOURCE_PYTORCH_ADAPTER_TENSOR_FACTS_H_
