// Base64 of RFC 4648, with padding.

#ifndef TENSORTAP_BASE_BASE64_H_
#define TENSORTAP_BASE_BASE64_H_

#include <cstddef>
#include <span>
#include <string>

namespace tensortap {

void append_base64(std::span<const std::byte> bytes, std::string& text);

}  // namespace tensortap

#endif  // TENSORTAP_BASE_BASE64_H_
