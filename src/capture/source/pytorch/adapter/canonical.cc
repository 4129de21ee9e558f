#include "source/pytorch/adapter/canonical.h"

#include <c10/core/impl/LocalDispatchKeySet.h>

#include "source/pytorch/adapter/tensor_facts.h"

namespace tensortap::torch_adapter {
namespace {

using c10::DispatchKey;

bool is_active(DispatchKey key) { return c10::impl::tls_is_dispatch_key_included(key) && !c10::impl::tls_is_dispatch_key_excluded(key); }

// Autocast is switched on by ending the exclusion of its key.
bool is_autocast(DispatchKey key) { return !c10::impl::tls_is_dispatch_key_excluded(key); }

bool wrapped_by_autocast(const OperatorFacts& facts) {
  if (facts.autocast_on_cpu && is_autocast(DispatchKey::AutocastCPU)) return true;
  return facts.autocast_on_device && (is_autocast(DispatchKey::AutocastCUDA) || is_autocast(DispatchKey::AutocastPrivateUse1));
}

struct Arguments {
  bool without_values = false;  // wrappers, meta tensors
  bool on_device = false;
};

Arguments look_at(c10::ArrayRef<const c10::IValue> values) {
  Arguments found;
  for (const c10::IValue& value : values) {
    for_each_tensor(value, [&found](const at::Tensor& tensor, int32_t /*element*/) {
      const tensortap_torch_kind kind = kind_of(tensor);
      if (kind == TENSORTAP_TORCH_WRAPPER || kind == TENSORTAP_TORCH_META) found.without_values = true;
      if (kind == TENSORTAP_TORCH_DEVICE) found.on_device = true;
    });
  }
  return found;
}

template <class Values>
Values last_of(Values values, uint32_t count) {
  return values.size() > count ? values.slice(values.size() - count) : values;
}

}  // namespace

c10::ArrayRef<const c10::IValue> arguments_of(const at::RecordFunction& record, const OperatorFacts& facts) {
  return last_of(record.inputs(), facts.arguments);
}

c10::ArrayRef<const c10::IValue> returns_of(const at::RecordFunction& record, const OperatorFacts& facts) {
  return last_of(c10::ArrayRef<const c10::IValue>(record.outputs().data(), record.outputs().size()), facts.returns);
}

bool is_operator(const OperatorFacts& facts, c10::ArrayRef<const c10::IValue> arguments) {
  if (!facts.has_schema || (facts.composite_on_cpu && facts.composite_on_device)) return false;
  if (is_active(DispatchKey::Python) || is_active(DispatchKey::FuncTorchDynamicLayerFrontMode)) return false;
  if (wrapped_by_autocast(facts)) return false;
  const Arguments found = look_at(arguments);
  if (found.without_values) return false;
  return !(found.on_device ? facts.composite_on_device : facts.composite_on_cpu);
}

}  // namespace tensortap::torch_adapter
