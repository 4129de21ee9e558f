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

struct Returned {
  at::Tensor tensor;
  uint32_t slot;
  int32_t element;
};

void tell(const tensortap_torch_tracker& tracker, void* token, const std::vector<Returned>& tensors) {
  std::vector<tensortap_torch_tensor> described;
  described.reserve(tensors.size());
  for (const Returned& one : tensors) described.push_back(describe(one.tensor, one.slot, one.element));
  tracker.collective_done(token, described.data(), static_cast<uint32_t>(described.size()));
}

}  // namespace

bool when_complete(c10::ArrayRef<const c10::IValue> returns, const tensortap_torch_tracker& tracker, void* token) {
  std::vector<Returned> tensors;
  for (uint32_t slot = 0; slot < returns.size(); ++slot) {
    for_each_tensor(returns[slot], [&](const at::Tensor& tensor, int32_t element) { tensors.push_back({tensor, slot, element}); });
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
