#include "compare/lone_difference.h"

#include <algorithm>
#include <cmath>

#include "tensor/number_formats.h"

namespace tensortap {

ElementLimit element_limit_of_copy(double step, double allowed) {
  constexpr double kRoundings = 4;
  return {std::max(kRoundings * step, allowed), 2 * step};
}

std::optional<ElementLimit> element_limit_of_op(const Difference& difference, double allowed) {
  constexpr double kFar = 8;
  constexpr uint64_t kOneOfThese = 256;  // elements
  constexpr uint64_t kFew = 4;
  if (difference.differing > std::max(kFew, difference.finite / kOneOfThese)) return std::nullopt;
  return ElementLimit{kFar * allowed, kFar * allowed};
}

bool has_lone_difference(const DumpIndex& a, uint32_t row_a, const Difference& difference, const ElementLimit& limit) {
  constexpr double kSmallest = 0x1p-23;  // two steps of float16 next to 0
  const RecordRow& row = a.rows()[row_a];
  const auto dtype = static_cast<DType>(row.dtype);
  if (difference.finite == 0 || difference.nonfinite_differing > 0 || !is_floating(dtype)) return false;
  const Result<RecordData> data = a.data(row_a);
  if (!data.ok() || data->view.data == nullptr || !data->view.is_contiguous()) return false;
  const double usual = std::max(difference.l2_a, difference.l2_b) / std::sqrt(static_cast<double>(difference.finite));
  const auto is_beyond = [&](uint64_t at, double distance, double size) {
    return at < row.numel && distance > kSmallest && distance > std::max(limit.of_itself * size, limit.of_usual * usual);
  };
  const auto size_at = [&](uint64_t at) {
    double value = 0;
    if (at < row.numel) to_float64(dtype, data->view.data, at, 1, &value);
    return std::abs(value);
  };
  // |a - b| = r |b| is at least r / (1 + r) of |a|.
  const double most = size_at(difference.max_rel_at);
  const double relative = difference.max_rel / (1 + difference.max_rel);
  return is_beyond(difference.max_abs_at, difference.max_abs, size_at(difference.max_abs_at)) ||
         is_beyond(difference.max_rel_at, std::isfinite(difference.max_rel) ? relative * most : most, most);
}

}  // namespace tensortap
