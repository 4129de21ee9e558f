#include "serve/slice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/text.h"

namespace tensortap {
namespace {

constexpr uint32_t kMagic = 0x534c4943;
constexpr uint32_t kExactMagic = 0x45584143;
constexpr size_t kHeaderWords = 10;
constexpr uint64_t kPieceOfRow = 4096;
constexpr size_t kMostPlaces = 2000;

// A dimension that is shown, or none: then it has one element.
struct Axis {
  int64_t size = 1;
  uint64_t stride = 0;  // in elements
  int64_t begin = 0;    // the part that is shown
  int64_t count = 1;
  int64_t per_cell = 1;
  [[nodiscard]] int64_t cells() const { return (count + per_cell - 1) / per_cell; }
};

struct Part {
  uint64_t begin = 0;  // element where both axes are 0
  Axis rows;
  Axis columns;
};

// "0,3,:,:"
Result<Part> parse_at(const std::vector<int64_t>& shape, const std::string& text) {
  std::vector<std::string_view> words;
  if (!text.empty()) words = split(text, ',');
  if (words.size() != shape.size()) {
    return invalid_argument(concat("at ", quote(text), ": has ", words.size(), " places; the tensor has ", shape.size(), " dimensions"));
  }
  Part part;
  std::vector<Axis> shown;
  uint64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0; stride *= static_cast<uint64_t>(std::max<int64_t>(shape[axis], 1))) {
    if (words[axis] == ":") {
      shown.push_back({shape[axis], stride, 0, shape[axis], 1});
      continue;
    }
    int64_t index = 0;
    if (!parse_integer(words[axis], index) || index < 0 || index >= shape[axis]) {
      return invalid_argument(
          concat("at ", quote(words[axis]), ": neither \":\" nor an index of dimension ", axis, ", which has ", shape[axis], " elements"));
    }
    part.begin += static_cast<uint64_t>(index) * stride;
  }
  if (shown.size() > 2) return invalid_argument(concat("at ", quote(text), ": more than two \":\""));
  if (!shown.empty()) part.columns = shown[0];
  if (shown.size() > 1) part.rows = shown[1];
  return part;
}

// "0:512", of an axis; "" = all of it.
Status choose_window(std::string_view name, const std::string& text, Axis& axis) {
  if (!text.empty()) {
    const std::vector<std::string_view> bounds = split(text, ':');
    int64_t first = 0;
    int64_t end = 0;
    if (bounds.size() != 2 || !parse_integer(bounds[0], first) || !parse_integer(bounds[1], end) || first < 0 || end < first) {
      return invalid_argument(concat(name, " ", quote(text), ": not a range such as 0:512"));
    }
    axis.begin = std::min(first, axis.size);
    axis.count = std::min(end, axis.size) - axis.begin;
  }
  axis.per_cell = std::max<int64_t>(1, (axis.count + kMostCells - 1) / kMostCells);
  return {};
}

// The number that represents all elements of a cell: the first NaN, otherwise the first Inf, otherwise the reduction that was asked for.
class Cell {
 public:
  void add(double number, std::string_view reduce) {
    if (!any_) {
      any_ = true;
      value_ = number;
      return;
    }
    if (std::isnan(value_) || (std::isinf(value_) && !std::isnan(number))) return;
    if (!std::isfinite(number) || (reduce == "max" && number > value_) || (reduce == "min" && number < value_) ||
        (reduce == "absmax" && std::abs(number) > std::abs(value_))) {
      value_ = number;
    }
  }
  // Doubles beyond the floats are the largest float: Inf would say that they are not finite.
  [[nodiscard]] float value() const {
    constexpr double kLargest = std::numeric_limits<float>::max();
    return static_cast<float>(std::isfinite(value_) ? std::clamp(value_, -kLargest, kLargest) : value_);
  }

 private:
  bool any_ = false;
  double value_ = 0;
};

void read_row(const Elements& elements, uint64_t begin, const Axis& columns, std::string_view reduce, std::span<Cell> cells) {
  std::array<double, kPieceOfRow> numbers;
  const uint64_t most = columns.stride == 1 ? kPieceOfRow : 1;
  for (int64_t column = 0; column < columns.count;) {
    const auto size = static_cast<int64_t>(std::min(most, static_cast<uint64_t>(columns.count - column)));
    elements.read(begin + static_cast<uint64_t>(columns.begin + column) * columns.stride, static_cast<uint64_t>(size), numbers.data());
    for (int64_t i = 0; i < size; ++i) {
      cells[static_cast<size_t>((column + i) / columns.per_cell)].add(numbers[static_cast<size_t>(i)], reduce);
    }
    column += size;
  }
}

}  // namespace

