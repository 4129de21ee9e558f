#include "base/utf8.h"

#include <algorithm>

namespace tensortap {
namespace {

// Bytes of the longest beginning of a sequence at the beginning of `text`, which is not a whole one; at least 1.
size_t broken_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const size_t whole = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  for (size_t length = std::min(whole - 1, text.size()); length > 1; --length) {
    std::string completed(text.substr(0, length));
    completed.append(whole - length, '\x80');
    if (utf8_length(completed) != 0) return length;
  }
  return 1;
}

}  // namespace

size_t utf8_length(std::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool beyond = (first == 0xed && byte(1) > 0x9f) || (first == 0xf4 && byte(1) > 0x8f);
  return overlong || beyond ? 0 : length;
}

uint32_t utf8_code(std::string_view sequence) {
  const auto first = static_cast<unsigned char>(sequence[0]);
  uint32_t code = sequence.size() == 1 ? first : first & (0xffU >> (sequence.size() + 1));
  for (const char c : sequence.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3fU);
  return code;
}

void append_utf8(uint32_t code, std::string& text) {
  const auto tail = [&text, code](int shift) { text += static_cast<char>(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    text += static_cast<char>(0xe0 | code >> 12);
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xf0 | code >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

std::string replace_broken_utf8(std::string_view text) {
  std::string whole;
  whole.reserve(text.size());
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const size_t taken = length != 0 ? length : broken_length(text);
    if (length != 0) {
      whole.append(text.substr(0, length));
    } else {
      append_utf8(0xfffd, whole);
    }
    text.remove_prefix(taken);
  }
  return whole;
}

}  // namespace tensortap
