// The way of two tensors through the comparison: what can be compared at all, then block after block.

#include "compare/compare_tensors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "compare/pair_block.h"
#include "compare/pair_decoder.h"
#include "compare/pair_reducer.h"
#include "stats/float_environment.h"
#include "tensor/dtype.h"

namespace tensortap {
namespace {

// One of the two tensors, and its elements in order, packed.
class BlockReader {
 public:
  explicit BlockReader(const TensorView& view)
      : view_(view), is_contiguous_(view.is_contiguous()), is_complex_(dtype_info(view.desc.dtype).kind == DTypeKind::kComplex) {
    part_ = view.desc.dtype;
    if (is_complex_) part_ = part_ == DType::kComplex64 ? DType::kFloat32 : DType::kFloat64;
    if (!is_contiguous_) buffer_.resize(kPairBlock * sizeof(double));
  }

  // The type of the numbers that are compared: of a complex element there are two.
  [[nodiscard]] DType part() const { return part_; }
  [[nodiscard]] uint64_t parts() const { return is_complex_ ? 2 : 1; }

  // `count` of them from `first` on, which is a multiple of kPairBlock; valid until the next call.
  const void* read(uint64_t first, uint64_t count) {
    if (is_contiguous_) return static_cast<const std::byte*>(view_.data) + first * dtype_info(part_).bits / 8;
    copy_packed_range(view_, first / parts(), count / parts(), buffer_.data());
    return buffer_.data();
  }

