// Small text tools for the capture half, which uses no iostreams and no fmt.

#ifndef TENSORTAP_BASE_TEXT_H_
#define TENSORTAP_BASE_TEXT_H_

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tensortap {

// Pieces of a message: text and numbers, in order. concat("row ", 3, " of ", path).
std::string to_text(double value);  // shortest text that reads back to the same number; "nan", "inf", "-inf"
inline std::string to_text(std::string_view text) { return std::string(text); }
inline std::string to_text(const char* text) { return text; }
inline std::string to_text(char c) { return std::string(1, c); }
inline std::string to_text(bool value) { return value ? "true" : "false"; }
template <std::integral T>
std::string to_text(T value) {
  return std::to_string(value);
}

template <class... Pieces>
std::string concat(const Pieces&... pieces) {
  std::string text;
  ((text += to_text(pieces)), ...);
  return text;
}

// Splits at every `separator`; "a,,b" gives three parts, "" gives one empty part. Views into `text`.
std::vector<std::string_view> split(std::string_view text, char separator);
std::string join(std::span<const std::string> parts, std::string_view separator);
std::string_view trim(std::string_view text);
std::string to_lower(std::string_view text);  // ASCII only
bool contains_ignoring_case(std::string_view text, std::string_view part);

// Of ASCII.
constexpr bool is_letter_or_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
// Whether `text` is one or more of 0 to 9.
bool is_digits(std::string_view text);
// The whole of `text` as a number; false when it is not one or does not fit. `value` is untouched then.
bool parse_integer(std::string_view text, int64_t& value);
bool parse_unsigned(std::string_view text, uint64_t& value);
bool parse_number(std::string_view text, double& value);

// `text` in double quotes, with quotes, backslashes and what a terminal would obey (base/controls.h) escaped as in JSON. For messages and
// JSON alike.
std::string quote(std::string_view text);

// "12.3 MB": decimal units, three digits.
std::string bytes_text(uint64_t bytes);
// "4 GiB", "100MB", "123": a number with an optional unit (k, M, G, T, optionally followed by i and B). False when it is not one.
bool parse_bytes(std::string_view text, uint64_t& bytes);

// The `limit` candidates most like `name` by edit distance (and containment), best first; far ones are left out.
std::vector<std::string> nearest(std::string_view name, std::span<const std::string> candidates, size_t limit = 3);
// " Did you mean a, b or c?" or "".
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

}  // namespace tensortap

#endif  // TENSORTAP_BASE_TEXT_H_
