#include "system/ascend/tree/file_names.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/controls.h"
#include "base/text.h"

namespace tensortap::ascend {
namespace {

constexpr size_t kMostNumberDigits = 20;
constexpr size_t kTimeFolderDigits = 14;
constexpr size_t kExceptionDigits = 17;
constexpr size_t kEpochDigits = 16;

bool take_number(std::string_view text, uint64_t& value) { return is_whole_number(text) && parse_unsigned(text, value); }

// Takes the last field of `text` where it is a number, and the text is more than that.
bool take_last_number(std::string_view& text, uint64_t& value, size_t& digits) {
  const size_t dot = text.rfind('.');
  if (dot == std::string_view::npos || !take_number(text.substr(dot + 1), value)) return false;
  digits = text.size() - dot - 1;
  text = text.substr(0, dot);
  return true;
}

// The numbers at the end of a name, from the right, and what stands before them.
struct Tail {
  std::string_view head;
  std::array<uint64_t, 7> numbers{};  // from the right
  std::array<size_t, 7> digits{};
  size_t count = 0;
};

Tail split_tail(std::string_view name) {
  Tail tail{name, {}, {}, 0};
  while (tail.count < tail.numbers.size() && take_last_number(tail.head, tail.numbers[tail.count], tail.digits[tail.count])) ++tail.count;
  return tail;
}

// TYPE and NAME in front of the numbers. Names that were not cleaned may hold dots.
bool set_head(std::string_view head, FileName& fields) {
  const size_t dot = head.find('.');
  if (dot == std::string_view::npos || dot == 0 || dot + 1 == head.size()) return false;
  fields.type = head.substr(0, dot);
  fields.name = head.substr(dot + 1);
  return true;
}

// ".FFTSPLUS.context.thread.device", which streams that were recorded once have behind the time.
std::string_view without_slice_words(std::string_view name) {
  constexpr std::string_view kWord = ".FFTSPLUS.";
  const size_t at = name.rfind(kWord);
  return at == std::string_view::npos ? name : name.substr(0, at);
}

std::optional<FileName> parse_exception(const Tail& tail, std::string_view name) {
  FileName fields;
  fields.exception = true;
  fields.time = tail.numbers[0];
  if (name.starts_with(kExceptionName) && tail.count == 3 && tail.head == kExceptionName) {
    fields.type = fields.name = tail.head;
    fields.stream = tail.numbers[2];
    fields.task = tail.numbers[1];
    return fields;
  }
  if (tail.count < 2 || tail.digits[0] != kExceptionDigits) return std::nullopt;
  fields.task = tail.numbers[1];
  const size_t end = name.size() - tail.digits[0] - tail.digits[1] - 2;
  return set_head(name.substr(0, end), fields) ? std::optional(fields) : std::nullopt;
}

}  // namespace

std::string clean_name(std::string_view text) {
  std::string name = replace_controls(text, [](std::string_view) { return "_"; });
  std::ranges::replace_if(
      name, [](char c) { return c == ' ' || c == '.' || c == '/' || c == '\\'; }, '_');
  return name.empty() ? "_" : name;
}

std::string portable_name(std::string_view text) {
  std::string name = clean_name(text);
  std::ranges::replace_if(
      name,
      [](char c) {
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        return !letter && (c < '0' || c > '9') && c != '_' && c != '-';
      },
      '_');
  return name;
}

std::optional<FileName> parse_file_name(std::string_view file_name) {
  if (file_name.find('/') != std::string_view::npos) return std::nullopt;
  const bool statistic = file_name.ends_with(kStatisticSuffix);
  if (statistic) file_name.remove_suffix(kStatisticSuffix.size());
  file_name = without_slice_words(file_name);
  Tail tail = split_tail(file_name);
  // The time is the first number from the right that is long enough for one; what is behind it numbers slices. Small devices have short
  // times.
  size_t time = 0;
  while (time < tail.count && tail.digits[time] < kEpochDigits) ++time;
  if (time == tail.count) time = 0;
  const bool is_date = tail.count > 0 && tail.digits[time] == kExceptionDigits;
  if (is_date || tail.head == kExceptionName) {
    std::optional<FileName> fields = time == 0 ? parse_exception(tail, file_name) : std::nullopt;
    if (fields) fields->statistic = statistic;
    return fields;
  }
  if (tail.count < time + 3) return std::nullopt;
  FileName fields;
  fields.statistic = statistic;
  fields.time = tail.numbers[time];
  fields.stream = tail.numbers[time + 1];
  fields.task = tail.numbers[time + 2];
  // Numbers left of these belong to the name, except for the one that counts dumps of recorded streams, which stands behind a dot as well:
  // a cleaned name has none.
  size_t end = file_name.size();
  for (size_t i = 0; i < time + 3; ++i) end -= tail.digits[i] + 1;
  if (!set_head(file_name.substr(0, end), fields)) return std::nullopt;
  const size_t dot = fields.name.find('.');
  if (dot != std::string_view::npos && dot > 0 && is_whole_number(fields.name.substr(dot + 1))) fields.name = fields.name.substr(0, dot);
  return fields;
}

bool is_hashed_name(std::string_view file_name) { return is_whole_number(file_name) && file_name.size() > kTimeFolderDigits / 2; }

bool is_whole_number(std::string_view text) {
  return !text.empty() && text.size() <= kMostNumberDigits && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace tensortap::ascend
