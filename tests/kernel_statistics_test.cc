// The kernel that measures on devices: its code, run by the host, gives the statistics of the reference. NVRTC compiles it for four kinds
// of devices, where TENSORTAP_TEST_DEVICE_DRIVER names that library.

#include <gtest/gtest.h>
#include <tensortap/capture.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/environment.h"
#include "device/run_kernel.h"
#include "session/measured_parts.h"
#include "source/pytorch/device/kernel_binary.h"
#include "source/pytorch/device/kernel_results.h"
#include "stats/stats_compare.h"

namespace tensortap::pytorch {
namespace {

StatsOptions all() { return {.wanted = kStatAll, .policy = NonFinitePolicy::kSkipNan, .sample_limit = 0, .parallel_for = {}}; }

// The differences between what the kernel finds and what the reference finds; "" = none.
std::string differences(uint32_t dtype, const void* data, const std::vector<int64_t>& dims, const std::vector<int64_t>& strides = {}) {
  tensortap_torch_tensor tensor{};
  tensor.data = data;
  tensor.dims = dims.data();
  tensor.strides = strides.empty() ? nullptr : strides.data();
  tensor.rank = static_cast<uint32_t>(dims.size());
  tensor.dtype = dtype;
  auto work = kernel_work(tensor, TENSORTAP_MEASURE_MAGNITUDES | TENSORTAP_MEASURE_SUBNORMAL);
  if (!work) return "not measured";
  const uint64_t count = kernel_part_count(work->count);
  std::vector<device_kernel::Part> parts(count);
  clear_parts(parts.data(), count);
  work->parts = parts.data();
  if (!device_kernel::run_kernel(kernel_type_of(dtype), *work, count)) return "no kernel";
  std::vector<tensortap_measured> measured(count);
  for (uint64_t i = 0; i < count; ++i) {
    if (!read_part(parts[i], measured[i])) return "a part was not written";
  }
  const auto type = static_cast<DType>(dtype);
  TensorView view{{type, Shape(std::span(dims))}, data, tensor.strides};
  return difference(type, compute_stats_reference(view, all()), join_parts(measured, type, all()));
}

template <class Number>
std::string differences(uint32_t dtype, const std::vector<Number>& values) {
  return differences(dtype, values.data(), {static_cast<int64_t>(values.size())});
}

// Of every size from one element to several parts, with odd elements at many places.
TEST(KernelStatistics, OfFloatsAreThoseOfTheReference) {
  std::mt19937 random(7);
  for (const size_t size : {1UL, 2UL, 15UL, 16UL, 17UL, 1000UL, 4096UL, 32768UL, 100003UL}) {
    for (const double middle : {0.0, 1000.0, -1e-30, 1e30}) {
      std::normal_distribution<float> normal(static_cast<float>(middle), static_cast<float>(middle == 0 ? 1 : std::abs(middle) / 100));
      std::vector<float> values(size);
      for (float& x : values) x = normal(random);
      EXPECT_EQ(differences(TENSORTAP_FLOAT32, values), "") << size << " " << middle;
      const float odd[] = {0.0F, -0.0F, 1e-42F, -1e-45F, 3.4e38F, -3.4e38F, HUGE_VALF, -HUGE_VALF, NAN};
      for (const float one : odd) {
        for (size_t i = size / 3; i < size; i += 1 + size / 7) values[i] = one;
        EXPECT_EQ(differences(TENSORTAP_FLOAT32, values), "") << size << " " << middle << " " << one;
      }
    }
  }
}

TEST(KernelStatistics, OfExtremeNumbersAreThoseOfTheReference) {
  const auto expect = [](const std::vector<float>& values) { EXPECT_EQ(differences(TENSORTAP_FLOAT32, values), "") << values[0]; };
  expect(std::vector<float>(5000, 3e38F));
  expect(std::vector<float>(5000, 1e-40F));
  expect(std::vector<float>(100, NAN));
  expect(std::vector<float>(100, -HUGE_VALF));
  std::vector<float> ramp(70000);
  std::iota(ramp.begin(), ramp.end(), 1e6F);
  expect(ramp);
  for (float& x : ramp) x *= 1e-44F;
  expect(ramp);
  ramp[0] = 1e20F;  // the middle of three is the pivot
  expect(ramp);
}

TEST(KernelStatistics, OfIntegersAreThoseOfTheReference) {
  std::mt19937_64 random(9);
  std::vector<uint64_t> words(40000);
  for (uint64_t& x : words) x = random();
  words[3] = 0;
  const auto bytes = static_cast<int64_t>(8 * words.size());
  for (const uint32_t dtype : {TENSORTAP_INT8, TENSORTAP_UINT8}) EXPECT_EQ(differences(dtype, words.data(), {bytes}), "") << dtype;
  for (const uint32_t dtype : {TENSORTAP_INT16, TENSORTAP_UINT16}) EXPECT_EQ(differences(dtype, words.data(), {bytes / 2}), "") << dtype;
  for (const uint32_t dtype : {TENSORTAP_INT32, TENSORTAP_UINT32}) EXPECT_EQ(differences(dtype, words.data(), {bytes / 4}), "") << dtype;
  for (const uint32_t dtype : {TENSORTAP_INT64, TENSORTAP_UINT64}) EXPECT_EQ(differences(dtype, words.data(), {bytes / 8}), "") << dtype;
  std::vector<uint8_t> truth(1000, 1);
  truth[5] = 0;
  EXPECT_EQ(differences(TENSORTAP_BOOL, truth), "");
}

// Every number of the type, in every place of a group.
TEST(KernelStatistics, OfSmallFloatsAreThoseOfTheReference) {
  std::vector<uint16_t> words(65536);
  std::iota(words.begin(), words.end(), 0);
  std::vector<uint8_t> bytes(256);
  std::iota(bytes.begin(), bytes.end(), 0);
  for (int turn = 0; turn < 3; ++turn) {
    for (const uint32_t dtype : {TENSORTAP_FLOAT16, TENSORTAP_BFLOAT16}) EXPECT_EQ(differences(dtype, words), "") << dtype;
    for (const uint32_t dtype : {TENSORTAP_FLOAT8_E4M3FN, TENSORTAP_FLOAT8_E4M3FNUZ, TENSORTAP_FLOAT8_E5M2, TENSORTAP_FLOAT8_E5M2FNUZ}) {
      EXPECT_EQ(differences(dtype, bytes), "") << dtype;
      for (size_t i = 0; i + 16 <= bytes.size(); ++i) EXPECT_EQ(differences(dtype, &bytes[i], {16}), "") << dtype << " " << i;
    }
    std::shuffle(words.begin(), words.end(), std::mt19937(turn));
    std::shuffle(bytes.begin(), bytes.end(), std::mt19937(turn));
  }
}

TEST(KernelStatistics, OfViewsAreThoseOfTheReference) {
  std::vector<float> values(8000);
  std::mt19937 random(3);
  for (float& x : values) x = std::normal_distribution<float>(2, 1)(random);
  values[1234] = NAN, values[7999] = HUGE_VALF, values[0] = -0.0F;
  const auto expect = [&](size_t first, const std::vector<int64_t>& dims, const std::vector<int64_t>& strides) {
    EXPECT_EQ(differences(TENSORTAP_FLOAT32, &values[first], dims, strides), "") << first;
  };
  expect(0, {20, 400}, {400, 1});
  expect(0, {400, 20}, {1, 400});
  expect(3, {20, 30}, {400, 7});
  expect(1, {7997}, {1});  // not at a multiple of 16
  expect(5, {3, 1, 50, 4}, {0, 9, 20, 5});
  expect(5, {1, 1, 1}, {8, 8, 8});
  expect(0, {2, 2, 2, 2, 2, 2, 2, 2}, {1, 3, 9, 27, 81, 243, 729, 2187});
  expect(7999, {80, 10}, {-100, -7});
  expect(7, {}, {});
}

TEST(KernelStatistics, WhatItDoesNotTakeIsLeftToCopies) {
  const std::vector<float> values(2000);
  EXPECT_EQ(differences(TENSORTAP_FLOAT32, values.data(), {0, 4}), "not measured");
  EXPECT_EQ(differences(TENSORTAP_FLOAT32, values.data(), {2, 2, 2, 2, 2, 2, 2, 2, 2}, {1, 3, 9, 27, 81, 243, 256, 258, 263}),
            "not measured");
  EXPECT_EQ(kernel_type_of(TENSORTAP_FLOAT64), nullptr);  // whose squares may leave the range
  EXPECT_EQ(kernel_type_of(TENSORTAP_COMPLEX64), nullptr);
  EXPECT_EQ(kernel_type_of(TENSORTAP_INT4), nullptr);
  EXPECT_EQ(kernel_type_of(TENSORTAP_DTYPE_COUNT), nullptr);
}

TEST(KernelStatistics, APartThatWasNotWrittenIsNoResult) {
  device_kernel::Part part{};
  std::memset(&part, 0xff, sizeof part);
  clear_parts(&part, 1);
  tensortap_measured measured{};
  EXPECT_FALSE(read_part(part, measured));
}

// The largest tensors, without their memory.
TEST(KernelStatistics, PartsCoverTheTensorOnce) {
  for (const uint64_t elements : {1ULL, 16384ULL, 32769ULL, 123456789ULL, 1ULL << 36U}) {
    tensortap_torch_tensor tensor{};
    const auto dim = static_cast<int64_t>(elements);
    tensor.data = &tensor;
    tensor.dims = &dim;
    tensor.rank = 1;
    const auto work = kernel_work(tensor, TENSORTAP_MEASURE_MAGNITUDES | TENSORTAP_MEASURE_SUBNORMAL);
    ASSERT_TRUE(work.has_value());
    const uint64_t parts = kernel_part_count(elements);
    EXPECT_LE(parts, 1024U);
    EXPECT_EQ(work->part_elements % 16, 0U);
    EXPECT_LT((parts - 1) * work->part_elements, elements);
    EXPECT_GE(parts * work->part_elements, elements);
  }
}

TEST(KernelStatistics, TheCompilerTakesEveryKernel) {
  if (!environment_value("TENSORTAP_TEST_DEVICE_DRIVER")) GTEST_SKIP() << "TENSORTAP_TEST_DEVICE_DRIVER names no NVRTC";
  const DeviceCompiler* const compiler = find_device_compiler();
  ASSERT_NE(compiler, nullptr);
  for (uint32_t dtype = 0; dtype < TENSORTAP_DTYPE_COUNT; ++dtype) {
    const char* const type = kernel_type_of(dtype);
    for (const int architecture : {75, 80, 90, 100}) {
      if (type == nullptr || (architecture != 90 && dtype != TENSORTAP_FLOAT32)) continue;
      const auto made = compile_kernel(*compiler, type, architecture);
      ASSERT_TRUE(made.ok()) << made.status().message();
      EXPECT_EQ(made->substr(1, 3), "ELF");
      EXPECT_NE(made->find(kKernelName), std::string::npos);
    }
  }
  const auto newer = compile_kernel(*compiler, "Float32", 999);
  ASSERT_TRUE(newer.ok());
  EXPECT_NE(newer->find(".visible .entry tensortap_statistics"), std::string::npos);
  EXPECT_FALSE(compile_kernel(*compiler, "Float32", 9).ok());
  EXPECT_FALSE(compile_kernel(*compiler, "Float3", 90).ok());
}

}  // namespace
}  // namespace tensortap::pytorch
