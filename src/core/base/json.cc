#include "base/json.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/controls.h"
#include "base/text.h"

namespace tensortap {
namespace {

std::string line_and_column(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, offset);
  size_t line = 1;
  size_t begin = 0;
  for (size_t at = before.find('\n'); at != std::string_view::npos; at = before.find('\n', at + 1)) {
    ++line;
    begin = at + 1;
  }
  return concat(line, ":", before.size() - begin + 1);
}

// What all readers of JSON here share: the limit of depth, and where an error was.
class Reader : public nlohmann::json_sax<Json> {
 public:
  std::string problem;
  size_t offset = 0;  // of the character after the error, 0 = unknown

  bool binary(binary_t& /*value*/) override { return true; }
  bool parse_error(size_t position, const std::string& /*token*/, const nlohmann::detail::exception& error) override {
    offset = position;
    problem = error.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ...": the part after the position is for people.
    const size_t colon = problem.find(": ");
    if (colon != std::string::npos) problem.erase(0, colon + 2);
    return false;
  }

 protected:
  bool check_depth(size_t depth) {
    if (depth <= static_cast<size_t>(kMaxJsonDepth)) return true;
    problem = concat("nested more than ", kMaxJsonDepth, " deep");
    return false;
  }
};

// Builds the value in one pass. nlohmann's own builder accepts equal keys, and looks for each key among all before it: of an object with
// 100,000 keys that takes minutes.
class Builder : public Reader {
 public:
  explicit Builder(std::vector<std::string>* repeated) : repeated_(repeated) {}

  std::string duplicate;
  Json value;

  bool null() override { return add(Json()) != nullptr; }
  bool boolean(bool one) override { return add(one) != nullptr; }
  bool number_integer(number_integer_t one) override { return add(one) != nullptr; }
  bool number_unsigned(number_unsigned_t one) override { return add(one) != nullptr; }
  bool number_float(number_float_t one, const string_t& /*text*/) override { return add(one) != nullptr; }
  bool string(string_t& one) override { return add(std::move(one)) != nullptr; }
  bool start_object(size_t /*count*/) override { return open(Json::object()); }
  bool start_array(size_t /*count*/) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    Open& object = open_.back();
    auto& members = object.value->get_ref<Json::object_t&>();
    const size_t known = place_of(object, members, name);
    if (known == members.size()) {
      members.emplace_back(std::move(name), Json());
    } else if (repeated_ != nullptr) {
      repeated_->push_back(name);
    } else {
      problem = concat("the key ", quote(name), " occurs twice");
      duplicate = name;
      return false;
    }
    member_ = &(members.begin() + static_cast<std::ptrdiff_t>(known))->second;
    return true;
  }

 private:
  static constexpr size_t kFewKeys = 16;
  struct Open {
    Json* value;
    std::unordered_map<std::string, size_t> places;  // of its keys, once there are more than kFewKeys
  };

  // The number of the member of this name, or of the one to come.
  static size_t place_of(Open& object, const Json::object_t& members, const std::string& name) {
    if (members.size() < kFewKeys) {
      const auto found = std::ranges::find(members, name, [](const auto& member) -> const std::string& { return member.first; });
      return static_cast<size_t>(found - members.begin());
    }
    if (object.places.empty()) {
      for (const auto& [known, unused] : members) object.places.emplace(known, object.places.size());
    }
    return object.places.emplace(name, members.size()).first->second;
  }

  Json* add(Json&& one) {
    if (open_.empty()) return &(value = std::move(one));
    Json& parent = *open_.back().value;
    if (parent.is_array()) return &parent.get_ref<Json::array_t&>().emplace_back(std::move(one));
    return &(*member_ = std::move(one));
  }
  bool open(Json&& container) {
    open_.push_back({add(std::move(container)), {}});
    return check_depth(open_.size());
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::vector<std::string>* repeated_;
  std::vector<Open> open_;
  Json* member_ = nullptr;  // the value of the last key
};

// Lists the keys of the outermost object and keeps nothing else.
class KeyLister : public Reader {
 public:
  std::vector<std::string> keys;
  bool is_object = false;

  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t /*value*/) override { return true; }
  bool number_unsigned(number_unsigned_t /*value*/) override { return true; }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return true; }
  bool string(string_t& /*value*/) override { return true; }
  bool start_object(size_t /*count*/) override {
    is_object = is_object || depth_ == 0;
    return check_depth(static_cast<size_t>(++depth_));
  }
  bool start_array(size_t /*count*/) override { return check_depth(static_cast<size_t>(++depth_)); }
  bool end_object() override { return --depth_ >= 0; }
  bool end_array() override { return --depth_ >= 0; }
  bool key(string_t& name) override {
    if (depth_ == 1) keys.push_back(std::move(name));
    return true;
  }

 private:
  int depth_ = 0;
};

