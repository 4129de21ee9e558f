#include "plan/spec_reader.h"

#include "base/json.h"
#include "base/text.h"

namespace tensortap {
namespace {

std::string_view type_word(const Json& json) {
  if (json.is_object()) return "an object";
  if (json.is_array()) return "a list";
  if (json.is_string()) return "a text";
  if (json.is_number()) return "a number";
  if (json.is_boolean()) return json.get<bool>() ? "true" : "false";
  return "null";
}

std::string escape_pointer(std::string_view key) {
  std::string escaped;
  for (const char c : key) {
    if (c == '~') {
      escaped += "~0";
    } else if (c == '/') {
      escaped += "~1";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace

std::string choices_text(std::span<const std::string_view> names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += quote(names[i]);
  }
  return text;
}

SpecValue SpecValue::member(const std::string& key) const {
  SpecValue value = *this;
  value.json_ = &*json_->find(key);
  value.pointer_ += "/" + escape_pointer(key);
  value.key_ = key_.empty() ? key : key_ + "." + key;
  return value;
}

SpecValue SpecValue::element(size_t index) const {
  SpecValue value = *this;
  value.json_ = &(*json_)[index];
  value.pointer_ += concat("/", index);
  value.key_ += concat("[", index, "]");
  return value;
}

std::string SpecValue::position() const { return concat(name_, ":", json_position(text_, pointer_)); }
std::string SpecValue::path() const { return concat(name_, ": ", key_); }

Status SpecValue::error(std::string_view what) const {
  // Keys come from the text: shown so that a hostile one cannot break the line.
  std::string key = quote(key_);
  key = key.substr(1, key.size() - 2);
  return invalid_argument(concat(position(), ": ", key, key.empty() ? "" : ": ", what));
}

Status SpecValue::wrong_type(std::string_view expected) const { return error(concat("must be ", expected, ", not ", type_word(*json_))); }

Status SpecValue::read_text(std::string& target) const {
  if (!json_->is_string()) return wrong_type("a text");
  target = json_->get<std::string>();
  return {};
}

Status SpecValue::read_bool(bool& target) const {
  if (!json_->is_boolean()) return wrong_type("true or false");
  target = json_->get<bool>();
  return {};
}

Status SpecValue::read_whole(uint64_t& target, uint64_t least, uint64_t most) const {
  if (!json_->is_number()) return wrong_type("a whole number");
  const std::string range =
      most == std::numeric_limits<uint64_t>::max() ? concat("from ", least, " on") : concat("from ", least, " to ", most);
  if (!json_->is_number_unsigned()) return error(concat(json_->dump(), " is not a whole number ", range));
  const auto value = json_->get<uint64_t>();
  if (value < least || value > most) return error(concat(value, " is not a whole number ", range));
  target = value;
  return {};
}

Status SpecValue::read_bytes(uint64_t& target) const {
  if (!json_->is_string()) {
    if (!json_->is_number()) return wrong_type("a number of bytes or a text such as \"4 GiB\"");
    return read_whole(target, 0, std::numeric_limits<uint64_t>::max());
  }
  const auto text = json_->get<std::string>();
  if (!parse_bytes(text, target))
    return error(concat(quote(text), " is not a number of bytes; write one such as 4000000, \"4 MB\" or \"4 GiB\""));
  return {};
}

Status SpecValue::read_texts(std::vector<std::string>& target) const {
  if (!json_->is_array()) return wrong_type("a list of texts");
  std::vector<std::string> texts(json_->size());
  for (size_t i = 0; i < texts.size(); ++i) TENSORTAP_RETURN_IF_ERROR(element(i).read_text(texts[i]));
  target = std::move(texts);
  return {};
}

Status SpecValue::read_choice(std::span<const std::string_view> names, size_t& index) const {
  std::string text;
  if (!json_->is_string()) return wrong_type(choices_text(names));
  text = json_->get<std::string>();
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] != text) continue;
    index = i;
    return {};
  }
  return error(concat(quote(text), " is not one of ", choices_text(names)));
}

}  // namespace tensortap
