#include "compare/arrangement.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "base/spans.h"
#include "base/text.h"
#include "compare/compare_tensors.h"
#include "compare/sampled_elements.h"
#include "tensor/number_formats.h"

namespace tensortap {
namespace {

constexpr double kNearNorm = 0.03;
constexpr int64_t kLeastRow = 4;  // elements: shorter ones are the same by chance
constexpr auto kHeads = std::to_array<int64_t>({256, 192, 160, 128, 112, 96, 80, 64, 48, 40, 32, 24, 20, 16, 12, 8, 4});

using Dims = std::vector<int64_t>;

// The larger tensor as [outer, all, inner], the smaller one as the last `wanted` of `all`.
struct RowsOfLarger {
  int64_t outer;
  int64_t all;
  int64_t wanted;
  int64_t inner;
};

int64_t product(std::span<const int64_t> dims) { return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>()); }

Dims without_ones(const Shape& shape) {
  Dims dims(shape.dims().begin(), shape.dims().end());
  std::erase(dims, 1);
  return dims;
}

std::vector<RowsOfLarger> ways(const Shape& larger, const Shape& smaller) {
  std::vector<RowsOfLarger> found;
  const Dims all = without_ones(larger);
  const Dims wanted = without_ones(smaller);
  const auto add = [&](size_t axis, int64_t rows) {
    found.push_back({product(first_of(std::span(all), axis)), all[axis], rows, product(after(std::span(all), axis + 1))});
  };
  if (all.size() < 2 || all.size() > wanted.size() + 1 || all.size() < wanted.size()) return found;
  for (size_t axis = 0; axis + 1 < all.size(); ++axis) {
    Dims rest = all;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(axis));
    if (all.size() == wanted.size() + 1) {
      if (rest == wanted) add(axis, 1);
      continue;
    }
    Dims rest_wanted = wanted;
    rest_wanted.erase(rest_wanted.begin() + static_cast<std::ptrdiff_t>(axis));
    if (rest == rest_wanted && wanted[axis] < all[axis]) {
      add(axis, wanted[axis]);
      // The rows of several sequences behind each other.
      if (axis == 0 && all[0] % wanted[0] == 0) found.push_back({wanted[0], all[0] / wanted[0], 1, product(after(std::span(all), 1))});
    }
  }
  std::erase_if(found, [](const RowsOfLarger& way) { return way.inner < kLeastRow; });
  return found;
}

std::vector<RowsOfLarger> places(const Shape& larger, const Shape& smaller) {
  std::vector<RowsOfLarger> found;
  const Dims all = without_ones(larger);
  const Dims wanted = without_ones(smaller);
  for (size_t axis = 0; axis < all.size() && all.size() == wanted.size() + 1; ++axis) {
    Dims rest = all;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(axis));
    if (rest != wanted) continue;
    found.push_back({product(first_of(std::span(all), axis)), all[axis], 1, product(after(std::span(all), axis + 1))});
  }
  // The places of several sequences behind each other.
  const bool flat = !all.empty() && all.size() == wanted.size() && wanted[0] < all[0] && all[0] % wanted[0] == 0;
  if (flat && std::ranges::equal(after(std::span(all), 1), after(std::span(wanted), 1))) {
    found.push_back({wanted[0], all[0] / wanted[0], 1, product(after(std::span(all), 1))});
  }
  return found;
}

std::vector<RowsOfLarger> rows_of(Arrangement::Kind kind, const Shape& a, const Shape& b) {
  const bool a_is_larger = a.numel().value_or(0) > b.numel().value_or(0);
  const Shape& larger = a_is_larger ? a : b;
  const Shape& smaller = a_is_larger ? b : a;
  return kind == Arrangement::Kind::kLastPlace ? places(larger, smaller) : ways(larger, smaller);
}

std::vector<Arrangement> arrangements(Arrangement::Kind kind, const Shape& a, const Shape& b) {
  std::vector<Arrangement> all(rows_of(kind, a, b).size());
  for (uint32_t i = 0; i < all.size(); ++i) {
    all[i].kind = kind;
    all[i].number = i;
  }
  return all;
}

// Views of both tensors that stand element by element beside each other, in the order of A.
struct Views {
  Shape shape;
  std::array<std::vector<int64_t>, 2> strides;  // of A and of B
  std::array<uint64_t, 2> begin{};              // elements
};

