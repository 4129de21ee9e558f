#include "source/pytorch/adapter/attributes.h"

#include <ATen/core/function_schema.h>
#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "source/pytorch/adapter/operator_facts.h"
#include "source/pytorch/adapter/tensor_facts.h"

namespace tensortap::torch_adapter {
namespace {

// Longer lists are no settings but data.
constexpr size_t kMostItems = 64;

void append_text(std::string_view text, std::string& json) {
  json += '"';
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') json += '\\';
    if (static_cast<unsigned char>(letter) >= 0x20) json += letter;
  }
  json += '"';
}

// Numbers as they read back; those that JSON does not have as texts.
void append_number(double number, std::string& json) {
  if (!std::isfinite(number)) return append_text(std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf", json);
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, number);
  const std::string_view text(digits, static_cast<size_t>(end.ptr - digits));
  json += text;
  if (text.find_first_of(".en") == std::string_view::npos) json += ".0";
}

// The numbers of torch's own enumerations by their names.
bool append_enumerator(const c10::IValue& value, c10::TypeKind kind, std::string& json) {
  const auto number = value.toInt();
  switch (kind) {
    case c10::TypeKind::ScalarTypeType:
      append_text(c10::toString(static_cast<c10::ScalarType>(number)), json);
      return true;
    case c10::TypeKind::LayoutType:
      append_text(static_cast<c10::Layout>(number) == c10::Layout::Strided ? "Strided" : "other", json);
      return true;
    default:
      return false;
  }
}

c10::TypeKind declared_kind(const c10::Argument& argument) {
  const c10::TypePtr& type = argument.real_type();
  if (const auto optional = type->cast<c10::OptionalType>()) return optional->getElementType()->kind();
  return type->kind();
}

bool append_value(const c10::IValue& value, c10::TypeKind kind, std::string& json) {
  if (value.isNone()) {
    json += "null";
  } else if (value.isBool()) {
    json += value.toBool() ? "true" : "false";
  } else if (value.isInt()) {
    if (!append_enumerator(value, kind, json)) json += std::to_string(value.toInt());
  } else if (value.isDouble()) {
    append_number(value.toDouble(), json);
  } else if (value.isString()) {
    append_text(value.toStringRef(), json);
  } else if (value.isDevice()) {
    append_text(value.toDevice().str(), json);
  } else {
    return false;
  }
  return true;
}

bool append_list(const c10::IValue& value, std::string& json) {
  const auto items = value.toListRef();
  if (items.size() > kMostItems) return false;
  json += '[';
  for (const c10::IValue& item : items) {
    if (json.back() != '[') json += ", ";
    if (!append_value(item, c10::TypeKind::AnyType, json)) return false;
  }
  json += ']';
  return true;
}

bool holds_numbers(const c10::IValue& value) { return value.isIntList() || value.isDoubleList() || value.isBoolList(); }

// A number that torch has turned into a tensor: of `x + 2` the 2.
bool is_number(const c10::IValue& value) {
  return value.isTensor() && value.toTensor().defined() && value.toTensor().unsafeGetTensorImpl()->is_wrapped_number();
}

// The number of such a tensor, which is in host memory and of one of three types; nothing of a boolean.
std::optional<double> number_of(const at::Tensor& tensor) {
  if (!tensor.device().is_cpu() || tensor.is_meta() || !tensor.has_storage() || tensor.storage().data() == nullptr) return std::nullopt;
  const auto* element = static_cast<const char*>(tensor.storage().data()) + tensor.storage_offset() * tensor.element_size();
  if (tensor.scalar_type() == c10::ScalarType::Double) return *reinterpret_cast<const double*>(element);
  if (tensor.scalar_type() == c10::ScalarType::Long) return static_cast<double>(*reinterpret_cast<const int64_t*>(element));
  return std::nullopt;
}

bool is_infinite(const c10::IValue& value) {
  if (is_number(value)) {
    const auto number = number_of(value.toTensor());
    return number && std::isinf(*number);
  }
  return value.isDouble() && std::isinf(value.toDouble());
}

bool is_parameter(const c10::IValue& value) {
  bool is = false;
  for_each_tensor(value, [&is](const at::Tensor& tensor, int32_t element) {
    if (element <= 0 && kind_of(tensor) != TENSORTAP_TORCH_UNDEFINED) is = tensor.requires_grad() && tensor.is_leaf();
  });
  return is;
}

// What is known of this call beside its arguments.
void append_facts(const CallArguments& arguments, std::string& json) {
  const auto begin = [&json](std::string_view name) {
    if (json.size() > 1) json += ", ";
    append_text(name, json);
    json += ": ";
  };
  if (std::any_of(arguments.values.begin(), arguments.values.end(), is_infinite)) {
    begin("intended_inf");
    json += "true";
  }
  std::string slots;
  for (size_t i = 0; i < arguments.values.size(); ++i) {
    if (is_parameter(arguments.values[i])) slots += (slots.empty() ? "" : ", ") + std::to_string(i);
  }
  if (slots.empty()) return;
  begin("parameters");
  json += "[" + slots + "]";
}

bool append_argument(const c10::IValue& value, const c10::Argument& described, std::string& json) {
  if (is_number(value)) {
    const auto number = number_of(value.toTensor());
    if (!number) return false;
    append_number(*number, json);
    return true;
  }
  return holds_numbers(value) ? append_list(value, json) : append_value(value, declared_kind(described), json);
}

std::string attributes_of(const CallArguments& arguments) {
  std::string json = "{";
  const auto& described = arguments.facts.schema->arguments();
  for (size_t i = 0; i < arguments.values.size() && i < described.size(); ++i) {
    const c10::IValue& value = arguments.values[i];
    // An argument that was not given says nothing, unless it is an optional tensor, which is a slot.
    if ((value.isTensor() && !is_number(value)) || value.isTensorList() || value.isNone()) continue;
    const size_t before = json.size();
    if (before > 1) json += ", ";
    append_text(described[i].name(), json);
    json += ": ";
    if (!append_argument(value, described[i], json)) json.resize(before);
  }
  append_facts(arguments, json);
  return json.size() == 1 ? std::string() : json + "}";
}

}  // namespace

size_t write_attributes(const tensortap_torch_call* call, char* text, size_t capacity) {
  try {
    if (call->arguments == nullptr) return 0;
    const auto& arguments = *static_cast<const CallArguments*>(call->arguments);
    if (arguments.facts.schema == nullptr) return 0;
    const std::string json = attributes_of(arguments);
    if (json.empty() || json.size() >= capacity) return 0;
    std::memcpy(text, json.c_str(), json.size() + 1);
    return json.size();
  } catch (...) {
    return 0;
  }
}

}  // namespace tensortap::torch_adapter
