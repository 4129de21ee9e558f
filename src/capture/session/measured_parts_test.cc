#include "session/measured_parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "base/spans.h"
#include "stats/stats_compare.h"

namespace tensortap {
namespace {

constexpr float kHuge = std::numeric_limits<float>::infinity();

// What a device would find in these elements.
tensortap_measured measured(std::span<const float> values) {
  tensortap_measured part{};
  part.elements = static_cast<int64_t>(values.size());
  part.first_nonfinite = -1;
  part.min = kHuge;
  part.max = -kHuge;
  int64_t finite = 0;
  for (const float x : values) {
    part.nan += std::isnan(x) ? 1 : 0;
    part.pos_inf += x == kHuge ? 1 : 0;
    part.neg_inf += x == -kHuge ? 1 : 0;
    part.zero += x == 0 ? 1 : 0;
    part.neg_zero += x == 0 && std::signbit(x) ? 1 : 0;
    if (!std::isfinite(x)) continue;
    ++finite;
    part.negative += x < 0 ? 1 : 0;
    part.subnormal += x != 0 && std::abs(x) < 0x1p-126F ? 1 : 0;
    part.min = std::min<double>(part.min, x);
    part.max = std::max<double>(part.max, x);
    part.sum += x;
    part.magnitudes += std::abs(x);
  }
  const auto is_odd = [](float x) { return !std::isfinite(x); };
  const auto first = std::ranges::find_if(values, is_odd);
  if (first != values.end()) part.first_nonfinite = first - values.begin();
  for (const float x : values) part.deviations += std::isfinite(x) ? std::pow(x - part.sum / static_cast<double>(finite), 2) : 0;
  return part;
}

StatsOptions all() { return {.wanted = kStatAll, .policy = NonFinitePolicy::kSkipNan, .sample_limit = 0, .parallel_for = {}}; }

TEST(MeasuredParts, TogetherAreTheStatisticsOfTheTensor) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(1000, 1);
  std::vector<float> values(5000);
  for (const int odd : {0, 1, 2}) {
    std::ranges::generate(values, [&] { return normal(random); });
    if (odd > 0) values[3210] = values[4000] = kHuge, values[4001] = -0.0F, values[17] = 1e-42F;
    if (odd > 1) std::fill(values.begin() + 2000, values.begin() + 3000, std::numeric_limits<float>::quiet_NaN());
    std::vector<tensortap_measured> parts;
    for (size_t i = 0; i < values.size(); i += 1000) parts.push_back(measured(*part_of(std::span<const float>(values), i, 1000)));
    const TensorView view{{DType::kFloat32, Shape({5000})}, values.data(), nullptr};
    for (const NonFinitePolicy policy : {NonFinitePolicy::kSkipNan, NonFinitePolicy::kPropagate, NonFinitePolicy::kSkipNonFinite}) {
      StatsOptions options = all();
      options.policy = policy;
      EXPECT_EQ(difference(DType::kFloat32, compute_stats_reference(view, options), join_parts(parts, DType::kFloat32, options)), "")
          << odd;
    }
  }
}

TEST(MeasuredParts, ExtremesOfIntegersAreExactInTheirType) {
  tensortap_measured first{};
  first.elements = 2;
  first.first_nonfinite = -1;
  first.min_integer = -5;
  first.max_integer = (int64_t{1} << 62) + 1;
  first.min = -5;
  first.max = 0x1p62;
  tensortap_measured second = first;
  second.min_integer = 7;
  second.max_integer = (int64_t{1} << 62) + 3;
  second.min = 7;
  const std::vector parts = {first, second};
  const TensorStats stats = join_parts(parts, DType::kInt64, all());
  EXPECT_EQ(stats.min_integer, -5);
  EXPECT_EQ(stats.max_integer, (int64_t{1} << 62) + 3);
  EXPECT_EQ(stats.count, 4U);
  EXPECT_EQ(stats.first_nonfinite, -1);
}

TEST(MeasuredParts, AskForWhatIsWanted) {
  EXPECT_EQ(extras_of({.wanted = kStatFull}), 0U);
  EXPECT_EQ(extras_of({.wanted = kStatMeanAbs}), TENSORTAP_MEASURE_MAGNITUDES);
  EXPECT_EQ(extras_of({.wanted = kStatAll}), TENSORTAP_MEASURE_MAGNITUDES | TENSORTAP_MEASURE_SUBNORMAL);
}

}  // namespace
}  // namespace tensortap
