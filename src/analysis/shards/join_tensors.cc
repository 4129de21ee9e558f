#include "shards/join_tensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/text.h"
#include "tensor/number_formats.h"
#include "tensor/statistics.h"

namespace tensortap {
namespace {

Status no_fit(std::string_view why) { return invalid_argument(concat("the parts do not fit each other: ", why)); }

// Bytes in front of and behind one index of a dimension: a tensor is `outer` blocks of (dimension x inner) elements.
struct Blocks {
  size_t outer = 1;
  size_t inner = 1;  // in bytes
};

Blocks blocks_of(const Shape& shape, size_t dim, size_t element_bytes) {
  Blocks blocks{1, element_bytes};
  for (size_t i = 0; i < dim; ++i) blocks.outer *= static_cast<size_t>(shape.dims()[i]);
  for (size_t i = dim + 1; i < shape.dims().size(); ++i) blocks.inner *= static_cast<size_t>(shape.dims()[i]);
  return blocks;
}

// Pieces of the parts, in the order in which they lie along the dimension of the whole.
struct PieceOfPart {
  size_t part = 0;
  size_t begin = 0;
  size_t count = 0;
};

std::vector<PieceOfPart> pieces_of(std::span<const WholeTensor> parts, const ShardCut& cut) {
  const auto length = [&](size_t part) { return static_cast<size_t>(parts[part].desc.shape.dims()[cut.dim]); };
  std::vector<PieceOfPart> pieces;
  for (size_t i = 0; i < parts.size(); ++i) {
    pieces.push_back(cut.way == ShardWay::kZigzag ? PieceOfPart{i, 0, length(i) / 2} : PieceOfPart{i, 0, length(i)});
  }
  if (cut.way != ShardWay::kZigzag) return pieces;
  for (size_t i = parts.size(); i-- > 0;) pieces.push_back({i, length(i) / 2, length(i) - length(i) / 2});
  return pieces;
}

WholeTensor put_together(std::span<const WholeTensor> parts, const ShardCut& cut, const Shape& shape) {
  const DType dtype = parts.front().desc.dtype;
  const size_t element = dtype_info(dtype).bits / 8;
  const Blocks blocks = blocks_of(shape, cut.dim, element);
  WholeTensor whole{{dtype, shape}, {}};
  whole.bytes.reserve(blocks.outer * blocks.inner * static_cast<size_t>(shape.dims()[cut.dim]));
  const std::vector<PieceOfPart> pieces = pieces_of(parts, cut);
  for (size_t block = 0; block < blocks.outer; ++block) {
    for (const PieceOfPart& piece : pieces) {
      const WholeTensor& part = parts[piece.part];
      const size_t row = blocks.inner * static_cast<size_t>(part.desc.shape.dims()[cut.dim]);
      const auto begin = part.bytes.begin() + static_cast<ptrdiff_t>(block * row + piece.begin * blocks.inner);
      whole.bytes.insert(whole.bytes.end(), begin, begin + static_cast<ptrdiff_t>(piece.count * blocks.inner));
    }
  }
  return whole;
}

template <class Number, class Read>
std::vector<std::byte> added(std::span<const WholeTensor> parts, uint64_t numel, Read read) {
  std::vector<Number> sums(numel);
  std::vector<Number> values(numel);
  for (const WholeTensor& part : parts) {
    read(part.desc.dtype, part.bytes.data(), 0, numel, values.data());
    for (uint64_t i = 0; i < numel; ++i) {
      // Integers wrap around, as those of the program do.
      if constexpr (std::is_integral_v<Number>) {
        sums[i] = static_cast<Number>(static_cast<uint64_t>(sums[i]) + static_cast<uint64_t>(values[i]));
      } else {
        sums[i] += values[i];
      }
    }
  }
  std::vector<std::byte> bytes(numel * sizeof(Number));
  if (numel > 0) std::memcpy(bytes.data(), sums.data(), bytes.size());
  return bytes;
}

WholeTensor sum_of(std::span<const WholeTensor> parts, const Shape& shape) {
  const uint64_t numel = shape.numel().value_or(0);
  if (is_floating(parts.front().desc.dtype)) return {{DType::kFloat64, shape}, added<double>(parts, numel, to_float64)};
  return {{DType::kInt64, shape}, added<int64_t>(parts, numel, to_int64)};
}

// Mean and deviation are those of finite elements.
double finite_in(const TensorStats& part) {
  const uint64_t other = part.nan + part.pos_inf + part.neg_inf;
  return other < part.count ? static_cast<double>(part.count - other) : 0;
}

}  // namespace

Result<Shape> joined_shape(std::span<const Shape> parts, const ShardCut& cut) {
  if (parts.empty()) return no_fit("there are none");
  const Shape& first = parts.front();
  if (cut.way == ShardWay::kSum) {
    const bool same = std::ranges::all_of(parts, [&](const Shape& part) { return part == first; });
    return same ? Result<Shape>(first) : no_fit("summands have one shape");
  }
  std::vector<int64_t> dims(first.dims().begin(), first.dims().end());
  if (cut.dim >= dims.size()) return no_fit(concat("there is no dimension ", cut.dim, " in ", first.to_text()));
  dims[cut.dim] = 0;
  for (const Shape& part : parts) {
    const auto own = part.dims();
    bool fits = own.size() == dims.size();
    for (size_t i = 0; fits && i < dims.size(); ++i) fits = i == cut.dim || own[i] == dims[i];
    if (!fits) return no_fit(concat(part.to_text(), " beside ", first.to_text(), ", cut along dimension ", cut.dim));
    if (cut.way == ShardWay::kZigzag && own[cut.dim] % 2 != 0) return no_fit(concat("zigzag needs an even length, not ", own[cut.dim]));
    if (__builtin_add_overflow(dims[cut.dim], own[cut.dim], &dims[cut.dim])) return no_fit("they are too large");
  }
  if (!element_count(dims)) return no_fit("they are too large");
  return Shape(dims);
}

Result<WholeTensor> join_tensors(std::span<const WholeTensor> parts, const ShardCut& cut) {
  std::vector<Shape> shapes;
  for (const WholeTensor& part : parts) {
    shapes.push_back(part.desc.shape);
    if (part.desc.dtype != parts.front().desc.dtype) return no_fit("their types differ");
  }
  TENSORTAP_ASSIGN_OR_RETURN(const Shape shape, joined_shape(shapes, cut));
  const DTypeInfo& type = dtype_info(parts.front().desc.dtype);
  if (type.bits < 8 || (cut.way == ShardWay::kSum && type.kind == DTypeKind::kComplex)) {
    return unsupported(concat("parts of type ", type.name, " are not put together"));
  }
  return cut.way == ShardWay::kSum ? sum_of(parts, shape) : put_together(parts, cut, shape);
}

namespace {

// Merges the parts with elements. `finite` elements and `mean` are those of the whole.
double merged(const Statistic& statistic, std::span<const TensorStats> parts, double finite, double mean) {
  double extreme = std::nan("");
  double sum = 0;
  for (const TensorStats& part : parts) {
    if (part.count == 0) continue;
    const double value = part.*statistic.number;
    const double weight = finite_in(part);
    const double away = part.mean - mean;
    if (statistic.merge == StatisticMerge::kSmallest) extreme = std::fmin(extreme, value);
    if (statistic.merge == StatisticMerge::kLargest) extreme = std::fmax(extreme, value);
    if (statistic.merge == StatisticMerge::kNorm) sum += value * value;
    if (statistic.merge == StatisticMerge::kMean && weight > 0) sum += value * weight;
    if (statistic.merge == StatisticMerge::kDeviation && weight > 0) sum += weight * (value * value + away * away);
  }
  if (statistic.merge == StatisticMerge::kNorm) return std::sqrt(sum);
  if (statistic.merge == StatisticMerge::kSmallest || statistic.merge == StatisticMerge::kLargest) return extreme;
  if (finite == 0) return std::nan("");
  return statistic.merge == StatisticMerge::kMean ? sum / finite : std::sqrt(sum / finite);
}

}  // namespace

TensorStats joined_stats(std::span<const TensorStats> parts, const ShardCut& cut) {
  TensorStats whole;
  if (cut.way == ShardWay::kSum || parts.empty()) return whole;
  whole.valid = kStatAll;
  double finite = 0;
  for (const TensorStats& part : parts) {
    if ((part.valid & kStatSampled) != 0) return {};
    if (part.count == 0) continue;
    whole.valid &= part.valid;
    whole.count += part.count;
    finite += finite_in(part);
  }
  whole.valid &= kStatAll;
  for (const Statistic& statistic : kStatisticTable) {
    if (!statistic.is_count()) {
      whole.*statistic.number = merged(statistic, parts, finite, whole.mean);
      continue;
    }
    for (const TensorStats& part : parts) {
      if (part.count > 0) whole.*statistic.count += part.*statistic.count;
    }
  }
  return whole;
}

}  // namespace tensortap
