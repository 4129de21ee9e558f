#include "find/watch_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "find/nonfinite_counts.h"
#include "tensor/number_formats.h"

namespace tensortap {
namespace {

constexpr uint64_t kBlock = 4096;
using Block = std::array<double, kBlock>;

uint8_t bits_of(const TensorStats& counted) {
  return static_cast<uint8_t>((counted.nan > 0 ? kWatchNaN : 0) | (counted.pos_inf + counted.neg_inf > 0 ? kWatchInf : 0));
}

bool has_numbers(DType dtype) {
  const DTypeKind kind = dtype_info(dtype).kind;
  return kind != DTypeKind::kNone && kind != DTypeKind::kString && kind != DTypeKind::kComplex;
}

// The packed elements of a record, and how many the data really has.
struct Elements {
  RecordData data;
  uint64_t count = 0;
};

std::optional<Elements> elements_of(const DumpIndex& dump, size_t row) {
  const RecordRow& record = dump.rows()[row];
  if ((record.flags & kRecordHasData) == 0 || !has_numbers(static_cast<DType>(record.dtype))) return std::nullopt;
  Result<RecordData> data = dump.data(row);
  if (!data.ok() || data->view.data == nullptr || !data->view.is_contiguous()) return std::nullopt;
  const std::optional<uint64_t> count = data->view.desc.shape.numel();
  if (!count || *count == 0 || !has_numbers(data->view.desc.dtype)) return std::nullopt;
  return Elements{*std::move(data), *count};
}

template <class Take>
void for_blocks(const Elements& elements, const Take& take) {
  Block block;
  for (uint64_t begin = 0; begin < elements.count; begin += kBlock) {
    const uint64_t count = std::min(kBlock, elements.count - begin);
    to_float64(elements.data.view.desc.dtype, elements.data.view.data, begin, count, block.data());
    take(block, count);
  }
}

// Two records of as many elements, block by block; false when they do not have that.
template <class Take>
bool for_pairs(const DumpIndex& dump, size_t row, size_t previous, const Take& take) {
  const std::optional<Elements> now = elements_of(dump, row);
  const std::optional<Elements> before = elements_of(dump, previous);
  if (!now || !before || now->count != before->count) return false;
  Block a;
  Block b;
  for (uint64_t begin = 0; begin < now->count; begin += kBlock) {
    const uint64_t count = std::min(kBlock, now->count - begin);
    to_float64(now->data.view.desc.dtype, now->data.view.data, begin, count, a.data());
    to_float64(before->data.view.desc.dtype, before->data.view.data, begin, count, b.data());
    for (size_t i = 0; i < count; ++i) take(a[i], b[i]);
  }
  return true;
}

}  // namespace

// Where rows have no counts of NaN and Inf and there is no data, statistics that are not finite tell.
std::optional<uint8_t> WatchValues::nonfinite() {
  const RecordRow& record = dump_.rows()[row_];
  if (!can_hold_nonfinite(record)) return 0;
  if (const std::optional<TensorStats> counted = stats_with(dump_, row_, kStatNonFinite)) {
    return bits_of(*counted);
  }
  const TensorStats& stats = record.stats;
  uint8_t bits = 0;
  bool known = false;
  for (const auto& [bit, value] : {std::pair{kStatMin, stats.min}, {kStatMax, stats.max}, {kStatMean, stats.mean}, {kStatL2, stats.l2}}) {
    if ((stats.valid & bit) == 0) continue;
    known = true;
    bits |= std::isnan(value) ? kWatchNaN : std::isinf(value) ? kWatchInf : 0;
  }
  return known ? std::optional(bits) : std::nullopt;
}

std::optional<uint8_t> WatchValues::counted_nonfinite() {
  if (!can_hold_nonfinite(dump_.rows()[row_])) return 0;
  const std::optional<TensorStats> counted = stats_with(dump_, row_, kStatNonFinite);
  const std::optional<uint8_t> found = counted ? bits_of(*counted) : nonfinite();
  const bool is_whole = counted && (counted->valid & kStatSampled) == 0;
  return is_whole || (found && *found != 0) ? found : std::nullopt;
}

std::optional<TensorStats> WatchValues::stats(uint32_t wanted) const { return stats_with(dump_, row_, wanted); }

std::optional<double> WatchValues::abs_mean() const {
  if (const auto known = stats(kStatMin | kStatMax | kStatMean); known && (known->min >= 0 || known->max <= 0))
    return std::abs(known->mean);
  const std::optional<Elements> elements = elements_of(dump_, row_);
  if (!elements) return std::nullopt;
  double sum = 0;
  for_blocks(*elements, [&](const Block& block, uint64_t count) {
    for (size_t i = 0; i < count; ++i) sum += std::abs(block[i]);
  });
  return sum / static_cast<double>(elements->count);
}

std::optional<double> WatchValues::range_percentage(double start, double end) const {
  if (const auto known = stats(kStatMin | kStatMax)) {
    if (known->min >= start && known->max <= end) return 100;
    if (known->max < start || known->min > end) return 0;
  }
  const std::optional<Elements> elements = elements_of(dump_, row_);
  if (!elements) return std::nullopt;
  uint64_t inside = 0;
  for_blocks(*elements, [&](const Block& block, uint64_t count) {
    for (size_t i = 0; i < count; ++i) inside += block[i] >= start && block[i] <= end ? 1 : 0;
  });
  return 100 * static_cast<double>(inside) / static_cast<double>(elements->count);
}

std::optional<double> WatchValues::update_ratio(size_t previous, double epsilon) const {
  double moved = 0;
  double before = 0;
  const bool known = for_pairs(dump_, row_, previous, [&](double now, double then) {
    moved += std::abs(now - then);
    before += std::abs(then);
  });
  const auto count = static_cast<double>(dump_.rows()[row_].numel);
  return known ? std::optional((moved / count) / (before / count + epsilon)) : std::nullopt;
}

std::optional<bool> WatchValues::is_unchanged(const Watchpoint& watchpoint, size_t previous) {
  const double rtol = watchpoint.value_of("rtol").value_or(0);
  const double atol = watchpoint.value_of("atol").value_or(0);
  const bool equal_nan = watchpoint.value_of("equal_nan").value_or(0) != 0;
  bool same = true;
  const bool known = for_pairs(dump_, row_, previous, [&](double now, double then) {
    const bool both_nan = equal_nan && std::isnan(now) && std::isnan(then);
    same = same && (both_nan || std::abs(now - then) <= atol + rtol * std::abs(then));
  });
  return known ? std::optional(same) : std::nullopt;
}

std::optional<double> WatchValues::quantity(WatchQuantity quantity, const Watchpoint& watchpoint, std::optional<size_t> previous) {
  const auto from = [](const std::optional<TensorStats>& known, auto value) {
    return known ? std::optional<double>(value(*known)) : std::nullopt;
  };
  switch (quantity) {
    case WatchQuantity::kMax:
      return from(stats(kStatMax), [](const TensorStats& known) { return known.max; });
    case WatchQuantity::kMin:
      return from(stats(kStatMin), [](const TensorStats& known) { return known.min; });
    case WatchQuantity::kMean:
      return from(stats(kStatMean), [](const TensorStats& known) { return known.mean; });
    case WatchQuantity::kMaxMin:
      return from(stats(kStatMin | kStatMax), [](const TensorStats& known) { return known.max - known.min; });
    case WatchQuantity::kZeroPercentage:
      return from(stats(kStatZero), [&](const TensorStats& known) {
        const uint64_t count = known.count > 0 ? known.count : dump_.rows()[row_].numel;
        return 100 * static_cast<double>(known.zero) / static_cast<double>(count);
      });
    case WatchQuantity::kAbsMean:
      if (!abs_mean_) abs_mean_ = abs_mean();
      return *abs_mean_;
    case WatchQuantity::kRangePercentage:
      return range_percentage(watchpoint.value_of("range_start_inclusive").value_or(0),
                              watchpoint.value_of("range_end_inclusive").value_or(0));
    case WatchQuantity::kUpdateRatio:
      return previous ? update_ratio(*previous, watchpoint.value_of("epsilon").value_or(0)) : std::nullopt;
    case WatchQuantity::kNone:
      break;
  }
  return std::nullopt;
}

}  // namespace tensortap
