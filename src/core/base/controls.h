// Characters of a text that a terminal obeys instead of showing them, or that change how their neighbours are shown.

#ifndef TENSORTAP_BASE_CONTROLS_H_
#define TENSORTAP_BASE_CONTROLS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tensortap {

// Bytes of the control at the beginning of `text`, which is not empty; 0 when it begins with a character to be shown. Controls are the
// control characters (C0, DEL, C1), the marks and embeddings of direction (U+061C, U+200E, U+202E, U+2066 and their like), line and
// paragraph separators, annotations and tags, and a byte that is no UTF-8: an old terminal may take it for C1.
size_t control_length(std::string_view text);

// `text` with `replace(bytes)` in the place of each control.
template <class Replace>
std::string replace_controls(std::string_view text, Replace&& replace) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    size_t plain = 0;
    while (plain < text.size() && text[plain] >= 0x20 && text[plain] < 0x7f) ++plain;
    result += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const size_t control = control_length(text);
    if (control > 0) {
      result += replace(text.substr(0, control));
    } else {
      result += text[0];
    }
    text.remove_prefix(control > 0 ? control : 1);
    // The other bytes of a character that is shown.
    while (control == 0 && !text.empty() && (static_cast<unsigned char>(text[0]) & 0xc0U) == 0x80U) {
      result += text[0];
      text.remove_prefix(1);
    }
  }
  return result;
}

// A control as a JSON string has it ("\u202e"); a byte that is no UTF-8 stays.
std::string json_escape_of(std::string_view control);
// A control as people see what it is: "\x1b" for one byte and for C1, "\u202e" for others.
std::string visible_escape_of(std::string_view control);

}  // namespace tensortap

#endif  // TENSORTAP_BASE_CONTROLS_H_
