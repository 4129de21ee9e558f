#include "system/mindspore/tensor_name.h"

#include <array>
#include <charconv>

#include "base/text.h"
#include "base/utf8.h"

namespace tensortap::mindspore {
namespace {

constexpr std::string_view kSuffix = ".npy";
constexpr std::string_view kInput = "input";
constexpr std::string_view kOutput = "output";

bool take_last_number(std::string_view& text, uint64_t& number) {
  std::string_view field;
  // Nothing that would be written otherwise again, such as "007".
  return take_last_field(text, field) && parse_unsigned(field, number) && (field.size() == 1 || field[0] != '0');
}

bool is_io(std::string_view field) { return field == kInput || field == kOutput; }

// The text with every byte of `replaced`, every control character and what is no UTF-8 written "_".
std::string replace_bytes(std::string_view text, std::string_view replaced) {
  std::string cleaned;
  cleaned.reserve(text.size());
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const char first = text[0];
    if (length == 0 || static_cast<unsigned char>(first) < 0x20 || first == 0x7f || replaced.find(first) != std::string_view::npos) {
      cleaned += '_';
    } else {
      cleaned += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return cleaned;
}

std::string last_part(std::string_view full_name) {
  const size_t slash = full_name.rfind('/');
  return std::string(slash == std::string_view::npos ? full_name : full_name.substr(slash + 1));
}

std::string slashes_as_dashes(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c == '/') {
      text += "--";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

bool take_last_field(std::string_view& text, std::string_view& field) {
  const size_t dot = text.rfind('.');
  if (dot == std::string_view::npos) return false;
  field = text.substr(dot + 1);
  text = text.substr(0, dot);
  return true;
}

bool parse_tensor_name(std::string_view file_name, MindsporeTensorName& name) {
  if (!file_name.ends_with(kSuffix)) return false;
  std::string_view rest = file_name.substr(0, file_name.size() - kSuffix.size());
  MindsporeTensorName parsed;
  std::array<std::string_view, 4> last;
  for (std::string_view& field : last) {
    if (!take_last_field(rest, field)) return false;
  }
  std::string_view io;
  std::string_view slot;
  if (is_io(last[3])) {
    parsed.dtype = last[0];
    parsed.format = last[1];
    slot = last[2];
    io = last[3];
  } else if (is_io(last[2])) {
    parsed.format = last[0];
    slot = last[1];
    io = last[2];
    rest = file_name.substr(0, rest.size() + 1 + last[3].size());
  } else {
    return false;
  }
  parsed.is_input = io == kInput;
  if (!parse_unsigned(slot, parsed.slot)) return false;
  if (!take_last_number(rest, parsed.time_us) || !take_last_number(rest, parsed.stream) || !take_last_number(rest, parsed.task))
    return false;
  const size_t dot = rest.find('.');
  if (dot == std::string_view::npos || dot == 0) return false;
  parsed.op_type = rest.substr(0, dot);
  parsed.op_name = rest.substr(dot + 1);
  name = parsed;
  return true;
}

void append_decimal(uint64_t number, std::string& text) {
  std::array<char, 20> digits{};
  const std::to_chars_result end = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  text.append(digits.data(), end.ptr);
}

void append_tensor_name(const MindsporeTensorName& name, std::string& text) {
  text += name.op_type;
  text += '.';
  text += name.op_name;
  for (const uint64_t number : {name.task, name.stream, name.time_us}) {
    text += '.';
    append_decimal(number, text);
  }
  text += name.is_input ? ".input." : ".output.";
  append_decimal(name.slot, text);
  text += '.';
  text += name.format;
  if (!name.dtype.empty()) {
    text += '.';
    text += name.dtype;
  }
  text += kSuffix;
}

std::string clean_op_name(const TreeRules& rules, std::string_view full_name, bool is_parameter) {
  // A comma or a quotation mark would end a cell of statistic.csv and mapping.csv; the real system never has one there.
  if (rules.full_scope) return replace_bytes(full_name, "/\\. ,\"");
  return replace_bytes(is_parameter ? slashes_as_dashes(full_name) : last_part(full_name), "/\\ ,\"");
}

std::string clean_op_type(std::string_view type) {
  std::string cleaned = replace_bytes(type, "/\\. ,\"");
  return cleaned.empty() ? "_" : cleaned;
}

std::string clean_cell(std::string_view text) { return replace_bytes(text, ",\""); }

}  // namespace tensortap::mindspore
