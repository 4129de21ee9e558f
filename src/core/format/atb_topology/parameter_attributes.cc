#include "format/atb_topology/parameter_attributes.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "format/onnx_graph/node_writer.h"

namespace tensortap {
namespace {

bool is_int64(const Json& value) {
  return value.is_boolean() || (value.is_number_integer() && (!value.is_number_unsigned() || value.get<uint64_t>() <= INT64_MAX));
}

int64_t int_of(const Json& value) { return value.is_boolean() ? static_cast<int64_t>(value.get<bool>()) : value.get<int64_t>(); }

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : to_json_text(value); }

std::string list_attribute(const std::string& name, const Json& list) {
  if (std::ranges::all_of(list, is_int64)) {
    std::vector<int64_t> values;
    for (const Json& value : list) values.push_back(int_of(value));
    return ints_attribute(name, values);
  }
  if (std::ranges::all_of(list, [](const Json& value) { return value.is_number() || value.is_boolean(); })) {
    std::vector<float> values;
    for (const Json& value : list) values.push_back(value.is_boolean() ? static_cast<float>(int_of(value)) : value.get<float>());
    return floats_attribute(name, values);
  }
  std::vector<std::string> values;
  for (const Json& value : list) values.push_back(text_of(value));
  return texts_attribute(name, values);
}

std::string attribute_of(const std::string& name, const Json& value) {
  if (is_int64(value)) return int_attribute(name, int_of(value));
  if (value.is_number_float()) return float_attribute(name, value.get<float>());
  return value.is_array() ? list_attribute(name, value) : text_attribute(name, text_of(value));
}

class Attributes {
 public:
  void add(const std::string& prefix, const Json& parameters) {
    for (const auto& [key, value] : parameters.items()) {
      if (value.is_object()) {
        add(concat(prefix, key, "."), value);
      } else if (!value.is_null()) {
        bytes_.push_back(attribute_of(free_name(prefix + key), value));
      }
    }
  }

  std::vector<std::string> take() { return std::move(bytes_); }

 private:
  std::string free_name(const std::string& wanted) {
    const std::string name = wanted.empty() ? "_" : wanted;
    std::string free = name;
    for (size_t number = 2; !names_.insert(free).second; ++number) free = concat(name, "_", number);
    return free;
  }

  std::set<std::string> names_;
  std::vector<std::string> bytes_;
};

}  // namespace

std::vector<std::string> parameter_attributes(const Json& parameters) {
  Attributes attributes;
  attributes.add("", parameters);
  return attributes.take();
}

}  // namespace tensortap
