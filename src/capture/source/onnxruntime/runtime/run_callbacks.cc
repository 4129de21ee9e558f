#include "source/onnxruntime/runtime/run_callbacks.h"

#include "base/text.h"

namespace tensortap::onnxruntime {
namespace {

bool is_of_type(const Api& api, const abi::Value* value, abi::ValueType type) {
  int32_t found = 0;
  return api.call(ort::kGetValueType, value, &found).ok() && found == type;
}

}  // namespace

std::string_view emptiness(const Api& api, const abi::Value* value) {
  int has_value = 0;
  if (!api.call(ort::kHasValue, value, &has_value).ok() || has_value == 0) return "has no value";
  size_t count = 1;
  if (is_of_type(api, value, abi::kValueSequence) && api.call(ort::kGetValueCount, value, &count).ok() && count == 0)
    return "is an empty sequence";
  return {};
}

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
  if (!elements.ok()) return;
  if (is_of_type(api, value, abi::kValueMap)) {
    const std::string keys = concat(named.name, ".keys");
    const std::string values = concat(named.name, ".values");
    for (size_t i = 0; i < 2 && i < elements->size(); ++i) {
      named.name = i == 0 ? keys.c_str() : values.c_str();
      output(api, step, (*elements)[i].get(), named);
    }
    return;
  }
  if (named.element >= 0) return;  // a sequence of sequences, which the runtime does not make
  for (size_t i = 0; i < elements->size(); ++i) {
    named.element = static_cast<int64_t>(i);
    output(api, step, (*elements)[i].get(), named);
  }
}

void RunCallbacks::outputs(const Api& api, int64_t step, const std::vector<std::string>& names,
                           const std::vector<OwnedValue>& values) const {
  if (options_.on_output == nullptr) return;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i] || !emptiness(api, values[i].get()).empty()) continue;
    tensortap_tensor named{};
    named.name = names[i].c_str();
    named.slot_index = static_cast<uint32_t>(i);
    named.element = -1;
    output(api, step, values[i].get(), named);
  }
}

}  // namespace tensortap::onnxruntime