std::optional<Views> views_of_rows(const Arrangement& arrangement, const Shape& a, const Shape& b) {
  const bool a_is_larger = a.numel().value_or(0) > b.numel().value_or(0);
  const std::vector<RowsOfLarger> found = rows_of(arrangement.kind, a, b);
  if (arrangement.number >= found.size()) return std::nullopt;
  const auto [outer, all, wanted, inner] = found[arrangement.number];
  Views views;
  views.shape = Shape({outer, wanted, inner});
  views.strides[a_is_larger ? 0 : 1] = {all * inner, inner, 1};
  views.strides[a_is_larger ? 1 : 0] = {wanted * inner, inner, 1};
  views.begin[a_is_larger ? 0 : 1] = static_cast<uint64_t>((all - wanted) * inner);
  return views;
}

std::optional<Views> views_of_heads(const Arrangement& arrangement, const Shape& a, const Shape& b) {
  if (!(a == b) || a.rank() == 0 || arrangement.head < 4) return std::nullopt;
  const int axis = arrangement.first_axis ? 0 : a.rank() - 1;
  const int64_t head = arrangement.head;
  if (a[axis] % head != 0 || head % 2 != 0) return std::nullopt;
  const int64_t outer = product(first_of(a.dims(), static_cast<uint64_t>(axis)));
  const int64_t inner = product(after(a.dims(), static_cast<uint64_t>(axis) + 1));
  const int64_t half = head / 2;
  const std::vector<int64_t> pairs = {a[axis] * inner, head * inner, 2 * inner, inner, 1};
  const std::vector<int64_t> halves = {a[axis] * inner, head * inner, inner, half * inner, 1};
  Views views;
  // [.., half, 2, ..] in the order of the side with the pairs; the dimensions change places for the other one.
  views.shape = Shape({outer, a[axis] / head, half, 2, inner});
  views.strides = {arrangement.pairs_in_a ? pairs : halves, arrangement.pairs_in_a ? halves : pairs};
  if (arrangement.pairs_in_a) return views;
  views.shape = Shape({outer, a[axis] / head, 2, half, inner});
  for (std::vector<int64_t>& strides : views.strides) std::swap(strides[2], strides[3]);
  return views;
}

std::optional<Views> views_of(const Arrangement& arrangement, const TensorDesc& a, const TensorDesc& b) {
  if (dtype_info(a.dtype).bits % 8 != 0 || dtype_info(b.dtype).bits % 8 != 0) return std::nullopt;
  switch (arrangement.kind) {
    case Arrangement::Kind::kLastRows:
    case Arrangement::Kind::kLastPlace:
      return views_of_rows(arrangement, a.shape, b.shape);
    case Arrangement::Kind::kRotary:
      return views_of_heads(arrangement, a.shape, b.shape);
    case Arrangement::Kind::kNone:
      break;
  }
  return std::nullopt;
}

uint64_t offset_of(uint64_t index, const Shape& shape, const std::vector<int64_t>& strides) {
  uint64_t offset = 0;
  for (size_t i = strides.size(); i-- > 0;) {
    const auto size = static_cast<uint64_t>(shape[static_cast<int>(i)]);
    offset += index % size * static_cast<uint64_t>(strides[i]);
    index /= size;
  }
  return offset;
}

TensorView view_of(const TensorView& whole, const Views& views, size_t side) {
  const size_t size = dtype_info(whole.desc.dtype).bits / 8;
  return {
      {whole.desc.dtype, views.shape}, static_cast<const std::byte*>(whole.data) + views.begin[side] * size, views.strides[side].data()};
}

// The norm over all channels at one place in the middle.
double norm_of_channels(const TensorView& tensor, bool first_axis) {
  const Shape& shape = tensor.desc.shape;
  const auto channels = static_cast<uint64_t>(shape[first_axis ? 0 : shape.rank() - 1]);
  const uint64_t others = shape.numel().value_or(0) / channels;
  double squares = 0;
  for (uint64_t i = 0; i < channels; ++i) {
    double value = 0;
    to_float64(tensor.desc.dtype, tensor.data, first_axis ? i * others + others / 2 : others / 2 * channels + i, 1, &value);
    squares += value * value;
  }
  return std::sqrt(squares);
}

