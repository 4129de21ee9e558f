// UTF-8, strictly: no overlong forms, no surrogates, nothing beyond U+10FFFF.

#ifndef TENSORTAP_BASE_UTF8_H_
#define TENSORTAP_BASE_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tensortap {

// Bytes of the sequence at the beginning of `text`, which is not empty; 0 when it is not one.
size_t utf8_length(std::string_view text);
// The code point of one whole sequence.
uint32_t utf8_code(std::string_view sequence);
void append_utf8(uint32_t code, std::string& text);
// `text` with U+FFFD in the place of what is no UTF-8: one for each longest beginning of a sequence, as Python's "replace" has it.
std::string replace_broken_utf8(std::string_view text);

}  // namespace tensortap

#endif  // TENSORTAP_BASE_UTF8_H_