Result<Answer> slice_answer(const Elements& elements, const WebRequest& request) {
  TENSORTAP_ASSIGN_OR_RETURN(Part part, parse_at(elements.shape(), request.text("at")));
  TENSORTAP_RETURN_IF_ERROR(choose_window("rows", request.text("rows"), part.rows));
  TENSORTAP_RETURN_IF_ERROR(choose_window("cols", request.text("cols"), part.columns));
  TENSORTAP_ASSIGN_OR_RETURN(const std::string reduce, request.choice("reduce", {"value", "max", "min", "absmax"}));
  if (elements.count() == 0) part.rows.count = part.columns.count = 0;
  const auto rows = static_cast<size_t>(part.rows.cells());
  const auto columns = static_cast<size_t>(part.columns.cells());
  std::vector<Cell> cells(rows * columns);
  for (int64_t row = 0; row < part.rows.count; ++row) {
    const uint64_t begin = part.begin + static_cast<uint64_t>(part.rows.begin + row) * part.rows.stride;
    const std::span<Cell> line = std::span(cells).subspan(static_cast<size_t>(row / part.rows.per_cell) * columns, columns);
    read_row(elements, begin, part.columns, reduce, line);
  }
  const std::array<uint32_t, kHeaderWords> header = {kMagic,
                                                     static_cast<uint32_t>(rows),
                                                     static_cast<uint32_t>(columns),
                                                     static_cast<uint32_t>(part.rows.per_cell),
                                                     static_cast<uint32_t>(part.columns.per_cell),
                                                     static_cast<uint32_t>(part.rows.size),
                                                     static_cast<uint32_t>(part.columns.size)};
  std::string bytes;
  append_bytes<uint32_t>(bytes, header);
  for (const Cell& cell : cells) {
    const float value = cell.value();
    append_bytes<float>(bytes, std::span(&value, 1));
  }
  return binary_answer(std::move(bytes));
}

Result<Answer> exact_answer(const Elements& elements, const WebRequest& request) {
  TENSORTAP_ASSIGN_OR_RETURN(Part part, parse_at(elements.shape(), request.text("at")));
  TENSORTAP_RETURN_IF_ERROR(choose_window("rows", request.text("rows"), part.rows));
  TENSORTAP_RETURN_IF_ERROR(choose_window("cols", request.text("cols"), part.columns));
  if (part.rows.per_cell > 1 || part.columns.per_cell > 1) {
    return invalid_argument(concat("rows and cols: ", part.rows.count, " by ", part.columns.count, " values; at most ", kMostCells, " by ",
                                   kMostCells, " are given at once"));
  }
  if (elements.count() == 0) part.rows.count = part.columns.count = 0;
  const Elements::ExactType type = elements.exact_type();
  std::string bytes;
  append_bytes<uint32_t>(bytes, std::array{kExactMagic, static_cast<uint32_t>(part.rows.count), static_cast<uint32_t>(part.columns.count),
                                           static_cast<uint32_t>(type.bytes)});
  bytes.append(type.descr);
  bytes.resize(kHeaderWords * sizeof(uint32_t));
  for (int64_t row = 0; row < part.rows.count; ++row) {
    const uint64_t begin = part.begin + static_cast<uint64_t>(part.rows.begin + row) * part.rows.stride;
    const auto columns = static_cast<uint64_t>(part.columns.count);
    const uint64_t first = begin + static_cast<uint64_t>(part.columns.begin) * part.columns.stride;
    const size_t at = bytes.size();
    bytes.resize(at + columns * type.bytes);
    if (part.columns.stride == 1) {
      elements.read_exactly(first, columns, bytes.data() + at);
      continue;
    }
    for (uint64_t i = 0; i < columns; ++i) elements.read_exactly(first + i * part.columns.stride, 1, bytes.data() + at + i * type.bytes);
  }
  return binary_answer(std::move(bytes));
}

Result<Answer> find_answer(const Elements& elements, const WebRequest& request) {
  TENSORTAP_ASSIGN_OR_RETURN(const std::string what, request.choice("what", {"nonfinite", "largest", "smallest", "difference"}));
  std::optional<uint64_t> after;
  if (request.has("after")) {
    TENSORTAP_ASSIGN_OR_RETURN(const int64_t flat, request.number("after", 0, 0, std::numeric_limits<int64_t>::max()));
    after = static_cast<uint64_t>(flat);
  }
  const auto found = find_element(elements, what, after);
  if (!found) {
    if (what == "nonfinite") return not_found(after ? "there is no further NaN or Inf" : "there is no NaN and no Inf");
    return not_found(what == "difference" ? "the two are equal" : "there is no finite value");
  }
  return json_answer({{"index", coordinates(elements.shape(), found->flat)}, {"flat", found->flat}, {"value", json_number(found->value)}});
}

Result<Answer> places_answer(const Elements& elements) {
  const std::vector<int64_t>& shape = elements.shape();
  std::vector<std::vector<bool>> found;
  for (const int64_t size : shape) found.emplace_back(static_cast<size_t>(size), false);
  std::array<double, kPieceOfRow> numbers;
  for (uint64_t begin = 0; begin < elements.count(); begin += kPieceOfRow) {
    const uint64_t size = std::min(kPieceOfRow, elements.count() - begin);
    elements.read(begin, size, numbers.data());
    for (uint64_t i = 0; i < size; ++i) {
      if (std::isfinite(numbers[i])) continue;
      const std::vector<int64_t> place = coordinates(shape, begin + i);
      for (size_t axis = 0; axis < place.size(); ++axis) found[axis][static_cast<size_t>(place[axis])] = true;
    }
  }
  Json places = Json::array();
  for (const std::vector<bool>& axis : found) {
    Json indices = Json::array();
    for (size_t index = 0; index < axis.size() && indices.size() < kMostPlaces; ++index) {
      if (axis[index]) indices.push_back(index);
    }
    places.push_back(std::move(indices));
  }
  return json_answer({{"places", std::move(places)}});
}

}  // namespace tensortap
