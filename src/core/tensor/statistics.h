// The table of all statistics. Everything that lists statistics reads it: configs, expressions, tables, JSON, exports, comparisons. A new
// one needs a field of TensorStats, a row here, a column of record_row.cc and its computation in src/core/stats/.

#ifndef TENSORTAP_TENSOR_STATISTICS_H_
#define TENSORTAP_TENSOR_STATISTICS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "tensor/tensor_stats.h"

namespace tensortap {

// How the value of a whole comes from those of its parts. Means and deviations weigh each part by its finite elements.
enum class StatisticMerge : uint8_t { kSmallest, kLargest, kMean, kDeviation, kNorm, kSum };

// Where a record's JSON has it.
enum class StatisticInJson : uint8_t { kAlways, kIfMeasured, kNever };

struct Statistic {
  std::string_view name;   // in configs, expressions, JSON, tables and columns
  std::string_view title;  // in `show`
  Stat bit;
  double TensorStats::*number;   // one of these two is set: a value in the unit of the elements,
  uint64_t TensorStats::*count;  // or a number of elements
  int64_t TensorStats::*exact;   // of integer types, where it exists
  StatisticMerge merge;
  StatisticInJson json;
  std::string_view meaning;

  [[nodiscard]] constexpr bool is_count() const { return count != nullptr; }
  [[nodiscard]] constexpr double value(const TensorStats& stats) const {
    return is_count() ? static_cast<double>(stats.*count) : stats.*number;
  }
};

constexpr Statistic value_statistic(std::string_view name, Stat bit, double TensorStats::*number, StatisticMerge merge,
                                    std::string_view meaning) {
  return {name, name, bit, number, nullptr, nullptr, merge, StatisticInJson::kAlways, meaning};
}
constexpr Statistic with_exact(Statistic statistic, int64_t TensorStats::*exact) {
  statistic.exact = exact;
  return statistic;
}
// One that is computed if it is asked for.
constexpr Statistic on_request(Statistic statistic) {
  statistic.json = StatisticInJson::kIfMeasured;
  return statistic;
}
constexpr Statistic count_statistic(std::string_view name, std::string_view title, Stat bit, uint64_t TensorStats::*count,
                                    StatisticInJson json, std::string_view meaning) {
  return {name, title, bit, nullptr, count, nullptr, StatisticMerge::kSum, json, meaning};
}

// In the order in which they are shown; values first.
inline constexpr std::array kStatisticTable = {
    with_exact(value_statistic("min", kStatMin, &TensorStats::min, StatisticMerge::kSmallest, "The smallest element."),
               &TensorStats::min_integer),
    with_exact(value_statistic("max", kStatMax, &TensorStats::max, StatisticMerge::kLargest, "The largest element."),
               &TensorStats::max_integer),
    value_statistic("mean", kStatMean, &TensorStats::mean, StatisticMerge::kMean, "The mean of the elements."),
    value_statistic("std", kStatStd, &TensorStats::std, StatisticMerge::kDeviation, "The standard deviation of the population."),
    value_statistic("l2", kStatL2, &TensorStats::l2, StatisticMerge::kNorm, "The square root of the sum of squares."),
    value_statistic("absmax", kStatAbsMax, &TensorStats::absmax, StatisticMerge::kLargest, "The largest magnitude."),
    on_request(value_statistic("mean_abs", kStatMeanAbs, &TensorStats::mean_abs, StatisticMerge::kMean, "The mean of the magnitudes.")),
    count_statistic("nan", "nan", kStatNan, &TensorStats::nan, StatisticInJson::kAlways, "How many are NaN."),
    count_statistic("pos_inf", "+inf", kStatPosInf, &TensorStats::pos_inf, StatisticInJson::kAlways, "How many are +Inf."),
    count_statistic("neg_inf", "-inf", kStatNegInf, &TensorStats::neg_inf, StatisticInJson::kAlways, "How many are -Inf."),
    count_statistic("zero", "zero", kStatZero, &TensorStats::zero, StatisticInJson::kAlways, "How many are zero, of both signs."),
    count_statistic("neg_zero", "-0", kStatNegZero, &TensorStats::neg_zero, StatisticInJson::kNever, "How many are minus zero."),
    count_statistic("positive", "positive", kStatPositive, &TensorStats::positive, StatisticInJson::kNever,
                    "How many are above zero, +Inf included."),
    count_statistic("negative", "negative", kStatNegative, &TensorStats::negative, StatisticInJson::kNever,
                    "How many are below zero, -Inf included."),
    on_request(count_statistic("subnormal", "subnormal", kStatSubnormal, &TensorStats::subnormal, StatisticInJson::kAlways,
                               "How many are subnormal in the tensor's own type.")),
};

// Null for no such name.
constexpr const Statistic* find_statistic(std::string_view name) {
  const auto* found = std::ranges::find(kStatisticTable, name, &Statistic::name);
  return found == kStatisticTable.end() ? nullptr : found;
}

}  // namespace tensortap

#endif  // TENSORTAP_TENSOR_STATISTICS_H_
