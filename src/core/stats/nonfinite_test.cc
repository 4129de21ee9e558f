#include "stats/nonfinite.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "stats/stats_target.h"
#include "tensor/number_formats.h"

namespace tensortap {
namespace {

// Runs `test` with every target of this machine, and sets the first one again.
template <class Test>
void with_every_scan(const Test& test) {
  for (const std::string_view target : stats_targets()) {
    SCOPED_TRACE(std::string(target));
    ASSERT_TRUE(set_stats_target(target));
    test();
  }
  set_stats_target(stats_targets().front());
}

bool scans(DType dtype, const void* data, uint64_t numel) {
  return has_nonfinite({{dtype, Shape({static_cast<int64_t>(numel)})}, data, nullptr});
}

// The value of one element by the number formats' own tables.
double value_of(DType dtype, const std::byte* data) {
  double value = 0;
  to_float64(dtype, data, 0, 1, &value);
  return value;
}

TEST(HasNonFinite, TellsEveryPatternOfEveryNarrowFloatApart) {
  with_every_scan([] {
    for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat8E4M3FN, DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2,
                              DType::kFloat8E5M2FNUZ, DType::kFloat8E8M0}) {
      const uint64_t bytes = dtype_info(dtype).bits / 8U;
      for (uint32_t pattern = 0; pattern < 1U << (bytes * 8); ++pattern) {
        // A vector full of the pattern, so that both the vectors and the lanes are looked at.
        std::vector<std::byte> data(bytes * 100);
        for (uint64_t i = 0; i < 100; ++i) std::memcpy(data.data() + i * bytes, &pattern, bytes);
        ASSERT_EQ(scans(dtype, data.data(), 100), !std::isfinite(value_of(dtype, data.data())))
            << dtype_name(dtype) << " " << std::hex << pattern;
      }
    }
  });
}

template <class Float, class Bits>
void expect_patterns(DType dtype, std::initializer_list<std::pair<Bits, bool>> patterns) {
  for (const auto& [pattern, special] : patterns) {
    const std::vector<Float> data(37, std::bit_cast<Float>(pattern));
    EXPECT_EQ(scans(dtype, data.data(), data.size()), special) << dtype_name(dtype) << " " << std::hex << pattern;
  }
}

TEST(HasNonFinite, KnowsTheEdgesOfTheWideFloats) {
  with_every_scan([] {
    expect_patterns<float, uint32_t>(DType::kFloat32, {{0x7F7FFFFF, false},
                                                       {0xFF7FFFFF, false},
                                                       {0x80000000, false},
                                                       {1, false},
                                                       {0x7F800000, true},
                                                       {0xFF800000, true},
                                                       {0x7F800001, true},
                                                       {0xFFFFFFFF, true}});
    expect_patterns<double, uint64_t>(DType::kFloat64, {{0x7FEFFFFFFFFFFFFF, false},
                                                        {0xFFEFFFFFFFFFFFFF, false},
                                                        {0x00000000FFFFFFFF, false},
                                                        {0x8000000000000000, false},
                                                        {0x7FF0000000000000, true},
                                                        {0xFFF0000000000000, true},
                                                        {0x7FF0000000000001, true}});
  });
}

// Sizes around those of vectors, groups and blocks; one element is special, or none is.
RC_GTEST_PROP(HasNonFinite, FindsOneElementAnywhere, ()) {
  const DType dtype = *rc::gen::element(DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16, DType::kFloat8E5M2,
                                        DType::kFloat8E4M3FNUZ, DType::kComplex64, DType::kComplex128);
  const uint64_t numel = *rc::gen::oneOf(rc::gen::inRange<uint64_t>(1, 700), rc::gen::inRange<uint64_t>(16000, 70000));
  const uint64_t bytes = dtype_info(dtype).bits / 8U;
  const uint64_t offset = *rc::gen::inRange<uint64_t>(0, 8);
  std::vector<std::byte> storage(numel * bytes + offset, std::byte{0x11});
  std::byte* data = storage.data() + offset;
  const std::string_view target = *rc::gen::elementOf(stats_targets());
  set_stats_target(target);
  const uint64_t place = *rc::gen::oneOf(rc::gen::just(numel - 1), rc::gen::inRange<uint64_t>(0, numel));
  const bool before = scans(dtype, data, numel);
  // All ones are NaN in every format but those whose only NaN is minus zero.
  const bool fnuz = dtype == DType::kFloat8E4M3FNUZ;
  const bool second_part = dtype_info(dtype).kind == DTypeKind::kComplex && *rc::gen::arbitrary<bool>();
  const uint64_t word = dtype_info(dtype).kind == DTypeKind::kComplex ? bytes / 2 : bytes;
  std::memset(data + place * bytes + (second_part ? word : 0), fnuz ? 0x80 : 0xFF, word);
  const bool after = scans(dtype, data, numel);
  set_stats_target(stats_targets().front());
  RC_ASSERT(!before);
  RC_ASSERT(after);
}

