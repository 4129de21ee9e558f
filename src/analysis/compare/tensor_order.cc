#include "compare/tensor_order.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/text.h"
#include "compare/compare_tensors.h"
#include "compare/sampled_elements.h"
#include "tensor/number_formats.h"

namespace tensortap {
namespace {

constexpr int kMostPermuted = 5;

// [N, C, ...] as [N, C / block, block, ...].
Shape split_channels(const Shape& shape, uint32_t block) {
  if (block == 0) return shape;
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims[1] /= block;
  dims.insert(dims.begin() + 2, block);
  return Shape(dims);
}

// Whether `plain` is [N, C, ...] of which `blocked` is [N, C / size, ..., size]; the size is the last dimension of `blocked`.
bool is_blocked_form(const Shape& plain, const Shape& blocked) {
  if (blocked.rank() != plain.rank() + 1 || plain.rank() < 2 || plain.rank() >= kMaxRank) return false;
  const int64_t block = blocked[blocked.rank() - 1];
  if (block <= 0 || plain[1] % block != 0 || plain[0] != blocked[0] || plain[1] / block != blocked[1]) return false;
  for (int i = 2; i < plain.rank(); ++i) {
    if (plain[i] != blocked[i]) return false;
  }
  return true;
}

// a is blocked, b is plain and seen as [N, C / size, size, ...]: the blocks come from behind the channels to the end.
TensorOrder unblocked_b(const Shape& a) {
  TensorOrder order;
  order.block_b = static_cast<uint32_t>(a[a.rank() - 1]);
  order.permutation = {0, 1};
  for (int i = 3; i < a.rank(); ++i) order.permutation.push_back(i);
  order.permutation.push_back(2);
  return order;
}

TensorOrder unblocked_a(const Shape& b) {
  TensorOrder order;
  order.block_a = static_cast<uint32_t>(b[b.rank() - 1]);
  order.permutation = {0, 1, b.rank() - 1};
  for (int i = 2; i < b.rank() - 1; ++i) order.permutation.push_back(i);
  return order;
}

bool leads_to(const std::vector<int>& permutation, const Shape& b, const Shape& a) {
  for (int i = 0; i < a.rank(); ++i) {
    if (b[permutation[static_cast<size_t>(i)]] != a[i]) return false;
  }
  return true;
}

std::vector<std::vector<int>> permutations(const Shape& a, const Shape& b) {
  std::vector<std::vector<int>> found;
  const int rank = a.rank();
  if (rank != b.rank() || rank < 2 || rank > kMostPermuted) return found;
  std::vector<int> plain(static_cast<size_t>(rank));
  std::iota(plain.begin(), plain.end(), 0);
  const auto add = [&](const std::vector<int>& one) {
    if (one != plain && leads_to(one, b, a) && std::ranges::find(found, one) == found.end()) found.push_back(one);
  };
  if (rank >= 3) {
    std::vector<int> channels_last = {0};
    std::vector<int> channels_first = {0, rank - 1};
    for (int i = 2; i < rank; ++i) channels_last.push_back(i);
    channels_last.push_back(1);
    for (int i = 1; i < rank - 1; ++i) channels_first.push_back(i);
    add(channels_last);
    add(channels_first);
  }
  std::vector<int> next = plain;
  while (std::ranges::next_permutation(next).found) add(next);
  return found;
}

// The shape with ones in front of it, up to that many dimensions.
Shape with_rank(const Shape& shape, int rank) {
  std::vector<int64_t> dims(static_cast<size_t>(std::max(rank - shape.rank(), 0)), 1);
  dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
  return Shape(dims);
}

// Orders of tensors of which one has more dimensions, some of them 1, other than those that move nothing but these.
std::vector<std::vector<int>> permutations_of_ranks(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  const Shape wide = with_rank(b, rank);
  std::vector<std::vector<int>> found = permutations(with_rank(a, rank), wide);
  std::erase_if(found, [&wide](std::vector<int> order) {
    std::erase_if(order, [&wide](int dim) { return wide[dim] == 1; });
    return std::ranges::is_sorted(order);
  });
  return found;
}

// Flat index in b of what is at `index` of a.
class PlaceInB {
 public:
  PlaceInB(const Shape& a, const Shape& b, const TensorOrder& order)
      : a_(with_rank(split_channels(a, order.block_a), static_cast<int>(order.permutation.size()))),
        permutation_(order.permutation),
        strides_(permutation_.size()) {
    const Shape seen = with_rank(split_channels(b, order.block_b), static_cast<int>(order.permutation.size()));
    std::vector<uint64_t> strides(permutation_.size(), 1);
    for (size_t i = permutation_.size(); i-- > 1;) strides[i - 1] = strides[i] * static_cast<uint64_t>(seen[static_cast<int>(i)]);
    for (size_t i = 0; i < permutation_.size(); ++i) strides_[i] = strides[static_cast<size_t>(permutation_[i])];
  }
  [[nodiscard]] uint64_t of(uint64_t index) const {
    if (permutation_.empty()) return index;
    uint64_t place = 0;
    for (size_t i = permutation_.size(); i-- > 0;) {
      const auto size = static_cast<uint64_t>(a_[static_cast<int>(i)]);
      place += index % size * strides_[i];
      index /= size;
    }
    return place;
  }

