#include "base/base64.h"

#include <cstdint>
#include <string_view>

namespace tensortap {

void append_base64(std::span<const std::byte> bytes, std::string& text) {
  constexpr std::string_view kSigns = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  text.reserve(text.size() + (bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](size_t at) { return at < bytes.size() ? static_cast<uint32_t>(bytes[at]) : 0U; };
    const uint32_t three = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    text += kSigns[three >> 18 & 63];
    text += kSigns[three >> 12 & 63];
    text += i + 1 < bytes.size() ? kSigns[three >> 6 & 63] : '=';
    text += i + 2 < bytes.size() ? kSigns[three & 63] : '=';
  }
}

}  // namespace tensortap
