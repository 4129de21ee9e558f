// What copies of tensors on devices have in common.

#ifndef TENSORTAP_SOURCE_PYTORCH_ADAPTER_DEVICE_ELEMENTS_H_
#define TENSORTAP_SOURCE_PYTORCH_ADAPTER_DEVICE_ELEMENTS_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace tensortap::torch_adapter {

// Our calls are not the program's: no callback sees them, and they take no part in gradients.
class Unseen {
 public:
  Unseen() : excluded_(keys()) {}

 private:
  static c10::DispatchKeySet keys() {
    using c10::DispatchKey;
    return c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::autocast_dispatch_keyset | c10::python_ks |
           c10::DispatchKeySet(
               {DispatchKey::FuncTorchDynamicLayerFrontMode, DispatchKey::FuncTorchDynamicLayerBackMode, DispatchKey::Functionalize});
  }
  at::DisableRecordFunctionGuard quiet_;
  c10::impl::ExcludeDispatchKeyGuard excluded_;
  at::NoGradGuard no_grad_;
};

// The memory from the first element to the last, or, with `packed`, only the elements, if most of that memory is not theirs. Queues work on
// the thread's stream; the result belongs to that stream.
at::Tensor flat(const at::Tensor& tensor, bool& packed);

}  // namespace tensortap::torch_adapter

#endif  // TENSORTAP_SOURCE_PYTORCH_ADAPTER_DEVICE_ELEMENTS_H_
