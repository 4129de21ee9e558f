// Writes Thrift's compact protocol: the encoding of the headers and footers of Parquet files.

#ifndef TENSORTAP_FORMAT_PARQUET_THRIFT_WRITER_H_
#define TENSORTAP_FORMAT_PARQUET_THRIFT_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tensortap::parquet {

inline void append_varint(uint64_t value, std::string& bytes) {
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  bytes += static_cast<char>(value);
}

// Fields of a structure are written in the order of their numbers. Thread-compatible.
class ThriftWriter {
 public:
  enum class Kind : uint8_t { kTrue = 1, kFalse = 2, kByte = 3, kInt16 = 4, kInt32 = 5, kInt64 = 6, kBinary = 8, kList = 9, kStruct = 12 };

  void begin_struct() { last_.push_back(0); }  // the outermost, or an element of a list
  void end_struct() {
    bytes_ += '\0';
    last_.pop_back();
  }
  void begin_struct(int field) {
    begin_field(field, Kind::kStruct);
    begin_struct();
  }
  void integer(int field, int32_t value) { number(field, Kind::kInt32, value); }
  void long_integer(int field, int64_t value) { number(field, Kind::kInt64, value); }
  void flag(int field, bool value) { begin_field(field, value ? Kind::kTrue : Kind::kFalse); }
  void byte(int field, int8_t value) {
    begin_field(field, Kind::kByte);
    bytes_ += static_cast<char>(value);
  }
  void binary(int field, std::string_view value) {
    begin_field(field, Kind::kBinary);
    element(value);
  }
  // `count` elements of this type follow.
  void begin_list(int field, Kind kind, size_t count) {
    begin_field(field, Kind::kList);
    const auto low = static_cast<uint8_t>(kind);
    if (count < 15) {
      bytes_ += static_cast<char>(count << 4 | low);
    } else {
      bytes_ += static_cast<char>(0xf0 | low);
      append_varint(count, bytes_);
    }
  }
  void element(std::string_view value) {
    append_varint(value.size(), bytes_);
    bytes_ += value;
  }
  void element(int32_t value) { append_varint(zigzag(value), bytes_); }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  static uint64_t zigzag(int64_t value) { return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63); }
  void number(int field, Kind kind, int64_t value) {
    begin_field(field, kind);
    append_varint(zigzag(value), bytes_);
  }
  void begin_field(int field, Kind kind) {
    const int step = field - last_.back();
    last_.back() = field;
    if (step > 0 && step < 16) {
      bytes_ += static_cast<char>(step << 4 | static_cast<int>(kind));
    } else {
      bytes_ += static_cast<char>(kind);
      append_varint(zigzag(field), bytes_);
    }
  }

  std::string bytes_;
  std::vector<int> last_;  // field of each open structure
};

}  // namespace tensortap::parquet

#endif  // TENSORTAP_FORMAT_PARQUET_THRIFT_WRITER_H_
