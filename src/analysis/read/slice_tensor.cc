#include <algorithm>
#include <optional>

#include "base/text.h"
#include "read/print_tensor.h"

namespace tensortap {
namespace {

struct Part {
  bool index = false;  // drops the dimension
  int64_t first = 0;
  int64_t step = 1;
  int64_t count = 0;
};

// A bound of "first:last:step"; nothing when it is left out.
bool parse_bound(std::string_view text, std::optional<int64_t>& value) {
  text = trim(text);
  int64_t number = 0;
  if (text.empty()) return true;
  if (!parse_integer(text, number)) return false;
  value = number;
  return true;
}

// Python's rules for a bound of a slice over `size` elements.
int64_t clamp_bound(std::optional<int64_t> bound, int64_t missing, int64_t size, int64_t step) {
  if (!bound) return missing;
  const int64_t value = *bound < 0 ? *bound + size : *bound;
  return step > 0 ? std::clamp<int64_t>(value, 0, size) : std::clamp<int64_t>(value, -1, size - 1);
}

Status parse_range(std::string_view text, int64_t size, Part& part) {
  const std::vector<std::string_view> bounds = split(text, ':');
  std::optional<int64_t> first;
  std::optional<int64_t> last;
  std::optional<int64_t> step;
  if (bounds.size() > 3 || !parse_bound(bounds[0], first) || !parse_bound(bounds[1], last) ||
      (bounds.size() == 3 && !parse_bound(bounds[2], step))) {
    return invalid_argument(concat("--at: ", quote(text), " is no range; write first:last:step"));
  }
  // Steps beyond the size are all alike; cut, so that no sum below overflows.
  part.step = std::clamp<int64_t>(step.value_or(1), -std::max<int64_t>(size, 1), std::max<int64_t>(size, 1));
  if (part.step == 0) return invalid_argument(concat("--at: the step of ", quote(text), " is 0"));
  const bool forward = part.step > 0;
  part.first = clamp_bound(first, forward ? 0 : size - 1, size, part.step);
  const int64_t end = clamp_bound(last, forward ? size : -1, size, part.step);
  const int64_t distance = forward ? end - part.first : part.first - end;
  const int64_t width = forward ? part.step : -part.step;
  part.count = distance <= 0 ? 0 : (distance + width - 1) / width;
  return {};
}

Status parse_part(std::string_view text, size_t axis, int64_t size, Part& part) {
  text = trim(text);
  if (text.find(':') != std::string_view::npos) return parse_range(text, size, part);
  part.index = true;
  if (!parse_integer(text, part.first)) {
    return invalid_argument(concat("--at: ", quote(text), " is neither a number, a range such as 1:10 nor \"...\""));
  }
  if (part.first >= size || part.first < -size) {
    return invalid_argument(concat("--at: index ", part.first, " is outside dimension ", axis, ", which has ", size, " elements"));
  }
  if (part.first < 0) part.first += size;
  return {};
}

// Replaces "..." by as many ":" as are missing, and adds them at the end otherwise.
Result<std::vector<std::string_view>> expand(std::string_view at, size_t rank) {
  std::vector<std::string_view> parts;
  if (!trim(at).empty()) parts = split(at, ',');
  const auto dots = std::ranges::count_if(parts, [](std::string_view part) { return trim(part) == "..."; });
  if (dots > 1) return invalid_argument("--at: \"...\" occurs more than once");
  if (parts.size() - static_cast<size_t>(dots) > rank) {
    return invalid_argument(concat("--at: ", parts.size() - static_cast<size_t>(dots), " indices for a tensor of ", rank, " dimensions"));
  }
  auto place = std::ranges::find_if(parts, [](std::string_view part) { return trim(part) == "..."; });
  const size_t missing = rank + static_cast<size_t>(dots) - parts.size();
  if (place != parts.end()) place = parts.erase(place);
  parts.insert(place, missing, std::string_view(":"));
  return parts;
}

}  // namespace

TensorSlice whole_tensor(const TensorView& view) {
  TensorSlice slice{view, 0, {}, {}};
  const std::span<const int64_t> dims = view.desc.shape.dims();
  slice.shape.assign(dims.begin(), dims.end());
  slice.strides.resize(dims.size());
  int64_t stride = 1;
  for (size_t axis = dims.size(); axis-- > 0;) {
    slice.strides[axis] = stride;
    stride *= std::max<int64_t>(dims[axis], 1);
  }
  return slice;
}

Result<TensorSlice> slice_tensor(const TensorView& view, std::string_view at) {
  const TensorSlice whole = whole_tensor(view);
  TENSORTAP_ASSIGN_OR_RETURN(const std::vector<std::string_view> parts, expand(at, whole.shape.size()));
  TensorSlice slice{view, 0, {}, {}};
  bool empty = false;
  uint64_t begin = 0;
  for (size_t axis = 0; axis < parts.size(); ++axis) {
    Part part;
    TENSORTAP_RETURN_IF_ERROR(parse_part(parts[axis], axis, whole.shape[axis], part));
    empty = empty || (!part.index && part.count == 0);
    begin += static_cast<uint64_t>(std::max<int64_t>(part.first, 0) * whole.strides[axis]);
    if (part.index) continue;
    slice.shape.push_back(part.count);
    slice.strides.push_back(part.step * whole.strides[axis]);
  }
  slice.begin = empty ? 0 : begin;
  return slice;
}

}  // namespace tensortap
