#include "system/mindspore/name_parse.h"

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "system/mindspore/tensor_name.h"

namespace tensortap::mindspore {
namespace {

constexpr size_t kMostDigits = 19;
constexpr std::string_view kNumberMark = "-op";

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

}  // namespace

std::optional<TensorFileName> parse_tensor_file_name(std::string_view file_name) {
  constexpr std::string_view kExtension = ".npy";
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

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= kMostDigits && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<int32_t> parse_rank_folder(std::string_view name) {
  constexpr std::string_view kPrefix = "rank_";
  uint64_t rank = 0;
  if (!name.starts_with(kPrefix) || !read_number(name.substr(kPrefix.size()), std::numeric_limits<int32_t>::max(), rank)) {
    return std::nullopt;
  }
  return static_cast<int32_t>(rank);
}

bool is_time_folder(std::string_view name) {
  constexpr size_t kDigits = 14;
  return name.size() == kDigits && is_number(name) && (name.starts_with("20") || name.starts_with("19"));
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

}  // namespace tensortap::mindspore
