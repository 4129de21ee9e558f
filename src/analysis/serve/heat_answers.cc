#include "serve/heat_answers.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "find/headroom.h"
#include "query/op_facts.h"
#include "serve/pair_answers.h"
#include "tensor/dtype.h"

namespace tensortap {
namespace {

constexpr uint32_t kHeatMagic = 0x54484554;
constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

// What one record, of this number, says; NaN = it does not.
using HeatMeasure = double (*)(const RecordRow& row, const DumpIndex& dump, size_t number);

double measured(const RecordRow& row, uint32_t bits, double value) { return (row.stats.valid & bits) == bits ? value : kNothing; }

double nonfinite_count(const RecordRow& row, const DumpIndex& /*dump*/, size_t /*number*/) {
  return measured(row, kStatNonFinite, static_cast<double>(row.stats.nan + row.stats.pos_inf + row.stats.neg_inf));
}
double zero_share(const RecordRow& row, const DumpIndex& /*dump*/, size_t /*number*/) {
  return row.stats.count == 0 ? kNothing
                              : measured(row, kStatZero, static_cast<double>(row.stats.zero) / static_cast<double>(row.stats.count));
}
double float16_headroom(const RecordRow& /*row*/, const DumpIndex& dump, size_t number) {
  return headroom_binades(dump, number, DType::kFloat16).value_or(kNothing);
}
template <Stat kBit, double TensorStats::*kMember>
double statistic(const RecordRow& row, const DumpIndex& /*dump*/, size_t /*number*/) {
  return measured(row, kBit, row.stats.*kMember);
}

// How the numbers of an op's records become one.
enum class Joined { kSum, kLargest, kLeast };

struct HeatKey {
  std::string_view name;
  HeatMeasure measure;
  Joined joined;
};
constexpr HeatKey kKeys[] = {
    {"nonfinite", nonfinite_count, Joined::kSum},
    {"absmax", statistic<kStatAbsMax, &TensorStats::absmax>, Joined::kLargest},
    {"std", statistic<kStatStd, &TensorStats::std>, Joined::kLargest},
    {"zero", zero_share, Joined::kLargest},
    {"headroom", float16_headroom, Joined::kLeast},
    {"l2", statistic<kStatL2, &TensorStats::l2>, Joined::kLargest},
    {"mean", statistic<kStatMean, &TensorStats::mean>, Joined::kLargest},
};

void join(double& joined, double value, Joined how) {
  if (std::isnan(value)) return;
  if (std::isnan(joined)) {
    joined = value;
  } else if (how == Joined::kSum) {
    joined += value;
  } else {
    const bool larger = std::abs(value) > std::abs(joined);
    if (how == Joined::kLargest ? larger : value < joined) joined = value;
  }
}

std::vector<double> measured_heat(const ServedDump& dump, const HeatKey& key, std::optional<int64_t> step) {
  std::vector<double> heat(dump.index().ops().size(), kNothing);
  for (size_t number = 0; number < dump.rows().size(); ++number) {
    const RecordRow& row = dump.rows()[number];
    const bool belongs = !step || row.step == *step || row.phase == static_cast<uint8_t>(Phase::kLoad);
    if (row.op < heat.size() && belongs && !is_input(row)) join(heat[row.op], key.measure(row, dump.index(), number), key.joined);
  }
  return heat;
}

Answer heat_of(const std::vector<double>& heat) {
  float smallest = std::numeric_limits<float>::infinity();
  float largest = -smallest;
  std::vector<float> numbers;
  numbers.reserve(heat.size());
  for (const double value : heat) {
    const auto number = static_cast<float>(value);
    numbers.push_back(number);
    if (!std::isfinite(number)) continue;
    smallest = std::min(smallest, number);
    largest = std::max(largest, number);
  }
  if (smallest > largest) smallest = largest = std::numeric_limits<float>::quiet_NaN();
  std::string bytes;
  append_bytes<uint32_t>(bytes, std::to_array({kHeatMagic, static_cast<uint32_t>(numbers.size()), std::bit_cast<uint32_t>(smallest),
                                               std::bit_cast<uint32_t>(largest)}));
  append_bytes<float>(bytes, numbers);
  return binary_answer(std::move(bytes));
}

}  // namespace

Result<Answer> heat_answer(const AskedDump& asked) {
  TENSORTAP_RETURN_IF_ERROR(asked.request.check_names({"dump", "by", "step"}));
  TENSORTAP_ASSIGN_OR_RETURN(const std::string by,
                             asked.request.choice("by", {"nonfinite", "absmax", "std", "zero", "headroom", "l2", "mean", "error", "own"}));
  constexpr int64_t kLeastStep = std::numeric_limits<int64_t>::min();
  TENSORTAP_ASSIGN_OR_RETURN(const int64_t number, asked.request.number("step", 0, kLeastStep, std::numeric_limits<int64_t>::max()));
  const std::optional<int64_t> step = asked.request.text("step").empty() ? std::nullopt : std::optional(number);
  if (by == "error" || by == "own") {
    TENSORTAP_ASSIGN_OR_RETURN(const std::vector<double> heat, error_heat(asked, by == "own", step));
    return heat_of(heat);
  }
  return heat_of(measured_heat(asked.dump, *std::ranges::find(kKeys, by, &HeatKey::name), step));
}

}  // namespace tensortap