// Offset of the second member called `name` of one object, or of the last place where the text occurs.
size_t last_key_offset(std::string_view text, const std::string& name) {
  const size_t at = text.rfind(quote(name));
  return at == std::string_view::npos ? 0 : at;
}

// A reader of known-valid JSON text that can step over values; used to find positions.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}
  size_t at = 0;

  void skip_space() { at = std::min(text_.find_first_not_of(" \t\r\n", at), text_.size()); }
  [[nodiscard]] char peek() const { return at < text_.size() ? text_[at] : '\0'; }

  std::string string() {
    const size_t begin = at++;
    while (at < text_.size() && text_[at] != '"') at += text_[at] == '\\' ? 2 : 1;
    ++at;
    const Json value = Json::parse(text_.substr(begin, at - begin), nullptr, false);
    return value.is_string() ? value.get<std::string>() : "";
  }

  void value() {
    skip_space();
    if (peek() == '"') {
      string();
    } else if (peek() == '{' || peek() == '[') {
      container();
    } else {
      at = std::min(text_.find_first_of(",]} \t\r\n", at), text_.size());
    }
  }

 private:
  void container() {
    int depth = 0;
    do {
      if (peek() == '"') {
        string();
        continue;
      }
      if (peek() == '{' || peek() == '[') ++depth;
      if (peek() == '}' || peek() == ']') --depth;
      ++at;
    } while (depth > 0 && at < text_.size());
  }
  std::string_view text_;
};

// Moves `cursor` (at an object or array) to the member `part`; returns the offset to report, or npos.
size_t enter(Cursor& cursor, const std::string& part) {
  cursor.skip_space();
  const bool object = cursor.peek() == '{';
  if (!object && cursor.peek() != '[') return std::string_view::npos;
  ++cursor.at;
  for (size_t index = 0;; ++index) {
    cursor.skip_space();
    const size_t begin = cursor.at;
    if (cursor.peek() == '}' || cursor.peek() == ']' || cursor.peek() == '\0') return std::string_view::npos;
    std::string name = std::to_string(index);
    if (object) {
      name = cursor.string();
      cursor.skip_space();
      ++cursor.at;
      cursor.skip_space();
    }
    if (name == part) return begin;
    cursor.value();
    cursor.skip_space();
    if (cursor.peek() == ',') ++cursor.at;
  }
}

Result<Json> parse_checked(std::string_view text, std::string_view name, std::vector<std::string>* repeated) {
  // nlohmann's parser takes a zero byte for the end, whatever follows.
  const size_t zero = text.find('\0');
  if (zero != std::string_view::npos)
    return invalid_argument(concat(name, ":", line_and_column(text, zero), ": a zero byte, which no JSON text holds"));
  Builder builder(repeated);
  if (!Json::sax_parse(text, &builder)) {
    size_t offset = builder.offset > 0 ? builder.offset - 1 : 0;
    if (!builder.duplicate.empty()) offset = last_key_offset(text, builder.duplicate);
    return invalid_argument(concat(name, ":", line_and_column(text, std::min(offset, text.size())), ": ", builder.problem));
  }
  return std::move(builder.value);
}

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view name) { return parse_checked(text, name, nullptr); }

Result<Json> parse_json(std::string_view text, std::string_view name, std::vector<std::string>& repeated) {
  return parse_checked(text, name, &repeated);
}

std::optional<std::vector<std::string>> json_keys(std::string_view text) {
  KeyLister lister;
  if (text.find('\0') != std::string_view::npos || !Json::sax_parse(text, &lister) || !lister.is_object) return std::nullopt;
  return std::move(lister.keys);
}

std::string json_position(std::string_view text, std::string_view pointer) {
  Cursor cursor(text);
  size_t found = 0;
  if (pointer.starts_with('/')) pointer.remove_prefix(1);
  if (pointer.empty()) return line_and_column(text, std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  for (const std::string_view raw : split(pointer, '/')) {
    std::string part(raw);
    for (const auto& [escape, plain] : {std::pair{"~1", "/"}, std::pair{"~0", "~"}}) {
      for (size_t at = part.find(escape); at != std::string::npos; at = part.find(escape, at + 1)) part.replace(at, 2, plain);
    }
    found = enter(cursor, part);
    if (found == std::string_view::npos) return "1:1";
  }
  return line_and_column(text, found);
}

std::string to_json_text(const Json& value, int indent) {
  const std::string text = value.dump(indent, ' ', false, Json::error_handler_t::replace);
  // Line feeds of the indentation; in texts they are escaped.
  return replace_controls(text, [](std::string_view control) { return control == "\n" ? std::string(control) : json_escape_of(control); });
}

Json json_number(double value) {
  if (std::isfinite(value)) return value;
  return to_text(value);
}

}  // namespace tensortap
