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

constexpr int64_t kLeastRow = 4;     // elements: shorter ones are the same by chance
constexpr uint64_t kLeastCells = 8;  // of all rows
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

// Caches are used in whole pieces of so many cells.
constexpr int64_t kCells = 32;
constexpr size_t kMostFirstCells = 65'536;  // of which each may be the first one in use

std::vector<RowsOfLarger> cells(const Shape& larger, const Shape& smaller) {
  if (larger.rank() == 0 || smaller.rank() == 0) return {};
  const int64_t all = larger[larger.rank() - 1];
  const int64_t used = smaller[smaller.rank() - 1];
  if (all <= used || used == 0 || all % kCells != 0) return {};
  Dims before(larger.dims().begin(), larger.dims().end() - 1);
  Dims before_used(smaller.dims().begin(), smaller.dims().end() - 1);
  std::erase(before, 1);
  std::erase(before_used, 1);
  if (before != before_used) return {};
  return {{product(before), all, used, 1}};
}

std::vector<RowsOfLarger> rows_of(Arrangement::Kind kind, const Shape& a, const Shape& b) {
  const bool a_is_larger = a.numel().value_or(0) > b.numel().value_or(0);
  const Shape& larger = a_is_larger ? a : b;
  const Shape& smaller = a_is_larger ? b : a;
  if (smaller.numel().value_or(0) == 0) return {};
  if (kind == Arrangement::Kind::kFirstCells) return cells(larger, smaller);
  return kind == Arrangement::Kind::kLastPlace ? places(larger, smaller) : ways(larger, smaller);
}

// How many arrangements there are of these rows: one for each of them, or for each cell that may be the first one in use.
size_t ways_of(Arrangement::Kind kind, const std::vector<RowsOfLarger>& rows) {
  if (kind != Arrangement::Kind::kFirstCells || rows.empty()) return rows.size();
  return static_cast<size_t>(rows.front().all - rows.front().wanted + 1);
}

std::vector<Arrangement> arrangements(Arrangement::Kind kind, const Shape& a, const Shape& b, size_t most = kMostFirstCells) {
  std::vector<Arrangement> all(std::min(most, ways_of(kind, rows_of(kind, a, b))));
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
  if (arrangement.number >= ways_of(arrangement.kind, found)) return std::nullopt;
  const bool of_cells = arrangement.kind == Arrangement::Kind::kFirstCells;
  const auto [outer, all, wanted, inner] = found[of_cells ? 0 : arrangement.number];
  Views views;
  views.shape = Shape({outer, wanted, inner});
  views.strides[a_is_larger ? 0 : 1] = {all * inner, inner, 1};
  views.strides[a_is_larger ? 1 : 0] = {wanted * inner, inner, 1};
  views.begin[a_is_larger ? 0 : 1] = of_cells ? arrangement.number : static_cast<uint64_t>((all - wanted) * inner);
  return views;
}

// The orders in which the dimensions of b before its last one may stand as those of a, which are not 1: the one that they have first.
std::vector<std::vector<size_t>> leading_orders(const Dims& a, const Dims& b) {
  constexpr size_t kMostDims = 5;
  std::vector<std::vector<size_t>> found;
  if (a.empty() || a.size() != b.size() || a.size() > kMostDims || a.back() != b.back()) return found;
  std::vector<size_t> order(a.size() - 1);
  std::iota(order.begin(), order.end(), size_t{0});
  do {
    bool fits = true;
    for (size_t i = 0; i < order.size(); ++i) fits = fits && b[order[i]] == a[i];
    if (fits) found.push_back(order);
  } while (std::ranges::next_permutation(order).found);
  return found;
}

