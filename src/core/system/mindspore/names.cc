#include "system/mindspore/names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "base/text.h"
#include "base/utf8.h"

namespace tensortap::mindspore {
namespace {

constexpr std::string_view kExtension = ".npy";
constexpr size_t kMostDigits = 19;
constexpr std::string_view kNumberMark = "-op";

// Takes the field behind the last dot off `text`. False when there is no dot.
bool take_last_field(std::string_view& text, std::string_view& field) {
  const size_t dot = text.rfind('.');
  if (dot == std::string_view::npos) return false;
  field = text.substr(dot + 1);
  text = text.substr(0, dot);
  return true;
}

bool read_number(std::string_view text, uint64_t most, uint64_t& value) {
  return is_number(text) && parse_unsigned(text, value) && value <= most;
}

// input|output, its slot, the format and perhaps the dtype.
bool take_slot(std::string_view& text, TensorFileName& fields) {
  std::string_view last;
  std::string_view middle;
  std::string_view direction;
  if (!take_last_field(text, last) || !take_last_field(text, middle)) return false;
  const auto is_direction = [](std::string_view word) { return word == "input" || word == "output"; };
  std::string_view rest = text;
  if (is_number(middle) && take_last_field(rest, direction) && is_direction(direction)) {
    fields.format = last;
  } else {
    fields.dtype = last;
    fields.format = middle;
    rest = text;
    if (!take_last_field(rest, middle) || !take_last_field(rest, direction) || !is_direction(direction)) return false;
  }
  uint64_t slot = 0;
  if (!read_number(middle, std::numeric_limits<uint16_t>::max(), slot)) return false;
  fields.slot = static_cast<uint32_t>(slot);
  fields.is_input = direction == "input";
  text = rest;
  return true;
}

// TASK.STREAM.TIME, and what is left of them.
bool take_run(std::string_view& text, TensorFileName& fields) {
  std::string_view time;
  if (!take_last_field(text, time) || !take_last_field(text, fields.stream) || !take_last_field(text, fields.task)) return false;
  if (!read_number(time, std::numeric_limits<int64_t>::max(), fields.time) || !is_number(fields.stream) || !is_number(fields.task)) {
    return false;
  }
  const size_t dot = text.find('.');
  if (dot == 0 || dot == std::string_view::npos || dot + 1 == text.size()) return false;
  fields.stem = text;
  fields.type = text.substr(0, dot);
  fields.name = text.substr(dot + 1);
  return true;
}

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

}  // namespace

std::optional<TensorFileName> parse_tensor_file_name(std::string_view file_name) {
  if (!file_name.ends_with(kExtension) || file_name.find('/') != std::string_view::npos) return std::nullopt;
  file_name.remove_suffix(kExtension.size());
  TensorFileName fields;
  if (!take_slot(file_name, fields) || !take_run(file_name, fields)) return std::nullopt;
  return fields;
}

bool is_dump_data_name(std::string_view file_name) {
  TensorFileName fields;
  return take_run(file_name, fields);
}

bool is_overflow_name(std::string_view file_name) { return file_name.starts_with("Opdebug.") && file_name.ends_with(".json"); }

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= kMostDigits && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::string clean_name(std::string_view full_name) {
  std::string name(full_name);
  std::ranges::replace_if(
      name, [](char c) { return c == '/' || c == '\\' || c == '.' || c == ' '; }, '_');
  return name;
}

std::string strip_scope(std::string_view full_name) { return std::string(full_name.substr(full_name.rfind('/') + 1)); }

std::string dash_scope(std::string_view full_name) {
  std::string name;
  for (const char c : full_name) c == '/' ? name += "--" : name += c;
  return name;
}

NumberedName split_op_number(std::string_view name) {
  const size_t mark = name.rfind(kNumberMark);
  if (mark == std::string_view::npos || !is_number(name.substr(mark + kNumberMark.size()))) return {name, {}};
  return {name.substr(0, mark), name.substr(mark + kNumberMark.size())};
}

uint64_t op_number(std::string_view name) {
  uint64_t number = 0;
  return parse_unsigned(split_op_number(name).number, number) ? number : 0;
}

void append_decimal(uint64_t number, std::string& text) {
  std::array<char, 20> digits{};
  const std::to_chars_result end = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  text.append(digits.data(), end.ptr);
}

void append_tensor_name(const TensorName& name, std::string& text) {
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
  text += kExtension;
}

std::string clean_op_name(const TreeRules& rules, std::string_view full_name, bool is_parameter) {
  // A comma or a quotation mark would end a cell of statistic.csv and mapping.csv; the real system never has one there.
  const std::string cleaned = rules.full_scope ? replace_bytes(full_name, "/\\. ,\"")
                                               : replace_bytes(is_parameter ? dash_scope(full_name) : strip_scope(full_name), "/\\ ,\"");
  return cleaned.empty() ? "_" : cleaned;
}

std::string clean_op_type(std::string_view type) {
  std::string cleaned = replace_bytes(type, "/\\. ,\"");
  return cleaned.empty() ? "_" : cleaned;
}

std::string clean_cell(std::string_view text) { return replace_bytes(text, ",\""); }

}  // namespace tensortap::mindspore
