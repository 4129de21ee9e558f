#include "system/tap/tap_files.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/utf8.h"
#include "format/npy/npy_header.h"

namespace tensortap::tap {
namespace {

constexpr std::string_view kExtension = ".npy";
constexpr size_t kRoomForNumber = 12;  // "~2" and so on, for names that are taken

void append_encoded(char c, std::string& name) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  name += '%';
  name += kDigits[byte >> 4];
  name += kDigits[byte & 15];
}

// `part` is the part of the path that contains `c`, `name` the result so far.
bool must_encode(char c, std::string_view part, std::string_view name) {
  const auto byte = static_cast<unsigned char>(c);
  if (byte < 0x20 || byte == 0x7f || c == '\\' || c == '%') return true;
  if (c == '/') return name.empty() || name.ends_with('/');  // an empty part
  return c == '.' && (part == "." || part == "..");
}

// The op's name as a path, no longer than `limit`.
std::string encode_path(std::string_view text, size_t limit) {
  std::string name;
  if (text.starts_with('/')) text.remove_prefix(1);
  std::string_view part = text.substr(0, text.find('/'));
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    std::string piece;
    if (length == 0 || must_encode(text[0], part, name)) {
      append_encoded(text[0], piece);
    } else {
      piece = text.substr(0, length);
    }
    if (name.size() + piece.size() > limit) break;
    name += piece;
    const bool part_ends = text[0] == '/';
    text.remove_prefix(std::max<size_t>(length, 1));
    if (part_ends) part = text.substr(0, text.find('/'));
  }
  return name;
}

}  // namespace

std::string make_histograms_header(uint64_t rows) {
  const std::array<int64_t, 2> shape = {static_cast<int64_t>(rows), static_cast<int64_t>(kHistogramNumbers)};
  return make_npy_header("'<u8'", shape, {.total = kHistogramsBegin, .count_width = 16});
}

std::string make_sketches_header(uint64_t rows) {
  const std::array<int64_t, 1> shape = {static_cast<int64_t>(rows)};
  constexpr std::string_view kType =
      "[('sequence', '<u8'), ('first_channel', '<u8'), ('channels', '<u8'), ('channel_elements', '<u8'), ('axis', '<i4'), ('block', "
      "'<u4'), "
      "('bins', '<u8', (280,)), ('zero', '<u8'), ('nan', '<u8'), ('inf', '<u8'), ('nonzero', '<u8'), ('underflow', '<u8', (3,))]";
  return make_npy_header(kType, shape, {.total = kSketchesBegin, .count_width = 16});
}

std::string make_channels_header(uint64_t rows) {
  const std::array<int64_t, 1> shape = {static_cast<int64_t>(rows)};
  constexpr std::string_view kType = "[('absmax', '<f8'), ('squares', '<f8'), ('zero', '<u8'), ('nonfinite', '<u8')]";
  return make_npy_header(kType, shape, {.total = kSketchesBegin, .count_width = 16});
}

std::string member_name(const RecordRow& row, std::string_view op_name) {
  const std::string suffix = record_name(row, "") + std::string(kExtension);
  return encode_path(op_name, kLongestMemberName - kRoomForNumber - suffix.size()) + suffix;
}

}  // namespace tensortap::tap
