#include "read/print_tensor.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <memory>

#include "base/text.h"
#include "read/number_text.h"
#include "tensor/number_formats.h"

namespace tensortap {
namespace {

std::string integer_text(const TensorView& view, uint64_t index) {
  int64_t value = 0;
  to_int64(view.desc.dtype, view.data, index, 1, &value);
  return dtype_info(view.desc.dtype).kind == DTypeKind::kUnsigned ? to_text(static_cast<uint64_t>(value)) : to_text(value);
}

double real_value(const TensorView& view, uint64_t index) {
  double value = 0;
  to_float64(view.desc.dtype, view.data, index, 1, &value);
  return value;
}

// The nearest number of that many digits, unless the type's own shortest text has no more.
double rounded(DType dtype, double value, int digits) {
  if (digits <= 0 || !std::isfinite(value)) return value;
  const std::string shortest = shortest_text(dtype, value);
  const std::string mantissa = shortest.substr(0, shortest.find('e'));
  const size_t first = mantissa.find_first_of("123456789");
  const size_t last = mantissa.find_last_of("123456789");
  if (first == std::string::npos) return value;
  const bool has_point = mantissa.substr(first, last - first).find('.') != std::string::npos;
  if (last - first + (has_point ? 0 : 1) <= static_cast<size_t>(digits)) return value;
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific, digits - 1).ptr;
  double result = value;
  return parse_number(std::string_view(text.data(), static_cast<size_t>(end - text.data())), result) ? result : value;
}

std::string string_text(const TensorView& view, uint64_t index) {
  const StringElement& element = static_cast<const StringElement*>(view.data)[index];
  std::string text = quote({element.data, element.size});
  if (text.find('\'') != std::string::npos) return text;
  text.front() = text.back() = '\'';
  return text;
}

// Lays elements out in lines and brackets as NumPy does.
class Printer {
 public:
  Printer(const TensorSlice& slice, const PrintOptions& options) : slice_(slice), options_(options) {
    uint64_t count = 1;
    for (const int64_t size : slice.shape) count *= static_cast<uint64_t>(size);
    empty_ = count == 0;
    summary_ = count > options.threshold;
    if (!empty_) collect(0, slice.begin);
    format();
  }

  std::string print() {
    if (empty_) return "[]";
    return part(0, " ", options_.line_width);
  }

 private:
  [[nodiscard]] bool is_cut(size_t axis) const { return summary_ && slice_.shape[axis] > int64_t{2} * options_.edge_items; }

  // Positions along an axis that are shown; -1 marks the dots.
  [[nodiscard]] std::vector<int64_t> shown(size_t axis) const {
    std::vector<int64_t> positions;
    const int64_t size = slice_.shape[axis];
    const int64_t edge = is_cut(axis) ? options_.edge_items : size;
    for (int64_t i = 0; i < edge; ++i) positions.push_back(i);
    if (!is_cut(axis)) return positions;
    positions.push_back(-1);
    for (int64_t i = size - edge; i < size; ++i) positions.push_back(i);
    return positions;
  }

  // The elements that will be shown, in order: their widths decide the format.
  void collect(size_t axis, uint64_t index) {
    if (axis == slice_.shape.size()) {
      indices_.push_back(index);
      return;
    }
    for (const int64_t position : shown(axis)) {
      if (position >= 0) collect(axis + 1, index + static_cast<uint64_t>(position * slice_.strides[axis]));
    }
  }

  void format() {
    switch (dtype_info(slice_.base.desc.dtype).kind) {
      case DTypeKind::kFloat:
        format_floats();
        break;
      case DTypeKind::kComplex:
        format_complex();
        break;
      case DTypeKind::kString:
        for (const uint64_t index : indices_) texts_.push_back(string_text(slice_.base, index));
        break;
      case DTypeKind::kBool:
        for (const uint64_t index : indices_) texts_.emplace_back(real_value(slice_.base, index) != 0 ? "True" : "False");
        align();
        break;
      case DTypeKind::kSigned:
      case DTypeKind::kUnsigned:
        for (const uint64_t index : indices_) texts_.push_back(integer_text(slice_.base, index));
        align();
        break;
      case DTypeKind::kNone:
        texts_.assign(indices_.size(), "?");
        break;
    }
  }

