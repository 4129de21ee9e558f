// Numbers of the ZIP format (APPNOTE 6.3.9) that reader and writer share. Private to them.

#ifndef TENSORTAP_FORMAT_NPZ_ZIP_HEADERS_H_
#define TENSORTAP_FORMAT_NPZ_ZIP_HEADERS_H_

#include <cstdint>

namespace tensortap {

inline constexpr uint32_t kLocalSignature = 0x04034b50;
inline constexpr uint32_t kCentralSignature = 0x02014b50;
inline constexpr uint32_t kEndSignature = 0x06054b50;
inline constexpr uint32_t kEnd64Signature = 0x06064b50;
inline constexpr uint32_t kLocator64Signature = 0x07064b50;
inline constexpr uint64_t kLocalFixed = 30;
inline constexpr uint64_t kCentralFixed = 46;
inline constexpr uint16_t kExtra64 = 0x0001;
inline constexpr uint32_t kLimit32 = 0xffffffff;
inline constexpr uint16_t kLimit16 = 0xffff;

}  // namespace tensortap

#endif  // TENSORTAP_FORMAT_NPZ_ZIP_HEADERS_H_
