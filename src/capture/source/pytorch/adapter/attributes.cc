#include "source/pytorch/adapter/attributes.h"

#include <ATen/core/function_schema.h>
#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/Scalar.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "source/pytorch/adapter/dump_node.h"
#include "source/pytorch/adapter/operator_facts.h"
#include "source/pytorch/adapter/placements.h"
#include "source/pytorch/adapter/tensor_facts.h"

namespace tensortap::torch_adapter {
namespace {

// Longer lists are named by their length alone.
constexpr size_t kMostItems = 65536;
constexpr int kDeepestList = 8;

void append_text(std::string_view text, std::string& json) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  json += '"';
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    if (code < 0x20) {
      json += "\\u00";
      json += kDigits[code >> 4U];
      json += kDigits[code & 15U];
      continue;
    }
    if (letter == '"' || letter == '\\') json += '\\';
    json += letter;
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

void append_complex(c10::complex<double> number, std::string& json) {
  json += R"({"complex": [)";
  append_number(number.real(), json);
  json += ", ";
  append_number(number.imag(), json);
  json += "]}";
}

// A process group is not made again; the JSON has the name under which run.json lists its members.
bool append_group(const c10::IValue& value, std::string& json) {
  const std::string name = group_name(value);
  if (name.empty()) return false;
  json += R"({"not_kept": "a process group", "name": )";
  append_text(name, json);
  json += '}';
  return true;
}

// For a value that cannot be made again from text.
void append_not_kept(std::string_view what, std::string& json) {
  json += R"({"not_kept": )";
  append_text(what, json);
  json += '}';
}

std::string_view name_of(c10::Layout layout) {
  switch (layout) {
    case c10::Layout::Strided:
      return "Strided";
    case c10::Layout::Sparse:
      return "Sparse";
    case c10::Layout::Mkldnn:
      return "Mkldnn";
    default:
      return "other";
  }
}

std::string_view name_of(c10::MemoryFormat format) {
  switch (format) {
    case c10::MemoryFormat::Contiguous:
      return "Contiguous";
    case c10::MemoryFormat::Preserve:
      return "Preserve";
    case c10::MemoryFormat::ChannelsLast:
      return "ChannelsLast";
    case c10::MemoryFormat::ChannelsLast3d:
      return "ChannelsLast3d";
    default:
      return "other";
  }
}

// The numbers of torch's own enumerations by their names.
bool append_enumerator(int64_t number, c10::TypeKind kind, std::string& json) {
  switch (kind) {
    case c10::TypeKind::ScalarTypeType:
      append_text(c10::toString(static_cast<c10::ScalarType>(number)), json);
      return true;
    case c10::TypeKind::LayoutType:
      append_text(name_of(static_cast<c10::Layout>(number)), json);
      return true;
    case c10::TypeKind::MemoryFormatType:
      append_text(name_of(static_cast<c10::MemoryFormat>(number)), json);
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

void append_value(const c10::IValue& value, c10::TypeKind kind, std::string& json, int depth);

void append_list(const c10::IValue& value, std::string& json, int depth) {
  const auto items = value.toListRef();
  if (items.size() > kMostItems || depth == kDeepestList) {
    return append_not_kept("a list of " + std::to_string(items.size()) + " items", json);
  }
  json += '[';
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) json += ", ";
    append_value(items[i], c10::TypeKind::AnyType, json, depth + 1);
  }
  json += ']';
}

void append_value(const c10::IValue& value, c10::TypeKind kind, std::string& json, int depth) {
  if (value.isNone()) {
    json += "null";
  } else if (value.isBool()) {
    json += value.toBool() ? "true" : "false";
  } else if (value.isInt()) {
    if (!append_enumerator(value.toInt(), kind, json)) json += std::to_string(value.toInt());
  } else if (value.isDouble()) {
    append_number(value.toDouble(), json);
  } else if (value.isComplexDouble()) {
    append_complex(value.toComplexDouble(), json);
  } else if (value.isString()) {
    append_text(value.toStringRef(), json);
  } else if (value.isDevice()) {
    append_text(value.toDevice().str(), json);
  } else if (value.isList()) {
    append_list(value, json, depth);
  } else if (!append_group(value, json)) {
    append_not_kept(value.isGenerator() ? std::string("a generator of random numbers") : value.tagKind(), json);
  }
}

// A number that torch has turned into a tensor: of `x + 2` the 2.
bool is_number(const c10::IValue& value) {
  return value.isTensor() && value.toTensor().defined() && value.toTensor().unsafeGetTensorImpl()->is_wrapped_number();
}

// The number of such a tensor, which is in host memory and of one of four types.
std::optional<c10::Scalar> number_of(const at::Tensor& tensor) {
  if (!tensor.device().is_cpu() || tensor.is_meta() || !tensor.has_storage() || tensor.storage().data() == nullptr) return std::nullopt;
  const auto* element = static_cast<const char*>(tensor.storage().data()) + tensor.storage_offset() * tensor.element_size();
  switch (tensor.scalar_type()) {
    case c10::ScalarType::Double:
      return *reinterpret_cast<const double*>(element);
    case c10::ScalarType::Long:
      return *reinterpret_cast<const int64_t*>(element);
    case c10::ScalarType::Bool:
      return *reinterpret_cast<const bool*>(element);
    case c10::ScalarType::ComplexDouble:
      return *reinterpret_cast<const c10::complex<double>*>(element);
    default:
      return std::nullopt;
  }
}

void append_scalar(const c10::Scalar& number, std::string& json) {
  if (number.isBoolean()) {
    json += number.toBool() ? "true" : "false";
  } else if (number.isComplex()) {
    append_complex(number.toComplexDouble(), json);
  } else if (number.isFloatingPoint()) {
    append_number(number.toDouble(), json);
  } else {
    json += std::to_string(number.toLong());
  }
}

bool is_infinite(const c10::IValue& value) {
  if (is_number(value)) {
    const auto number = number_of(value.toTensor());
    return number && number->isFloatingPoint() && std::isinf(number->toDouble());
  }
  return value.isDouble() && std::isinf(value.toDouble());
}

bool is_parameter(const CallArguments& arguments, uint32_t slot) {
  const c10::IValue& value = arguments.values[slot];
  bool is = holds_parameter(arguments, slot);
  for_each_tensor(value, [&is](const at::Tensor& tensor, int32_t element) {
    if (element <= 0 && kind_of(tensor) != TENSORTAP_TORCH_UNDEFINED) is = is || (tensor.requires_grad() && tensor.is_leaf());
  });
  return is;
}

bool is_quantized(const CallArguments& arguments, uint32_t slot) {
  bool is = false;
  for_each_tensor(arguments.values[slot], [&is](const at::Tensor& tensor, int32_t /*element*/) {
    if (kind_of(tensor) != TENSORTAP_TORCH_UNDEFINED) is = is || tensor.is_quantized();
  });
  return is;
}

// Whether a slot has complex32 tensors, whose elements are reported as pairs of parts.
bool holds_pairs(const CallArguments& arguments, uint32_t slot) {
  bool does = false;
  for_each_tensor(arguments.values[slot], [&does](const at::Tensor& tensor, int32_t /*element*/) {
    does = does || (tensor.defined() && tensor.scalar_type() == c10::ScalarType::ComplexHalf);
  });
  return does;
}

// The slots for which `holds` is true, as a list under a name, if there are any.
void append_slots(const CallArguments& arguments, std::string_view name, bool (*holds)(const CallArguments& arguments, uint32_t slot),
                  std::string& json) {
  std::string slots;
  for (uint32_t i = 0; i < arguments.values.size(); ++i) {
    if (holds(arguments, i)) slots += (slots.empty() ? "" : ", ") + std::to_string(i);
  }
  if (slots.empty()) return;
  if (json.size() > 1) json += ", ";
  append_text(name, json);
  json += ": [" + slots + "]";
}

// Adds the known facts about this call beside its arguments.
void append_facts(const CallArguments& arguments, std::string& json) {
  if (std::any_of(arguments.values.begin(), arguments.values.end(), is_infinite)) {
    json += json.size() > 1 ? R"(, "intended_inf": true)" : R"("intended_inf": true)";
  }
  append_slots(arguments, "parameters", is_parameter, json);
  append_slots(arguments, "quantized", is_quantized, json);
  append_slots(arguments, "pairs", holds_pairs, json);
  const std::string placements = placements_of(arguments);
  if (placements.empty()) return;
  if (json.size() > 1) json += ", ";
  json += R"("placements": )" + placements;
}

void append_argument(const c10::IValue& value, const c10::Argument& described, std::string& json) {
  if (!is_number(value)) return append_value(value, declared_kind(described), json, 0);
  const auto number = number_of(value.toTensor());
  number ? append_scalar(*number, json) : append_not_kept("a number", json);
}

// Whether replaying the call needs the argument. Tensors are slots, and the schema has the defaults of arguments that were not given.
bool is_told(const c10::IValue& value, const c10::Argument& described) {
  if (value.isTensor()) return is_number(value);
  if (value.isNone()) return described.default_value() && !described.default_value()->isNone();
  if (!value.isList()) return true;
  return !value.isTensorList() && described.type()->str().find("Tensor") == std::string::npos;
}

std::string attributes_of(const CallArguments& arguments) {
  std::string json = "{";
  const auto& described = arguments.facts.schema->arguments();
  for (size_t i = 0; i < arguments.values.size() && i < described.size(); ++i) {
    const c10::IValue& value = arguments.values[i];
    if (!is_told(value, described[i])) continue;
    if (json.size() > 1) json += ", ";
    append_text(described[i].name(), json);
    json += ": ";
    append_argument(value, described[i], json);
  }
  append_facts(arguments, json);
  return json.size() == 1 ? std::string() : json + "}";
}

class Digest {
 public:
  void add(uint64_t part) { hash_ = (hash_ ^ part) * 0x9E3779B97F4A7C15U ^ (hash_ >> 29U); }
  void add_number(double number) {
    uint64_t bits = 0;
    std::memcpy(&bits, &number, sizeof bits);
    add(bits);
  }
  void add_complex(c10::complex<double> number) {
    add_number(number.real());
    add_number(number.imag());
  }
  void add_text(std::string_view text) { add(std::hash<std::string_view>{}(text)); }
  [[nodiscard]] uint64_t value() const { return hash_ == 0 ? 1 : hash_; }

