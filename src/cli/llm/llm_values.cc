#include "cli/llm/llm_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <vector>

#include "base/text.h"

namespace tensortap::cli::llm_values {
namespace {

constexpr std::string_view kHarmless = "_\"'><=[])(,}{: /.~-";
constexpr std::array<std::string_view, 8> kTypes = {"model", "layer", "op", "kernel", "tensor", "cpu_profiling", "onnx", "stats"};
constexpr std::array<std::string_view, 6> kLevelValues = {"debug", "info", "warning", "error", "fatal", "critical"};

// As int() of Python reads it: blanks around, a sign.
bool read_whole(std::string_view text, int64_t& number) {
  text = trim(text);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  return parse_integer(text, number);
}

Status check_whole(std::string& value, int64_t least, int64_t most) {
  int64_t number = 0;
  if (!read_whole(value, number)) return invalid_argument(fmt::format("invalid int value: {}", shown(value)));
  if (number < least || number > most) return invalid_argument(fmt::format("{} is an invalid int value", value));
  value = to_text(number);
  return {};
}

Status check_word(const std::string& value, std::span<const std::string_view> words) {
  if (std::ranges::find(words, value) != words.end()) return {};
  std::vector<std::string> all;
  for (const std::string_view word : words) all.push_back(shown(word));
  return invalid_argument(fmt::format("invalid choice: {} (choose from {})", shown(value), join(all, ", ")));
}

}  // namespace

std::string shown(std::string_view text) {
  const char mark = text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string result(1, mark);
  for (const char c : text) {
    if (c == mark || c == '\\') result += '\\';
    result += c;
  }
  return result + mark;
}

Status check_ids(std::string& value) {
  if (value.empty()) return {};
  for (const std::string_view id : split(value, ',')) {
    const std::vector<std::string_view> parts = split(id, '_');
    if (!std::ranges::all_of(parts, is_digits))
      return invalid_argument(fmt::format("dym range string \"{}\" is not a legal string", value));
  }
  return {};
}

Status check_rounds(std::string& value) {
  for (const std::string_view piece : split(value, ',')) {
    int64_t number = 0;
    if (!piece.empty() && !is_digits(piece)) return invalid_argument(fmt::format("output size \"{}\" is not a legal number", value));
    if (!piece.empty() && !parse_integer(piece, number)) {
      return invalid_argument(fmt::format("output size \"{}\" is not a legal number: {} is too large", value, piece));
    }
  }
  return {};
}

Status check_yes(std::string& value) {
  const std::string word = to_lower(value);
  for (const std::string_view yes : {"yes", "true", "t", "y", "1"}) {
    if (word == yes) {
      value = "true";
      return {};
    }
  }
  for (const std::string_view no : {"no", "false", "f", "n", "0"}) {
    if (word == no) {
      value = "false";
      return {};
    }
  }
  return invalid_argument("Boolean value expected true, 1, false, 0 with case insensitive.");
}

Status check_time(std::string& value) { return check_whole(value, 0, 3); }
Status check_part(std::string& value) { return check_whole(value, 0, 2); }
Status check_device(std::string& value) { return check_whole(value, 0, std::numeric_limits<int32_t>::max()); }
Status check_type(std::string& value) { return check_word(value, kTypes); }
Status check_log_level(std::string& value) { return check_word(value, kLevelValues); }

Status check_safe(std::string& value) {
  const auto wrong =
      std::ranges::find_if_not(value, [](char c) { return is_letter_or_digit(c) || kHarmless.find(c) != std::string_view::npos; });
  return wrong == value.end() ? Status() : invalid_argument(fmt::format("invalid safe_string value: {}", shown(value)));
}

Status check_seed(std::string& value) {
  constexpr int64_t kMost = 4'294'967'295;
  int64_t number = 0;
  if (!read_whole(value, number)) return invalid_argument(fmt::format("{} can not convert to int.", value));
  if (number < 0 || number > kMost)
    return invalid_argument(fmt::format("{} is no seed: Python takes whole numbers from 0 to {} (PYTHONHASHSEED)", value, kMost));
  value = to_text(number);
  return {};
}

}  // namespace tensortap::cli::llm_values
