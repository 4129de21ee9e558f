#include "base/controls.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/utf8.h"

namespace tensortap {
namespace {

struct Range {
  uint32_t first = 0;
  uint32_t last = 0;
};
// Beyond ASCII, in order.
constexpr std::array<Range, 8> kControls = {Range{0x80, 0x9f},     Range{0x61c, 0x61c},   Range{0x200e, 0x200f},   Range{0x2028, 0x202e},
                                            Range{0x2060, 0x206f}, Range{0xfff9, 0xfffb}, Range{0xe0001, 0xe0001}, Range{0xe0020, 0xe007f}};

bool is_control(uint32_t code) {
  return std::ranges::any_of(kControls, [code](const Range& range) { return code >= range.first && code <= range.last; });
}

std::string hexadecimal_escape(const char* format, uint32_t code) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), format, static_cast<unsigned>(code));
  return text.data();
}

}  // namespace

size_t control_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return first < 0x20 || first == 0x7f ? 1 : 0;
  const size_t length = utf8_length(text);
  if (length == 0) return 1;
  return is_control(utf8_code(text.substr(0, length))) ? length : 0;
}

std::string json_escape_of(std::string_view control) {
  if (control.size() == 1 && static_cast<unsigned char>(control[0]) >= 0x80) return std::string(control);
  const uint32_t code = utf8_code(control);
  if (code < 0x10000) return hexadecimal_escape("\\u%04x", code);
  const uint32_t beyond = code - 0x10000;
  return hexadecimal_escape("\\u%04x", 0xd800 + (beyond >> 10)) + hexadecimal_escape("\\u%04x", 0xdc00 + (beyond & 0x3ff));
}

std::string visible_escape_of(std::string_view control) {
  const uint32_t code = control.size() == 1 ? static_cast<unsigned char>(control[0]) : utf8_code(control);
  return hexadecimal_escape(code < 0x100 ? "\\x%02x" : code < 0x10000 ? "\\u%04x" : "\\U%08x", code);
}

}  // namespace tensortap
