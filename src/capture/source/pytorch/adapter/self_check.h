#ifndef TENSORTAP_SOURCE_PYTORCH_ADAPTER_SELF_CHECK_H_
#define TENSORTAP_SOURCE_PYTORCH_ADAPTER_SELF_CHECK_H_

namespace tensortap::torch_adapter {

// Describes tensors whose facts are known and compares. Null, or what went wrong; a constant text.
const char* self_test();

}  // namespace tensortap::torch_adapter

#endif  // TENSORTAP_SOURCE_PYTORCH_ADAPTER_SELF_CHECK_H_
