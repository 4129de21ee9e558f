// Differences against those that NumPy computes in float64 (tools/make_compare_cases.py).

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>

#include "base/files.h"
#include "base/text.h"
#include "compare/compare_tensors.h"
#include "compare/difference.h"
#include "compare/every_target.h"
#include "tensor/dtype.h"

namespace tensortap {
namespace {

struct Header {
  uint32_t dtype;
  uint32_t elements;
  uint32_t bytes;
  uint32_t reserved;
  std::array<double, 16> expected;
};
static_assert(sizeof(Header) == 144);

void expect_near(const char* name, double expected, double actual, double scale) {
  if (std::isfinite(expected)) {
    EXPECT_NEAR(expected, actual, 1e-12 * scale) << name;
  } else {
    EXPECT_EQ(expected, actual) << name;
  }
}

void expect_numpy(const Header& header, const char* a, const char* b) {
  const TensorDesc desc{static_cast<DType>(header.dtype), Shape{header.elements}};
  const auto found =
      compare_tensors({desc, a, nullptr}, {desc, b, nullptr}, {.tolerance = {1e-4, 1e-3}, .a = {}, .b = {}, .permutation = {}});
  ASSERT_TRUE(found.ok()) << found.status().message();
  const auto& [differing, first, max_abs, max_abs_at, max_rel, max_rel_at, mean, mean_abs, rmse, l2_a, l2_b, outside, below, nan_a, nan_b,
               max_ulp] = header.expected;
  EXPECT_EQ(static_cast<double>(found->differing), differing);
  EXPECT_EQ(found->first_differing.has_value() ? static_cast<double>(*found->first_differing) : -1, first);
  EXPECT_EQ(found->max_abs, max_abs);
  EXPECT_EQ(static_cast<double>(found->max_abs_at), max_abs_at);
  EXPECT_EQ(found->max_rel, max_rel);
  EXPECT_EQ(static_cast<double>(found->max_rel_at), max_rel_at);
  expect_near("mean", mean, found->mean, mean_abs);
  expect_near("mean_abs", mean_abs, found->mean_abs, mean_abs);
  expect_near("rmse", rmse, found->rmse, rmse);
  expect_near("l2_a", l2_a, found->l2_a, l2_a);
  expect_near("l2_b", l2_b, found->l2_b, l2_b);
  EXPECT_EQ(static_cast<double>(found->outside), outside);
  EXPECT_DOUBLE_EQ(found->share_within_1e_3, below);
  EXPECT_EQ(static_cast<double>(found->nonfinite_a.nan), nan_a);
  EXPECT_EQ(static_cast<double>(found->nonfinite_b.nan), nan_b);
  EXPECT_EQ(static_cast<double>(found->max_ulp), max_ulp);
}

TEST(DifferenceGolden, EveryTargetAgreesWithNumPyInFloat64) {
  const auto file = read_file(std::string(TENSORTAP_TESTDATA) + "/golden/compare/cases.bin");
  ASSERT_TRUE(file.ok()) << file.status().message();
  with_every_target([&] {
    std::set<uint32_t> dtypes;
    size_t cases = 0;
    for (size_t at = 0; at + sizeof(Header) <= file->size(); ++cases) {
      Header header;
      std::memcpy(&header, file->data() + at, sizeof(header));
      SCOPED_TRACE(concat("case ", cases, " ", dtype_name(static_cast<DType>(header.dtype)), " of ", header.elements));
      const size_t padded = (header.bytes + 7) / 8 * 8;
      const char* data = file->data() + at + sizeof(header);
      expect_numpy(header, data, data + padded);
      dtypes.insert(header.dtype);
      at += sizeof(header) + 2 * padded;
    }
    EXPECT_EQ(dtypes.size(), 17U);
    EXPECT_EQ(cases, 17U * 12);
  });
}

}  // namespace
}  // namespace tensortap