 private:
  TensorView view_;
  bool is_contiguous_;
  bool is_complex_;
  DType part_;
  std::vector<std::byte> buffer_;
};

// The last element may end within a byte.
bool have_equal_bytes(const void* a, const void* b, uint64_t count, uint64_t bits) {
  const uint64_t whole = count * bits / 8;
  if (std::memcmp(a, b, whole) != 0) return false;
  const uint64_t rest = count * bits % 8;
  if (rest == 0) return true;
  const auto last_a = static_cast<unsigned>(static_cast<const uint8_t*>(a)[whole]);
  const auto last_b = static_cast<unsigned>(static_cast<const uint8_t*>(b)[whole]);
  return ((last_a ^ last_b) & ((1U << rest) - 1)) == 0;
}

// Where b's dimensions are when they are read in another order.
struct Permuted {
  TensorView view;
  std::array<int64_t, kMaxRank> strides{};
  std::array<int, kMaxRank> place{};  // of each dimension of the tensor
};

bool is_permutation_of(std::span<const int> order, int rank) {
  if (order.size() != static_cast<size_t>(rank)) return false;
  std::array<bool, kMaxRank> seen{};
  for (const int dim : order) {
    if (dim < 0 || dim >= rank || seen[static_cast<size_t>(dim)]) return false;
    seen[static_cast<size_t>(dim)] = true;
  }
  return true;
}

std::string text_of(std::span<const int> order) {
  std::string text = "[";
  for (const int dim : order) text += concat(text.size() > 1 ? ", " : "", dim);
  return text + "]";
}

// Sets `permuted`, whose view borrows from it.
Status permute(const TensorView& view, std::span<const int> order, Permuted& permuted) {
  const Shape& shape = view.desc.shape;
  const int rank = shape.rank();
  for (int i = 0; i < rank; ++i) permuted.place[static_cast<size_t>(i)] = i;
  permuted.view = view;
  if (order.empty()) return {};
  if (!is_permutation_of(order, rank)) {
    return invalid_argument(concat("permutation ", text_of(order), " is none of the ", rank, " dimensions of ", shape.to_text(),
                                   ": name each of them once, from 0"));
  }
  if (dtype_info(view.desc.dtype).bits < 8) {
    return unsupported(concat("a tensor of ", dtype_name(view.desc.dtype), " cannot be read in another order: its elements are packed"));
  }
  std::array<int64_t, kMaxRank> plain{};
  int64_t stride = 1;
  for (int i = rank; i-- > 0;) {
    plain[static_cast<size_t>(i)] = view.strides != nullptr ? view.strides[i] : stride;
    stride *= std::max<int64_t>(shape[i], 1);
  }
  std::array<int64_t, kMaxRank> dims{};
  for (int i = 0; i < rank; ++i) {
    const auto from = static_cast<size_t>(order[static_cast<size_t>(i)]);
    dims[static_cast<size_t>(i)] = shape[static_cast<int>(from)];
    permuted.strides[static_cast<size_t>(i)] = plain[from];
    permuted.place[from] = i;
  }
  permuted.view.desc.shape = Shape(std::span<const int64_t>(dims.data(), static_cast<size_t>(rank)));
  permuted.view.strides = permuted.strides.data();
  return {};
}

// `shape` is the one that the elements are read in, `place` says where each dimension of the tensor is in it.
Result<PairSide> make_side(const Quantization& quantization, DType part, const Shape& shape, const std::array<int, kMaxRank>& place) {
  PairSide side{part, quantization, 1, 1};
  const size_t scales = quantization.scale.size();
  const size_t zeros = quantization.zero_point.size();
  if (scales == 0 && zeros == 0) return side;
  if (scales == 0 || (zeros > 1 && zeros != scales)) {
    return invalid_argument(concat(scales, " scales do not match ", zeros, " zero points: give as many of both"));
  }
  if (scales == 1) return side;
  const int axis = quantization.axis < 0 ? quantization.axis + shape.rank() : quantization.axis;
  if (axis < 0 || axis >= shape.rank()) {
    return invalid_argument(concat("axis ", quantization.axis, " of the scales is not one of ", shape.to_text()));
  }
  const int read = place[static_cast<size_t>(axis)];
  if (static_cast<uint64_t>(shape[read]) != scales) {
    return invalid_argument(concat(scales, " scales do not match axis ", quantization.axis, " of ", shape[read], " elements"));
  }
  side.indices = scales;
  for (int i = read + 1; i < shape.rank(); ++i) side.inner *= static_cast<uint64_t>(shape[i]);
  return side;
}

Status check_pair(const TensorView& a, const TensorView& b, const DifferenceOptions& options) {
  const DTypeInfo& info_a = dtype_info(a.desc.dtype);
  const DTypeInfo& info_b = dtype_info(b.desc.dtype);
  if (info_a.kind == DTypeKind::kNone || info_b.kind == DTypeKind::kNone)
    return invalid_argument("a tensor without a type cannot be compared");
  const bool has_string = info_a.kind == DTypeKind::kString || info_b.kind == DTypeKind::kString;
  const bool has_complex = info_a.kind == DTypeKind::kComplex || info_b.kind == DTypeKind::kComplex;
  if ((has_string || has_complex) && info_a.kind != info_b.kind) {
    return invalid_argument(concat(info_a.name, " cannot be compared with ", info_b.name));
  }
  const bool has_scales = !options.a.scale.empty() || !options.b.scale.empty();
  if ((has_string || has_complex) && has_scales) return invalid_argument(concat("a tensor of ", info_a.name, " has no scales"));
  if (has_string && !options.permutation.empty()) return unsupported("strings cannot be read in another order");
  const auto numel_a = a.desc.shape.numel();
  const auto numel_b = b.desc.shape.numel();
  if (!numel_a || !numel_b || *numel_a != *numel_b) {
    return invalid_argument(
        concat("shapes ", a.desc.shape.to_text(), " and ", b.desc.shape.to_text(), " do not have the same number of elements"));
  }
  if (*numel_a > 0 && (a.data == nullptr || b.data == nullptr)) return invalid_argument("a tensor without data cannot be compared");
  if (!(options.tolerance.absolute >= 0 && options.tolerance.relative >= 0)) return invalid_argument("a tolerance is 0 or more");
  return {};
}

Difference compare_strings(const TensorView& a, const TensorView& b, uint64_t numel) {
  const auto text = [](const TensorView& view, uint64_t i) {
    const StringElement& element = static_cast<const StringElement*>(view.data)[i];
    return std::string_view(element.size > 0 ? element.data : "", element.size);
  };
  Difference difference;
  for (uint64_t i = 0; i < numel; ++i) {
    if (text(a, i) == text(b, i)) continue;
    ++difference.differing;
    if (!difference.first_differing.has_value()) difference.first_differing = i;
  }
  difference.bit_equal = difference.differing == 0;
  return difference;
}

// Compares all blocks. Sets `bit_equal` when the types are the same and all bytes are.
Difference compare_blocks(BlockReader& a, BlockReader& b, const PairSide& side_a, const PairSide& side_b, const ToleranceRule& tolerance,
                          uint64_t count) {
  PairReducer reducer(side_a, side_b, tolerance);
  const bool same_type = side_a.dtype == side_b.dtype;
  const auto same = [](const auto& x, const auto& y) { return std::ranges::equal(x, y); };
  const bool same_meaning = same_type && same(side_a.quantization.scale, side_b.quantization.scale) &&
                            same(side_a.quantization.zero_point, side_b.quantization.zero_point) && side_a.inner == side_b.inner &&
                            side_a.indices == side_b.indices;
  bool bit_equal = same_type;
  for (uint64_t first = 0; first < count; first += kPairBlock) {
    const uint64_t some = std::min(kPairBlock, count - first);
    const void* data_a = a.read(first, some);
    const void* data_b = b.read(first, some);
    const bool equal = same_type && have_equal_bytes(data_a, data_b, some, dtype_info(side_a.dtype).bits);
    bit_equal = bit_equal && equal;
    if (equal && same_meaning) {
      reducer.add_equal(data_a, first, some);
    } else {
      reducer.add(data_a, data_b, first, some);
    }
  }
  Difference difference = reducer.finish();
  difference.bit_equal = bit_equal;
  return difference;
}

// From numbers to elements.
void set_shares(uint64_t parts, Difference& difference) {
  if (difference.compared > 0) {
    difference.share_within_1e_3 = static_cast<double>(difference.within_1e_3) / static_cast<double>(difference.compared);
    difference.share_within_5e_3 = static_cast<double>(difference.within_5e_3) / static_cast<double>(difference.compared);
  }
  difference.max_abs_at /= parts;
  difference.max_rel_at /= parts;
  for (auto* position : {&difference.first_differing, &difference.first_nonfinite_differing}) {
    if (position->has_value()) **position /= parts;
  }
}

}  // namespace

Result<Difference> compare_tensors(const TensorView& a, const TensorView& b, const DifferenceOptions& options) {
  const FloatEnvironment environment;
  TENSORTAP_RETURN_IF_ERROR(check_pair(a, b, options));
  const uint64_t numel = a.desc.shape.numel().value_or(0);
  if (a.desc.dtype == DType::kString) {
    Difference difference = compare_strings(a, b, numel);
    difference.numel = difference.compared = numel;
    return difference;
  }
  Permuted as_is;
  Permuted permuted;
  TENSORTAP_RETURN_IF_ERROR(permute(a, {}, as_is));
  TENSORTAP_RETURN_IF_ERROR(permute(b, options.permutation, permuted));
  if (!options.permutation.empty() && !(permuted.view.desc.shape == a.desc.shape)) {
    return invalid_argument(concat("permutation ", text_of(options.permutation), " of ", b.desc.shape.to_text(), " gives ",
                                   permuted.view.desc.shape.to_text(), ", not ", a.desc.shape.to_text()));
  }
  BlockReader reader_a(a);
  BlockReader reader_b(permuted.view);
  TENSORTAP_ASSIGN_OR_RETURN(const PairSide side_a, make_side(options.a, reader_a.part(), a.desc.shape, as_is.place));
  TENSORTAP_ASSIGN_OR_RETURN(const PairSide side_b, make_side(options.b, reader_b.part(), permuted.view.desc.shape, permuted.place));
  const uint64_t count = numel * reader_a.parts();
  Difference difference = compare_blocks(reader_a, reader_b, side_a, side_b, options.tolerance, count);
  difference.numel = numel;
  difference.compared = count;
  set_shares(reader_a.parts(), difference);
  return difference;
}

}  // namespace tensortap