 private:
  Shape a_;
  const std::vector<int>& permutation_;
  std::vector<uint64_t> strides_;
};

bool is_number(DType dtype) {
  const DTypeKind kind = dtype_info(dtype).kind;
  return kind != DTypeKind::kNone && kind != DTypeKind::kString && kind != DTypeKind::kComplex;
}

}  // namespace

std::string TensorOrder::text() const {
  if (arrangement.kind != Arrangement::Kind::kNone) return arrangement.text();
  if (block_a != 0 || block_b != 0) return "unblocked";
  if (reshaped) return "reshaped";
  if (permutation.empty()) return "";
  std::string text = "permuted [";
  for (size_t i = 0; i < permutation.size(); ++i) text += concat(i == 0 ? "" : ", ", permutation[i]);
  return text + "]";
}

std::vector<TensorOrder> possible_orders(const OrderedTensor& a, const OrderedTensor& b) {
  std::vector<TensorOrder> orders;
  const Shape& of_a = a.view.desc.shape;
  const Shape& of_b = b.view.desc.shape;
  if (of_a.numel() != of_b.numel() || !of_a.numel().has_value()) return orders;
  if (a.blocked && !b.blocked && is_blocked_form(of_b, of_a)) return {unblocked_b(of_a)};
  if (b.blocked && !a.blocked && is_blocked_form(of_a, of_b)) return {unblocked_a(of_b)};
  if (of_a == of_b) orders.emplace_back();
  for (std::vector<int>& permutation : permutations(of_a, of_b)) orders.push_back({std::move(permutation), 0, 0, false, {}});
  if (of_a != of_b) orders.push_back({{}, 0, 0, true, {}});
  if (of_a.rank() != of_b.rank()) {
    for (std::vector<int>& permutation : permutations_of_ranks(of_a, of_b)) orders.push_back({std::move(permutation), 0, 0, false, {}});
  }
  // An op that knows nothing of blocks may work on them: the runtime hands it the five dimensions.
  if (is_blocked_form(of_b, of_a)) orders.push_back(unblocked_b(of_a));
  if (is_blocked_form(of_a, of_b)) orders.push_back(unblocked_a(of_b));
  return orders;
}

double sampled_difference(const OrderedTensor& a, const OrderedTensor& b, const TensorOrder& order) {
  const TensorDesc& of_a = a.view.desc;
  const TensorDesc& of_b = b.view.desc;
  if (!is_number(of_a.dtype) || !is_number(of_b.dtype) || !a.view.is_contiguous() || !b.view.is_contiguous()) return kFarApart;
  const PlaceInB place(of_a.shape, of_b.shape, order);
  return sampled_distance(of_a.shape.numel().value_or(0), [&](uint64_t index, double& x, double& y) {
    to_float64(of_a.dtype, a.view.data, index, 1, &x);
    to_float64(of_b.dtype, b.view.data, place.of(index), 1, &y);
  });
}

Result<Difference> compare_in_order(const OrderedTensor& a, const OrderedTensor& b, const TensorOrder& order, DifferenceOptions options) {
  if (is_possible(order.arrangement, a.view.desc, b.view.desc)) return compare_arranged(a.view, b.view, order.arrangement, options);
  options.permutation = order.permutation;
  TensorView view_a = a.view;
  TensorView view_b = b.view;
  view_a.desc.shape = split_channels(view_a.desc.shape, order.block_a);
  view_b.desc.shape = split_channels(view_b.desc.shape, order.block_b);
  if (!order.permutation.empty() && view_a.desc.shape.rank() != view_b.desc.shape.rank()) {
    const int rank = std::max(view_a.desc.shape.rank(), view_b.desc.shape.rank());
    view_a.desc.shape = with_rank(view_a.desc.shape, rank);
    view_b.desc.shape = with_rank(view_b.desc.shape, rank);
  }
  return compare_tensors(view_a, view_b, options);
}

}  // namespace tensortap
