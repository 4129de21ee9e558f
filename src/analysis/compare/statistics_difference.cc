#include "compare/statistics_difference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "base/json.h"
#include "tensor/digest_text.h"
#include "tensor/dtype.h"

namespace tensortap {
namespace {

StatisticDifference difference_of(double a, double b) {
  StatisticDifference found{true, a, b, 0, 0};
  if (a == b || (std::isnan(a) && std::isnan(b))) return found;
  found.difference = a - b;
  found.relative = b == 0 || !std::isfinite(found.difference) ? std::numeric_limits<double>::infinity() : std::abs(found.difference / b);
  return found;
}

// How far apart two sums of the same elements may be: twice the bounds of docs/statistics.md. NaN and Inf allow nothing.
double allowed_by_rounding(const Statistic& statistic, const RecordRow& row) {
  const TensorStats& stats = row.stats;
  const DTypeInfo& info = dtype_info(static_cast<DType>(row.dtype));
  const bool is_float = info.kind == DTypeKind::kFloat && info.bits <= 32;
  const uint64_t count = std::max<uint64_t>(stats.count - std::min(stats.count, stats.nan + stats.pos_inf + stats.neg_inf), 1);
  const bool has_l2 = (stats.valid & kStatL2) != 0;
  const double rms = has_l2 ? stats.l2 / std::sqrt(static_cast<double>(count)) : std::hypot(stats.mean, stats.std);
  double allowed = 0;
  if (statistic.bit == kStatMean) allowed = (is_float ? 0x1p-16 : 0x1p-37) * rms;
  if (statistic.bit == kStatL2) allowed = (is_float ? 0x1p-16 : 0x1p-37) * stats.l2;
  if (statistic.bit == kStatStd) allowed = (is_float ? 0x1p-14 : 0x1p-27) * stats.std + 0x1p-44 * (std::isfinite(rms) ? rms : 0);
  if (statistic.bit == kStatMeanAbs) allowed = 0x1p-37 * rms;
  return std::isfinite(allowed) ? allowed : 0;
}

// The instructions that formed the sums; "" where devices formed some, or the manifest does not tell it.
std::string kernel_of(const Json& manifest, bool& by_devices) {
  if (!manifest.is_object()) return {};
  const auto devices = manifest.find("devices");
  if (devices != manifest.end() && devices->is_array()) {
    for (const Json& device : *devices) {
      const auto measured = device.is_object() ? device.find("measured") : device.end();
      if (device.is_object() && measured != device.end() && measured->is_number() && *measured != 0) by_devices = true;
    }
  }
  const auto kernel = manifest.find("statistics_kernel");
  return kernel != manifest.end() && kernel->is_string() ? kernel->get<std::string>() : std::string();
}

DigestAnswer compare_digests(const RecordRow& a, const RecordRow& b) {
  const int size = digest_size(static_cast<DigestKind>(a.digest_kind));
  if (size == 0 || a.digest_kind != b.digest_kind || a.dtype != b.dtype || a.numel != b.numel) return DigestAnswer::kUnknown;
  return std::memcmp(a.digest, b.digest, static_cast<size_t>(size)) == 0 ? DigestAnswer::kEqual : DigestAnswer::kDifferent;
}

}  // namespace

bool sums_are_rounded_otherwise(const DumpIndex& a, const DumpIndex& b) {
  bool by_devices = false;
  const std::string kernel_a = kernel_of(manifest_json(a), by_devices);
  const std::string kernel_b = kernel_of(manifest_json(b), by_devices);
  return by_devices || (!kernel_a.empty() && !kernel_b.empty() && kernel_a != kernel_b);
}

StatisticsDifference compare_statistics(const RecordRow& a, const RecordRow& b, bool rounded_otherwise) {
  StatisticsDifference result;
  const uint32_t both = a.stats.valid & b.stats.valid;
  for (size_t i = 0; i < kStatisticTable.size(); ++i) {
    const Statistic& statistic = kStatisticTable[i];
    if ((both & statistic.bit) == 0) continue;
    result.any_known = true;
    result.values[i] = difference_of(statistic.value(a.stats), statistic.value(b.stats));
    StatisticDifference& found = result.values[i];
    const double allowed = std::max(allowed_by_rounding(statistic, a), allowed_by_rounding(statistic, b));
    if (rounded_otherwise && std::abs(found.difference) <= allowed) found.difference = found.relative = 0;
    if (!statistic.is_count()) result.max_relative = std::max(result.max_relative, result.values[i].relative);
    if ((statistic.bit & kStatNonFinite) != 0 && result.values[i].difference != 0) result.nonfinite_differs = true;
  }
  result.digest = compare_digests(a, b);
  result.any_known = result.any_known || result.digest != DigestAnswer::kUnknown;
  result.sampled = ((a.stats.valid | b.stats.valid) & kStatSampled) != 0;
  return result;
}

}  // namespace tensortap