bool is_real_number(DType dtype) {
  const DTypeKind kind = dtype_info(dtype).kind;
  return kind != DTypeKind::kNone && kind != DTypeKind::kString && kind != DTypeKind::kComplex;
}

}  // namespace

std::string Arrangement::text() const {
  if (kind == Kind::kLastRows) return "last rows";
  if (kind == Kind::kLastPlace) return "last place";
  return kind == Kind::kRotary ? concat("rotary ", head) : "";
}

std::vector<Arrangement> last_rows(const Shape& a, const Shape& b) { return arrangements(Arrangement::Kind::kLastRows, a, b); }
std::vector<Arrangement> last_places(const Shape& a, const Shape& b) { return arrangements(Arrangement::Kind::kLastPlace, a, b); }

std::vector<Arrangement> rotary_orders(const TensorView& a, const TensorView& b) {
  std::vector<Arrangement> all;
  const Shape& shape = a.desc.shape;
  if (!is_floating(a.desc.dtype) || !is_floating(b.desc.dtype) || !(shape == b.desc.shape) || shape.rank() == 0) return all;
  if (!a.is_contiguous() || !b.is_contiguous() || shape.numel().value_or(0) == 0) return all;
  const auto add = [&](bool first_axis) {
    const int64_t channels = shape[first_axis ? 0 : shape.rank() - 1];
    const double of_a = norm_of_channels(a, first_axis);
    const double of_b = norm_of_channels(b, first_axis);
    if (channels < 4 || !(of_b > 0) || !(std::abs(of_a - of_b) <= kNearNorm * of_b)) return;
    std::vector<int64_t> heads(kHeads.begin(), kHeads.end());
    if (std::ranges::find(heads, channels) == heads.end()) heads.insert(heads.begin(), channels);
    for (const int64_t head : heads) {
      if (head % 2 != 0 || channels % head != 0) continue;
      for (const bool pairs_in_a : {true, false}) {
        all.push_back({Arrangement::Kind::kRotary, 0, first_axis, static_cast<uint32_t>(head), pairs_in_a});
      }
    }
  };
  add(false);
  if (shape.rank() == 2) add(true);
  return all;
}

bool is_possible(const Arrangement& arrangement, const TensorDesc& a, const TensorDesc& b) {
  return views_of(arrangement, a, b).has_value();
}

double sampled_difference(const TensorView& a, const TensorView& b, const Arrangement& arrangement) {
  const std::optional<Views> views = views_of(arrangement, a.desc, b.desc);
  if (!views || !is_real_number(a.desc.dtype) || !is_real_number(b.desc.dtype) || !a.is_contiguous() || !b.is_contiguous())
    return kFarApart;
  return sampled_distance(views->shape.numel().value_or(0), [&](uint64_t index, double& x, double& y) {
    to_float64(a.desc.dtype, a.data, views->begin[0] + offset_of(index, views->shape, views->strides[0]), 1, &x);
    to_float64(b.desc.dtype, b.data, views->begin[1] + offset_of(index, views->shape, views->strides[1]), 1, &y);
  });
}

Result<Difference> compare_arranged(const TensorView& a, const TensorView& b, const Arrangement& arrangement,
                                    const DifferenceOptions& options) {
  const std::optional<Views> views = views_of(arrangement, a.desc, b.desc);
  if (!views || !a.is_contiguous() || !b.is_contiguous()) return invalid_argument("the shapes do not fit the way in which the pair holds");
  TENSORTAP_ASSIGN_OR_RETURN(Difference difference, compare_tensors(view_of(a, *views, 0), view_of(b, *views, 1), options));
  const auto in_whole = [&](uint64_t index) { return views->begin[0] + offset_of(index, views->shape, views->strides[0]); };
  if (difference.first_differing) difference.first_differing = in_whole(*difference.first_differing);
  if (difference.first_nonfinite_differing) difference.first_nonfinite_differing = in_whole(*difference.first_nonfinite_differing);
  difference.max_abs_at = in_whole(difference.max_abs_at);
  difference.max_rel_at = in_whole(difference.max_rel_at);
  return difference;
}

}  // namespace tensortap