 private:
  uint64_t hash_ = 0;
};

enum Kind : uint64_t { kAbsent = 1, kTensor, kWhole, kFraction, kComplex, kTruth, kText, kDevice, kList, kOther };

void digest_number(const at::Tensor& tensor, Digest& digest) {
  const auto number = number_of(tensor);
  if (!number) return digest.add(kOther);
  digest.add(number->isBoolean() ? kTruth : number->isComplex() ? kComplex : number->isFloatingPoint() ? kFraction : kWhole);
  if (number->isComplex()) return digest.add_complex(number->toComplexDouble());
  number->isFloatingPoint() ? digest.add_number(number->toDouble()) : digest.add(static_cast<uint64_t>(number->toLong()));
}

void digest_value(const c10::IValue& value, Digest& digest, int depth) {
  if (value.isTensor()) {
    is_number(value) ? digest_number(value.toTensor(), digest) : digest.add(kTensor);
  } else if (value.isNone()) {
    digest.add(kAbsent);
  } else if (value.isInt()) {
    digest.add(kWhole);
    digest.add(static_cast<uint64_t>(value.toInt()));
  } else if (value.isDouble()) {
    digest.add(kFraction);
    digest.add_number(value.toDouble());
  } else if (value.isBool()) {
    digest.add(kTruth);
    digest.add(value.toBool() ? 1 : 0);
  } else if (value.isString()) {
    digest.add(kText);
    digest.add_text(value.toStringRef());
  } else if (value.isDevice()) {
    digest.add(kDevice);
    digest.add(static_cast<uint64_t>(value.toDevice().type()) << 32U | static_cast<uint8_t>(value.toDevice().index()));
  } else if (value.isComplexDouble()) {
    digest.add(kComplex);
    digest.add_complex(value.toComplexDouble());
  } else if (value.isObject()) {
    digest.add(kOther);
    digest.add_text(group_name(value));
  } else if (value.isTensorList() || !value.isList() || depth == kDeepestList) {
    digest.add(kOther);
  } else {
    const auto items = value.toListRef();
    digest.add(kList);
    digest.add(items.size());
    for (const c10::IValue& item : items) digest_value(item, digest, depth + 1);
  }
}

}  // namespace

size_t write_attributes(const tensortap_torch_call* call, char* text, size_t capacity) {
  try {
    if (call->arguments == nullptr) return 0;
    const auto& arguments = *static_cast<const CallArguments*>(call->arguments);
    if (arguments.facts.schema == nullptr) return 0;
    const std::string json = attributes_of(arguments);
    if (!json.empty() && json.size() < capacity) std::memcpy(text, json.c_str(), json.size() + 1);
    return json.size();
  } catch (...) {
    return 0;
  }
}

uint64_t arguments_digest(const tensortap_torch_call* call) {
  try {
    if (call->arguments == nullptr) return 0;
    Digest digest;
    for (const c10::IValue& value : static_cast<const CallArguments*>(call->arguments)->values) digest_value(value, digest, 0);
    return digest.value();
  } catch (...) {
    return 0;
  }
}

}  // namespace tensortap::torch_adapter
