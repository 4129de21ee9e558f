#include "system/torchair/tree/file_name.h"

#include <ctime>
#include <limits>

#include "base/text.h"

namespace tensortap::torchair {
namespace {

constexpr std::string_view kExtension = ".npy";
constexpr size_t kTimeDigits = 20;  // YYYYmmddHHMMSS and microseconds

// Takes the field behind the last dot off `text`; "" when there is no dot.
std::string_view take_last(std::string_view& text) {
  const size_t dot = text.rfind('.');
  if (dot == std::string_view::npos) return "";
  const std::string_view field = text.substr(dot + 1);
  text = text.substr(0, dot);
  return field;
}

bool is_number_up_to(std::string_view text, uint64_t most, uint64_t& number) { return parse_unsigned(text, number) && number <= most; }

bool parse_time(std::string_view text, int64_t& time_us) {
  if (text.size() != kTimeDigits) return false;
  const auto part = [&](size_t at, size_t count, int from, int to, int& value) {
    uint64_t number = 0;
    if (!is_number_up_to(text.substr(at, count), static_cast<uint64_t>(to), number)) return false;
    value = static_cast<int>(number);
    return value >= from;
  };
  std::tm moment{};
  int microseconds = 0;
  const bool read = part(0, 4, 1970, 9999, moment.tm_year) && part(4, 2, 1, 12, moment.tm_mon) && part(6, 2, 1, 31, moment.tm_mday) &&
                    part(8, 2, 0, 23, moment.tm_hour) && part(10, 2, 0, 59, moment.tm_min) && part(12, 2, 0, 60, moment.tm_sec) &&
                    part(14, 6, 0, 999999, microseconds);
  if (!read) return false;
  moment.tm_year -= 1900;
  moment.tm_mon -= 1;
  time_us = int64_t{timegm(&moment)} * 1000000 + microseconds;
  return true;
}

// "INPUT.I[.J]" or "OUTPUT.I[.J]" at the end of `text`.
bool take_slot(std::string_view& text, FileName& fields) {
  uint64_t numbers[2] = {};
  size_t count = 0;
  for (;;) {
    const std::string_view field = take_last(text);
    if (field == "INPUT" || field == "OUTPUT") {
      fields.is_input = field == "INPUT";
      break;
    }
    if (count == 2 || !is_number_up_to(field, std::numeric_limits<uint16_t>::max(), numbers[count])) return false;
    ++count;
  }
  if (count == 0) return false;
  fields.slot = static_cast<uint16_t>(numbers[count - 1]);
  fields.element = count == 2 ? static_cast<int64_t>(numbers[0]) : -1;
  return true;
}

}  // namespace

std::optional<FileName> parse_file_name(std::string_view name) {
  if (!name.ends_with(kExtension)) return std::nullopt;
  name.remove_suffix(kExtension.size());
  FileName fields;
  if (!parse_time(take_last(name), fields.time_us) || !take_slot(name, fields)) return std::nullopt;
  const size_t dash = name.find('-');
  if (dash == std::string_view::npos || dash == 0 || dash + 1 == name.size()) return std::nullopt;
  fields.node = name.substr(0, dash);
  fields.target = name.substr(dash + 1);
  return fields;
}

Target parse_target(std::string_view target) {
  const size_t first = target.find('.');
  if (first == std::string_view::npos) return {"", target, ""};
  Target parts{target.substr(0, first), target.substr(first + 1), ""};
  const size_t second = parts.name.find('.');
  if (second == std::string_view::npos) return parts;
  parts.overload = parts.name.substr(second + 1);
  parts.name = parts.name.substr(0, second);
  return parts;
}

}  // namespace tensortap::torchair
