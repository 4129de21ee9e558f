// The arguments of an operator that are no tensors, as JSON.

#ifndef TENSORTAP_SOURCE_PYTORCH_ADAPTER_ATTRIBUTES_H_
#define TENSORTAP_SOURCE_PYTORCH_ADAPTER_ATTRIBUTES_H_

#include <ATen/core/ivalue.h>
#include <c10/util/ArrayRef.h>

#include <cstddef>
#include <cstdint>

#include "source/pytorch/adapter/adapter_interface.h"

namespace tensortap::torch_adapter {

struct OperatorFacts;

// What tensortap_torch_call::arguments points to while a call begins.
struct CallArguments {
  const OperatorFacts& facts;
  c10::ArrayRef<const c10::IValue> values;
};

// tensortap_torch_adapter::attributes.
size_t write_attributes(const tensortap_torch_call* call, char* text, size_t capacity);
// tensortap_torch_adapter::arguments_digest.
uint64_t arguments_digest(const tensortap_torch_call* call);

}  // namespace tensortap::torch_adapter

#endif  // TENSORTAP_SOURCE_PYTORCH_ADAPTER_ATTRIBUTES_H_
