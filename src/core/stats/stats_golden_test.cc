// Statistics against those that NumPy computes in float64 (tools/make_stats_cases.py).

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "stats/stats.h"
#include "stats/stats_compare.h"
#include "stats/stats_target.h"

namespace tensortap {
namespace {

struct Header {
  uint32_t dtype;
  uint32_t elements;
  uint32_t bytes;
  uint32_t reserved;
  std::array<double, 10> expected;
};
static_assert(sizeof(Header) == 96);

void expect_numpy(const Header& header, const std::string& data) {
  const auto dtype = static_cast<DType>(header.dtype);
  const TensorStats stats = compute_stats({{dtype, Shape{header.elements}}, data.data(), nullptr}, {});
  const auto& [min, max, mean, std, l2, absmax, nan, inf, zero, negative] = header.expected;
  const bool is_complex = dtype_info(dtype).kind == DTypeKind::kComplex;
  const bool has_float_lanes = dtype_info(dtype).kind == DTypeKind::kFloat && dtype_info(dtype).bits <= 32;
  // NumPy's modulus of a complex number may differ in the last bit.
  EXPECT_TRUE(near_number(min, stats.min, is_complex ? 1e-15 * min : 0)) << min << " " << stats.min;
  EXPECT_TRUE(near_number(max, stats.max, is_complex ? 1e-15 * max : 0)) << max << " " << stats.max;
  EXPECT_TRUE(near_number(absmax, stats.absmax, is_complex ? 1e-15 * absmax : 0)) << absmax << " " << stats.absmax;
  const double bound = has_float_lanes ? 0x1p-17 : 1e-12;
  EXPECT_TRUE(near_number(mean, stats.mean, bound * l2 / std::sqrt(header.elements - nan))) << mean << " " << stats.mean;
  EXPECT_TRUE(near_number(l2, stats.l2, bound * l2)) << l2 << " " << stats.l2;
  EXPECT_TRUE(near_number(std, stats.std, 4 * bound * std + 1e-14 * absmax)) << std << " " << stats.std;
  EXPECT_EQ(stats.nan, static_cast<uint64_t>(nan));
  EXPECT_EQ(stats.pos_inf + stats.neg_inf, static_cast<uint64_t>(inf));
  EXPECT_EQ(stats.zero, static_cast<uint64_t>(zero));
  EXPECT_EQ(stats.negative, static_cast<uint64_t>(negative));
}

// M23
TEST(StatsGolden, EveryTargetAgreesWithNumPyInFloat64) {
  const auto file = read_file(std::string(TENSORTAP_TESTDATA) + "/golden/stats/cases.bin");
  ASSERT_TRUE(file.ok()) << file.status().message();
  for (const std::string_view target : stats_targets()) {
    ASSERT_TRUE(set_stats_target(target));
    std::set<uint32_t> dtypes;
    size_t cases = 0;
    for (size_t at = 0; at + sizeof(Header) <= file->size(); ++cases) {
      Header header;
      std::memcpy(&header, file->data() + at, sizeof(header));
      SCOPED_TRACE(concat(target, " case ", cases, " ", dtype_name(static_cast<DType>(header.dtype)), " of ", header.elements));
      expect_numpy(header, file->substr(at + sizeof(header), header.bytes));
      dtypes.insert(header.dtype);
      at += sizeof(header) + (header.bytes + 7) / 8 * 8;
    }
    EXPECT_EQ(dtypes.size(), 19U);
    EXPECT_EQ(cases, 19U * 18);
  }
  set_stats_target(stats_targets().front());
}

}  // namespace
}  // namespace tensortap
