#include "format/npy/npy_header.h"

#include <algorithm>
#include <cstring>

#include "base/spans.h"
#include "base/text.h"

namespace tensortap {
namespace {

constexpr size_t kVersion1Prefix = 10;
constexpr size_t kVersion2Prefix = kNpyPrefix;
constexpr uint64_t kLongestHeader = uint64_t{1} << 20;

Status bad_header(std::string_view what) { return corrupt(concat("npy header: ", what)); }

// Reads the Python literal that a header is: {'descr': ..., 'fortran_order': False, 'shape': (2, 3), }.
class LiteralReader {
 public:
  explicit LiteralReader(std::string_view text) : text_(text) {}

  Status read(NpyHeader& header) {
    bool descr = false;
    bool order = false;
    bool shape = false;
    if (!take('{')) return bad_header("does not begin with '{'");
    while (!take('}')) {
      std::string key;
      TENSORTAP_RETURN_IF_ERROR(read_string(key));
      if (!take(':')) return bad_header("a key without a value");
      bool& seen = key == "descr" ? descr : key == "fortran_order" ? order : shape;
      if ((key != "descr" && key != "fortran_order" && key != "shape") || seen) return bad_header(concat("the key ", quote(key)));
      seen = true;
      TENSORTAP_RETURN_IF_ERROR(key == "descr" ? read_descr(header) : key == "shape" ? read_shape(header.shape) : read_order(header));
      if (!take(',') && peek() != '}') return bad_header("',' or '}' is missing");
    }
    if (peek() != '\0') return bad_header("text after '}'");
    if (!descr || !order || !shape) return bad_header("descr, fortran_order or shape is missing");
    return {};
  }