std::vector<int64_t> contiguous_strides(const Dims& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

// [.., half, 2] in the order of the side with the pairs; the last two dimensions change places for the other one.
Views views_of_pairs(const Arrangement& arrangement, std::vector<int64_t> outer, std::array<std::vector<int64_t>, 2> strides,
                     int64_t inner) {
  const int64_t half = arrangement.head / 2;
  const size_t pairs = arrangement.pairs_in_a ? 0 : 1;
  for (const int64_t dim : arrangement.pairs_in_a ? std::array{half, int64_t{2}} : std::array{int64_t{2}, half}) outer.push_back(dim);
  const auto add = [&](size_t side, int64_t of_pairs, int64_t of_two) {
    strides[side].push_back(arrangement.pairs_in_a ? of_pairs : of_two);
    strides[side].push_back(arrangement.pairs_in_a ? of_two : of_pairs);
  };
  add(pairs, 2 * inner, inner);
  add(1 - pairs, inner, half * inner);
  Views views;
  if (inner > 1) {
    outer.push_back(inner);
    for (std::vector<int64_t>& one : strides) one.push_back(1);
  }
  views.shape = Shape(outer);
  views.strides = std::move(strides);
  return views;
}

std::optional<Views> views_of_heads(const Arrangement& arrangement, const Shape& a, const Shape& b) {
  const int64_t head = arrangement.head;
  if (head < 4 || head % 2 != 0) return std::nullopt;
  if (arrangement.first_axis) {
    if (!(a == b) || a.rank() == 0 || a[0] % head != 0) return std::nullopt;
    const int64_t inner = product(after(a.dims(), 1));
    return views_of_pairs(arrangement, {a[0] / head}, {std::vector{head * inner}, std::vector{head * inner}}, inner);
  }
  Dims dims = without_ones(a);
  const Dims of_b = without_ones(b);
  const auto orders = leading_orders(dims, of_b);
  if (arrangement.number >= orders.size() || dims.back() % head != 0) return std::nullopt;
  std::array<std::vector<int64_t>, 2> strides = {contiguous_strides(dims), {}};
  const std::vector<int64_t> strides_b = contiguous_strides(of_b);
  for (const size_t place : orders[arrangement.number]) strides[1].push_back(strides_b[place]);
  strides[0].back() = head;
  strides[1].push_back(head);
  dims.back() /= head;
  return views_of_pairs(arrangement, std::move(dims), std::move(strides), 1);
}

std::optional<Views> views_of(const Arrangement& arrangement, const TensorDesc& a, const TensorDesc& b) {
  if (dtype_info(a.dtype).bits % 8 != 0 || dtype_info(b.dtype).bits % 8 != 0) return std::nullopt;
  switch (arrangement.kind) {
    case Arrangement::Kind::kLastRows:
    case Arrangement::Kind::kFirstCells:
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

// The norm over all channels at one place: in the middle, or the first.
double norm_of_channels(const TensorView& tensor, bool first_axis, bool in_middle) {
  const Shape& shape = tensor.desc.shape;
  const auto channels = static_cast<uint64_t>(first_axis ? shape[0] : without_ones(shape).back());
  const uint64_t others = shape.numel().value_or(0) / channels;
  const uint64_t place = in_middle ? others / 2 : 0;
  double squares = 0;
  for (uint64_t i = 0; i < channels; ++i) {
    double value = 0;
    to_float64(tensor.desc.dtype, tensor.data, first_axis ? i * others + place : place * channels + i, 1, &value);
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
  if (kind == Kind::kFirstCells) return "first cells";
  if (kind == Kind::kLastPlace) return "last place";
  return kind == Kind::kRotary ? concat("rotary ", head) : "";
}

std::vector<Arrangement> last_rows(const Shape& a, const Shape& b) { return arrangements(Arrangement::Kind::kLastRows, a, b); }
std::vector<Arrangement> first_cells(const Shape& a, const Shape& b) {
  if (std::min(a.numel().value_or(0), b.numel().value_or(0)) < kLeastCells) return {};
  return arrangements(Arrangement::Kind::kFirstCells, a, b, 1);
}
std::vector<Arrangement> cells_in_use(const Shape& a, const Shape& b) { return arrangements(Arrangement::Kind::kFirstCells, a, b); }
std::vector<Arrangement> last_places(const Shape& a, const Shape& b) { return arrangements(Arrangement::Kind::kLastPlace, a, b); }

std::vector<Arrangement> rotary_orders(const TensorView& a, const TensorView& b, double near) {
  std::vector<Arrangement> all;
  const Shape& shape = a.desc.shape;
  if (!is_floating(a.desc.dtype) || !is_floating(b.desc.dtype) || shape.numel().value_or(0) == 0) return all;
  if (!a.is_contiguous() || !b.is_contiguous() || shape.numel() != b.desc.shape.numel()) return all;
  const bool same = shape == b.desc.shape;
  const auto add = [&](bool first_axis, int64_t channels, uint32_t number, bool in_middle) {
    const double of_a = norm_of_channels(a, first_axis, in_middle);
    const double of_b = norm_of_channels(b, first_axis, in_middle);
    if (channels < 4 || !(of_b > 0) || !(std::abs(of_a - of_b) <= near * of_b)) return;
    std::vector<int64_t> heads(kHeads.begin(), kHeads.end());
    if (std::ranges::find(heads, channels) == heads.end()) heads.insert(heads.begin(), channels);
    for (const int64_t head : heads) {
      if (head % 2 != 0 || channels % head != 0) continue;
      for (const bool pairs_in_a : {true, false}) {
        all.push_back({Arrangement::Kind::kRotary, number, first_axis, static_cast<uint32_t>(head), pairs_in_a});
      }
    }
  };
  const Dims dims = without_ones(shape);
  const size_t orders = leading_orders(dims, without_ones(b.desc.shape)).size();
  for (uint32_t number = 0; number < orders; ++number) add(false, dims.back(), number, same && number == 0);
  if (same && shape.rank() == 2) add(true, shape[0], 0, true);
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
