#include "source/pytorch/events/device_use.h"

#include <algorithm>

namespace tensortap::pytorch {
namespace {

bool is_on_device(const tensortap_torch_tensor& tensor) { return tensor.kind == TENSORTAP_TORCH_DEVICE; }

bool has_bit(uint64_t bits, const tensortap_torch_tensor& tensor) { return tensor.slot < 64 && (bits >> tensor.slot & 1U) != 0; }

// Whether an operator works on the elements of what it is given, and not on sizes or memory alone.
bool computes_with_elements(const TorchOperator& op) {
  constexpr uint32_t kArranges = TENSORTAP_TORCH_OP_VIEW | TENSORTAP_TORCH_OP_REARRANGES | TENSORTAP_TORCH_OP_UNWRITTEN;
  return (op.flags & kArranges) == 0 && !op.type.ends_with("_like") && !op.type.starts_with("new_");
}

}  // namespace

void note_use(TorchCapture& capture, ThreadCalls& calls, const tensortap_torch_call& call) {
  const std::span tensors(call.tensors, call.tensor_count);
  const bool on_device = std::ranges::any_of(tensors, is_on_device);
  if (!on_device && !capture.storages.has_unfilled()) return;
  const TorchOperator& op = capture.runtime.operators[call.op];
  if (!computes_with_elements(op)) return;
  // Operators of extensions write into arguments that they may not read: their schema does not tell.
  const uint64_t written = op.name_space == "aten" ? op.overwritten : op.written;
  for (const tensortap_torch_tensor& tensor : tensors) {
    if (has_bit(written, tensor)) continue;
    if (is_on_device(tensor)) {
      capture.storages.filled(tensor, calls.met);
    } else if (!on_device) {
      capture.storages.used_on_host(tensor, calls.met);
    }
  }
}

void note_unfilled(TorchCapture& capture, ThreadCalls& calls, std::span<const tensortap_torch_tensor> tensors) {
  for (const tensortap_torch_tensor& tensor : tensors) {
    if ((tensor.flags & TENSORTAP_TORCH_TENSOR_UNFILLED) != 0) capture.storages.left_unfilled(tensor, calls.met);
  }
}

}  // namespace tensortap::pytorch