TEST(HasNonFinite, OtherTypesHaveNone) {
  const std::vector<uint64_t> ones(64, ~uint64_t{0});
  for (const DType dtype : {DType::kBool, DType::kInt8, DType::kUInt16, DType::kInt32, DType::kInt64, DType::kUInt64, DType::kInt4,
                            DType::kUInt1, DType::kFloat4E2M1, DType::kUndefined}) {
    EXPECT_FALSE(scans(dtype, ones.data(), 16)) << dtype_name(dtype);
  }
  EXPECT_FALSE(scans(DType::kFloat32, ones.data(), 0));
  EXPECT_FALSE(scans(DType::kFloat32, nullptr, 16));
}

TEST(HasNonFinite, FollowsStrides) {
  std::vector<float> data(60000, 1.0F);
  data[7] = std::numeric_limits<float>::infinity();
  const int64_t every_second[] = {2};
  const int64_t transposed[] = {1, 200};
  EXPECT_FALSE(has_nonfinite({{DType::kFloat32, Shape({30000})}, data.data(), every_second})) << "the odd elements are not the tensor's";
  EXPECT_TRUE(has_nonfinite({{DType::kFloat32, Shape({29000})}, data.data() + 1, every_second}));
  EXPECT_TRUE(has_nonfinite({{DType::kFloat32, Shape({200, 300})}, data.data(), transposed}));
  data[7] = 0;
  EXPECT_FALSE(has_nonfinite({{DType::kFloat32, Shape({200, 300})}, data.data(), transposed}));
}

void run_backwards(void* /*pool*/, void (*task)(void* context, size_t index), size_t count, void* context) {
  for (size_t i = count; i-- > 0;) task(context, i);
}

TEST(HasNonFinite, LooksAtEveryPart) {
  std::vector<float> data(1000003, 1.0F);
  const TensorView view{{DType::kFloat32, Shape({1000003})}, data.data(), nullptr};
  EXPECT_FALSE(has_nonfinite(view, {&run_backwards, nullptr}));
  for (const size_t place : {size_t{0}, size_t{66666}, size_t{66667}, size_t{500000}, size_t{1000002}}) {
    data[place] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(has_nonfinite(view, {&run_backwards, nullptr})) << place;
    data[place] = 1;
  }
}

TEST(CopyUntilNonFinite, CopiesWhatIsFinite) {
  std::vector<float> data(1000003);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i);
  const ParallelFor backwards{&run_backwards, nullptr};
  for (const int64_t count : {int64_t{0}, int64_t{5}, int64_t{4097}, int64_t{1000003}}) {
    std::vector<float> copy(static_cast<size_t>(count) + 1, -1);
    const TensorView view{{DType::kFloat32, Shape({count})}, data.data(), nullptr};
    EXPECT_FALSE(copy_until_nonfinite(view, reinterpret_cast<std::byte*>(copy.data()), backwards));
    EXPECT_TRUE(std::equal(data.begin(), data.begin() + count, copy.begin())) << count;
    EXPECT_EQ(copy.back(), -1) << "and nothing behind it";
  }
}

TEST(CopyUntilNonFinite, TellsNanAnywhere) {
  std::vector<double> data(9000, 1);
  std::vector<double> copy(9000);
  for (const size_t place : {size_t{0}, size_t{2047}, size_t{2048}, size_t{8999}}) {
    data[place] = -std::numeric_limits<double>::infinity();
    EXPECT_TRUE(copy_until_nonfinite({{DType::kFloat64, Shape({9000})}, data.data(), nullptr}, reinterpret_cast<std::byte*>(copy.data())));
    data[place] = 1;
  }
}

TEST(CopyUntilNonFinite, PacksStridedElementsAndOtherTypes) {
  const std::vector<int32_t> numbers = {1, 2, 3, 4, 5, 6};
  const int64_t transposed[] = {1, 3};
  std::vector<int32_t> copy(6);
  EXPECT_FALSE(
      copy_until_nonfinite({{DType::kInt32, Shape({3, 2})}, numbers.data(), transposed}, reinterpret_cast<std::byte*>(copy.data())));
  EXPECT_EQ(copy, (std::vector<int32_t>{1, 4, 2, 5, 3, 6}));
  const std::vector<float> floats = {1, 2, 3, std::numeric_limits<float>::quiet_NaN(), 5, 6};
  EXPECT_TRUE(
      copy_until_nonfinite({{DType::kFloat32, Shape({3, 2})}, floats.data(), transposed}, reinterpret_cast<std::byte*>(copy.data())));
}

}  // namespace
}  // namespace tensortap
