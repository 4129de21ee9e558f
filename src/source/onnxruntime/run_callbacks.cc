#include "source/onnxruntime/run_callbacks.h"

namespace tensortap::onnxruntime {

void RunCallbacks::output(const Api& api, int64_t step, const abi::Value* value, tensortap_tensor named) const {
  TensorScratch scratch;
  tensortap_tensor tensor{};
  if (view_tensor(api, value, scratch, tensor).ok()) {
    tensor.name = named.name;
    tensor.slot_index = named.slot_index;
    tensor.element = named.element;
    options_.on_output(options_.user, step, &tensor);
    return;
  }
  const auto elements = elements_of(api, value);
  if (!elements.ok() || named.element >= 0) return;  // maps and nested sequences have no tensors to give
  for (size_t i = 0; i < elements->size(); ++i) {
    named.element = static_cast<int64_t>(i);
    output(api, step, (*elements)[i].get(), named);
  }
}

void RunCallbacks::outputs(const Api& api, int64_t step, const std::vector<std::string>& names,
                           const std::vector<OwnedValue>& values) const {
  if (options_.on_output == nullptr) return;
  for (size_t i = 0; i < values.size(); ++i) {
    int has_value = 0;
    if (!values[i] || !api.call(ort::kHasValue, static_cast<const abi::Value*>(values[i].get()), &has_value).ok() || has_value == 0)
      continue;
    tensortap_tensor named{};
    named.name = names[i].c_str();
    named.slot_index = static_cast<uint32_t>(i);
    named.element = -1;
    output(api, step, values[i].get(), named);
  }
}

}  // namespace tensortap::onnxruntime