 private:
  char peek() {
    at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool take(char c) {
    if (peek() != c || c == '\0') return false;
    ++at_;
    return true;
  }

  bool take_word(std::string_view word) {
    peek();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  Status read_string(std::string& value) {
    const char mark = peek();
    if (mark != '\'' && mark != '"') return bad_header("a text in quotes is missing");
    value.clear();
    for (++at_; at_ < text_.size() && text_[at_] != mark; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      value += text_[at_];
    }
    if (!take(mark)) return bad_header("a text without an end");
    return {};
  }

  Status read_count(int64_t& value) {
    peek();
    const size_t end = std::min(text_.find_first_not_of("0123456789", at_), text_.size());
    if (!parse_integer(text_.substr(at_, end - at_), value)) return bad_header("a dimension is not a number from 0");
    at_ = end;
    take('L');  // Python 2 wrote long integers so
    return {};
  }

  Status read_shape(std::vector<int64_t>& shape) {
    if (!take('(')) return bad_header("the shape is not a tuple");
    while (!take(')')) {
      int64_t dimension = 0;
      TENSORTAP_RETURN_IF_ERROR(read_count(dimension));
      shape.push_back(dimension);
      if (!take(',') && peek() != ')') return bad_header("the shape is not a tuple");
    }
    return {};
  }

  Status read_order(NpyHeader& header) {
    header.fortran_order = take_word("True");
    if (!header.fortran_order && !take_word("False")) return bad_header("fortran_order is neither True nor False");
    return {};
  }

  Status read_descr(NpyHeader& header) {
    if (!take('[')) return read_string(header.descr);
    while (!take(']')) {
      NpyField field;
      TENSORTAP_RETURN_IF_ERROR(read_field(field));
      header.fields.push_back(std::move(field));
      if (!take(',') && peek() != ']') return bad_header("the list of fields has no end");
    }
    if (header.fields.empty()) return unsupported("npy: a structured dtype without fields");
    return {};
  }

  Status read_field(NpyField& field) {
    if (!take('(')) return bad_header("a field is not a tuple");
    if (peek() == '(' || peek() == '[') return unsupported("npy: structured dtypes with titles are not read");
    TENSORTAP_RETURN_IF_ERROR(read_string(field.name));
    if (!take(',')) return bad_header("a field without a type");
    if (peek() == '[') return unsupported("npy: nested structured dtypes are not read");
    TENSORTAP_RETURN_IF_ERROR(read_string(field.descr));
    if (take(',') && peek() == '(') {
      std::vector<int64_t> shape;
      TENSORTAP_RETURN_IF_ERROR(read_shape(shape));
      for (const int64_t dimension : shape) {
        if (__builtin_mul_overflow(field.count, static_cast<uint64_t>(dimension), &field.count))
          return bad_header("a field's shape overflows");
      }
      take(',');
    }
    if (!take(')')) return bad_header("a field is not a tuple");
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
};

uint64_t little_endian(std::span<const std::byte> bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

std::string header_dictionary(std::string_view descr, std::span<const int64_t> shape, int count_width) {
  std::string text = concat("{'descr': ", descr, ", 'fortran_order': False, 'shape': (");
  for (size_t i = 0; i < shape.size(); ++i) {
    const std::string number = to_text(shape[i]);
    if (i > 0) text += ' ';
    const auto width = static_cast<size_t>(count_width);
    if (number.size() < width) text.append(width - number.size(), ' ');
    text += number;
    if (shape.size() == 1 || i + 1 < shape.size()) text += ',';
  }
  return text + "), }";
}

}  // namespace

bool is_npy(std::span<const std::byte> head) {
  return head.size() >= kNpyMagic.size() && std::memcmp(head.data(), kNpyMagic.data(), kNpyMagic.size()) == 0;
}

Result<uint64_t> npy_header_bytes(std::span<const std::byte> head) {
  if (!is_npy(head)) return corrupt("not an npy file: it does not begin with \\x93NUMPY");
  if (head.size() < kVersion1Prefix) return bad_header("the file ends within it");
  const auto version = static_cast<int>(head[6]);
  if (version < 1 || version > 3 || head[7] != std::byte{0}) {
    return unsupported(concat("npy version ", version, ".", static_cast<int>(head[7]), " is not read; 1.0, 2.0 and 3.0 are"));
  }
  const size_t prefix = version == 1 ? kVersion1Prefix : kVersion2Prefix;
  const auto length_bytes = part_of(head, 8, prefix - 8);
  if (!length_bytes) return bad_header("the file ends within it");
  const uint64_t length = little_endian(*length_bytes);
  return length > kLongestHeader ? Result<uint64_t>(bad_header("longer than a MiB")) : prefix + length;
}

Result<NpyHeader> parse_npy_header(std::span<const std::byte> bytes) {
  TENSORTAP_ASSIGN_OR_RETURN(const uint64_t size, npy_header_bytes(bytes));
  const auto whole = part_of(bytes, 0, size);
  if (!whole) return bad_header("the file ends within it");
  const auto literal = after(*whole, bytes[6] == std::byte{1} ? kVersion1Prefix : kVersion2Prefix);
  const std::string_view text(reinterpret_cast<const char*>(literal.data()), literal.size());
  if (text.find('\0') != std::string_view::npos) return bad_header("has a zero byte");
  NpyHeader header;
  header.data_begin = size;
  TENSORTAP_RETURN_IF_ERROR(LiteralReader(text).read(header));
  return header;
}

std::string make_npy_header(std::string_view descr, std::span<const int64_t> shape, const NpyHeaderOptions& options) {
  std::string dictionary = header_dictionary(descr, shape, options.count_width);
  const bool long_header = std::max<uint64_t>(dictionary.size() + kNpyAlignment, options.total) > UINT16_MAX;
  const size_t prefix = long_header ? kVersion2Prefix : kVersion1Prefix;
  const uint64_t needed = prefix + dictionary.size() + 1;
  const uint64_t total = std::max((needed + kNpyAlignment - 1) / kNpyAlignment * kNpyAlignment, options.total);
  dictionary.append(total - needed, ' ');
  dictionary += '\n';
  std::string header(kNpyMagic);
  header += long_header ? '\2' : '\1';
  header += '\0';
  for (size_t i = 0; i < prefix - 8; ++i) header += static_cast<char>(dictionary.size() >> (8 * i) & 0xff);
  return header + dictionary;
}

std::string make_tensor_npy_header(const TensorDesc& desc, uint64_t data_bytes) {
  const DTypeInfo& info = dtype_info(desc.dtype);
  if (info.bits >= 8) return make_npy_header(concat("'", info.numpy_descr, "'"), desc.shape.dims());
  const std::array<int64_t, 1> bytes = {static_cast<int64_t>(data_bytes)};
  return make_npy_header("'|u1'", bytes);
}

}  // namespace tensortap
