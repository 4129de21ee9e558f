#include "compare/statistics_difference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tensor/digest_text.h"

namespace tensortap {
namespace {

StatisticDifference difference_of(double a, double b) {
  StatisticDifference found{true, a, b, 0, 0};
  if (a == b || (std::isnan(a) && std::isnan(b))) return found;
  found.difference = a - b;
  found.relative = b == 0 || !std::isfinite(found.difference) ? std::numeric_limits<double>::infinity() : std::abs(found.difference / b);
  return found;
}

DigestAnswer compare_digests(const RecordRow& a, const RecordRow& b) {
  const int size = digest_size(static_cast<DigestKind>(a.digest_kind));
  if (size == 0 || a.digest_kind != b.digest_kind || a.dtype != b.dtype || a.numel != b.numel) return DigestAnswer::kUnknown;
  return std::memcmp(a.digest, b.digest, static_cast<size_t>(size)) == 0 ? DigestAnswer::kEqual : DigestAnswer::kDifferent;
}

}  // namespace

StatisticsDifference compare_statistics(const RecordRow& a, const RecordRow& b) {
  StatisticsDifference result;
  const uint32_t both = a.stats.valid & b.stats.valid;
  for (size_t i = 0; i < kStatisticTable.size(); ++i) {
    const Statistic& statistic = kStatisticTable[i];
    if ((both & statistic.bit) == 0) continue;
    result.any_known = true;
    result.values[i] = difference_of(statistic.value(a.stats), statistic.value(b.stats));
    if (!statistic.is_count()) result.max_relative = std::max(result.max_relative, result.values[i].relative);
    if ((statistic.bit & kStatNonFinite) != 0 && result.values[i].difference != 0) result.nonfinite_differs = true;
  }
  result.digest = compare_digests(a, b);
  result.any_known = result.any_known || result.digest != DigestAnswer::kUnknown;
  result.sampled = ((a.stats.valid | b.stats.valid) & kStatSampled) != 0;
  return result;
}

}  // namespace tensortap
