#include "source/pytorch/adapter/collectives.h"

#if __has_include(<torch/csrc/distributed/c10d/Work.hpp>)
#include <torch/csrc/distributed/c10d/Work.hpp>
#endif

#include <utility>
#include <vector>

#include "source/pytorch/adapter/tensor_facts.h"

namespace tensortap::torch_adapter {

#if __has_include(<torch/csrc/distributed/c10d/Work.hpp>)
namespace {

void tell(const tensortap_torch_tracker& tracker, void* token, const std::vector<std::pair<uint32_t, at::Tensor>>& tensors) {
  std::vector<tensortap_torch_tensor> described;
  int32_t element = 0;
  for (const auto& [slot, tensor] : tensors) {
    described.push_back(describe(tensor, slot, tensors.size() > 1 ? element++ : -1));
    described.back().flags |= TENSORTAP_TORCH_TENSOR_WRITTEN;
  }
  tracker.collective_done(token, described.data(), static_cast<uint32_t>(described.size()));
}

}  // namespace

bool when_complete(c10::ArrayRef<const c10::IValue> returns, const tensortap_torch_tracker& tracker, void* token) {
  std::vector<std::pair<uint32_t, at::Tensor>> tensors;
  for (uint32_t slot = 0; slot < returns.size(); ++slot) {
    for_each_tensor(returns[slot], [&](const at::Tensor& tensor, int32_t /*element*/) { tensors.emplace_back(slot, tensor); });
  }
  for (const c10::IValue& value : returns) {
    if (!value.isCustomClass()) continue;
    const auto future = value.toCustomClass<c10d::Work>()->getFuture();
    if (!future) return false;
    future->addCallback([&tracker, token, tensors = std::move(tensors)](c10::ivalue::Future& /*done*/) { tell(tracker, token, tensors); });
    return true;
  }
  return false;
}
#else
bool when_complete(c10::ArrayRef<const c10::IValue> /*returns*/, const tensortap_torch_tracker& /*tracker*/, void* /*token*/) {
  return false;
}
#endif

}  // namespace tensortap::torch_adapter