  void format_floats() {
    std::vector<double> values;
    for (const uint64_t index : indices_)
      values.push_back(rounded(slice_.base.desc.dtype, real_value(slice_.base, index), options_.significant));
    const FloatFormat format(slice_.base.desc.dtype, values, options_.precision);
    for (const double value : values) texts_.push_back(format.text(value));
  }

  void format_complex() {
    std::vector<double> real(indices_.size());
    std::vector<double> imaginary(indices_.size());
    const DType dtype = slice_.base.desc.dtype;
    for (size_t i = 0; i < indices_.size(); ++i) {
      to_complex128(dtype, slice_.base.data, indices_[i], real[i], imaginary[i]);
      real[i] = rounded(dtype, real[i], options_.significant);
      imaginary[i] = rounded(dtype, imaginary[i], options_.significant);
    }
    const FloatFormat real_format(slice_.base.desc.dtype, real, options_.precision);
    const FloatFormat imaginary_format(slice_.base.desc.dtype, imaginary, options_.precision, true);
    for (size_t i = 0; i < indices_.size(); ++i) {
      std::string text = imaginary_format.text(imaginary[i]);
      text.insert(text.find_last_not_of(' ') + 1, "j");
      texts_.push_back(real_format.text(real[i]) + text);
    }
  }

  void align() {
    size_t width = 0;
    for (const std::string& text : texts_) width = std::max(width, text.size());
    for (std::string& text : texts_) text.insert(0, width - text.size(), ' ');
  }

  std::string part(size_t axis, const std::string& indent, int width) {
    if (axis == slice_.shape.size()) return texts_[next_++];
    const std::string text = axis + 1 == slice_.shape.size() ? row(axis, indent, width) : rows(axis, indent, width);
    return "[" + text.substr(indent.size()) + "]";
  }

  // The innermost axis: words in lines of at most `width` characters.
  std::string row(size_t axis, const std::string& indent, int width) {
    std::string text;
    std::string line = indent;
    const std::vector<int64_t> positions = shown(axis);
    for (size_t i = 0; i < positions.size(); ++i) {
      const std::string word = positions[i] < 0 ? "..." : texts_[next_++];
      if (line.size() + word.size() > static_cast<size_t>(std::max(width - 1, 1)) && line.size() > indent.size()) {
        text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
        line = indent;
      }
      line += word;
      if (i + 1 < positions.size()) line += ' ';
    }
    return text + line;
  }

  std::string rows(size_t axis, const std::string& indent, int width) {
    const std::string line_end(slice_.shape.size() - axis - 1, '\n');
    std::string text;
    const std::vector<int64_t> positions = shown(axis);
    for (size_t i = 0; i < positions.size(); ++i) {
      if (i > 0) text += line_end;
      text += indent + (positions[i] < 0 ? "..." : part(axis + 1, indent + " ", width - 1));
    }
    return text;
  }

  const TensorSlice& slice_;
  const PrintOptions options_;
  bool empty_ = false;
  bool summary_ = false;
  std::vector<uint64_t> indices_;
  std::vector<std::string> texts_;
  size_t next_ = 0;
};

}  // namespace

std::string print_tensor(const TensorSlice& slice, const PrintOptions& options) { return Printer(slice, options).print(); }

std::string element_text(const TensorView& view, uint64_t index) {
  switch (dtype_info(view.desc.dtype).kind) {
    case DTypeKind::kFloat:
      return shortest_text(view.desc.dtype, real_value(view, index));
    case DTypeKind::kComplex: {
      double real = 0;
      double imaginary = 0;
      to_complex128(view.desc.dtype, view.data, index, real, imaginary);
      const std::string sign = imaginary < 0 ? "" : "+";
      return shortest_text(view.desc.dtype, real) + sign + shortest_text(view.desc.dtype, imaginary) + "j";
    }
    case DTypeKind::kBool:
      return real_value(view, index) != 0 ? "True" : "False";
    case DTypeKind::kString:
      return string_text(view, index);
    case DTypeKind::kSigned:
    case DTypeKind::kUnsigned:
      return integer_text(view, index);
    case DTypeKind::kNone:
      break;
  }
  return "?";
}

}  // namespace tensortap
