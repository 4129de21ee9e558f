#include "stats/stats.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <vector>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "stats/stats_compare.h"
#include "stats/stats_target.h"
#include "tensor/number_formats.h"

namespace tensortap {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr uint64_t kBlock = 16384;

std::vector<DType> numeric_dtypes() {
  std::vector<DType> dtypes;
  for (int i = 1; i < kDTypeCount; ++i) {
    if (static_cast<DType>(i) != DType::kString) dtypes.push_back(static_cast<DType>(i));
  }
  return dtypes;
}

// Bytes at an address of any alignment.
class Buffer {
 public:
  Buffer(uint64_t bytes, uint64_t offset) : storage_(bytes + offset + 64), offset_(offset) {}
  std::byte* data() { return storage_.data() + offset_; }

 private:
  std::vector<std::byte> storage_;
  uint64_t offset_;
};

void fill_random_bits(uint64_t seed, std::byte* data, uint64_t bytes) {
  std::mt19937_64 random(seed);
  for (uint64_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(random());
}

// Runs `test` with every target of this machine, and sets the first one again.
template <class Test>
void with_every_target(const Test& test) {
  for (const std::string_view target : stats_targets()) {
    SCOPED_TRACE(std::string(target));
    ASSERT_TRUE(set_stats_target(target));
    test();
  }
  set_stats_target(stats_targets().front());
}

void expect_equals_reference(const TensorView& view, const StatsOptions& options) {
  const TensorStats expected = compute_stats_reference(view, options);
  with_every_target(
      [&] { EXPECT_EQ(difference(view.desc.dtype, expected, compute_stats(view, options)), "") << dtype_name(view.desc.dtype); });
}

void expect_equals_reference(const TensorView& view) {
  for (const auto policy : {NonFinitePolicy::kSkipNan, NonFinitePolicy::kPropagate, NonFinitePolicy::kSkipNonFinite}) {
    for (const uint32_t wanted : {kStatAll, kStatFull, kStatMinimal}) {
      SCOPED_TRACE(concat("policy ", static_cast<int>(policy), " wanted ", wanted, " shape ", view.desc.shape.to_text()));
      expect_equals_reference(view, {.wanted = wanted, .policy = policy, .sample_limit = 0, .parallel_for = {}});
    }
  }
}

template <class T>
DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::kFloat32;
  if constexpr (std::is_same_v<T, double>) return DType::kFloat64;
  if constexpr (std::is_same_v<T, int64_t>) return DType::kInt64;
  if constexpr (std::is_same_v<T, uint64_t>) return DType::kUInt64;
  return DType::kInt32;
}

template <class T>
TensorView view_of(const std::vector<T>& values) {
  return {{dtype_of<T>(), Shape{static_cast<int64_t>(values.size())}}, values.data(), nullptr};
}

template <class T>
TensorStats stats_of(const std::vector<T>& values, NonFinitePolicy policy = NonFinitePolicy::kSkipNan) {
  return compute_stats(view_of(values), {.wanted = kStatFull, .policy = policy, .sample_limit = 0, .parallel_for = {}});
}

TEST(Stats, AreWhatTheirNamesSay) {
  with_every_target([] {
    const TensorStats stats = stats_of<float>({3, -4, 0, -0.0F});
    EXPECT_EQ(stats.min, -4);
    EXPECT_EQ(stats.max, 3);
    EXPECT_EQ(stats.mean, -0.25);
    EXPECT_DOUBLE_EQ(stats.std, 2.48746859276655);  // numpy.std([3, -4, 0, 0])
    EXPECT_EQ(stats.l2, 5);
    EXPECT_EQ(stats.absmax, 4);
    EXPECT_EQ(stats.zero, 2U);
    EXPECT_EQ(stats.neg_zero, 1U);
    EXPECT_EQ(stats.positive, 1U);
    EXPECT_EQ(stats.negative, 1U);
    EXPECT_EQ(stats.count, 4U);
    EXPECT_EQ(stats.first_nonfinite, -1);
    EXPECT_EQ(stats.valid, kStatFull);
  });
}

TEST(Stats, PolicySaysWhichValuesEnter) {
  const auto nan = static_cast<float>(kNan);
  const auto infinity = static_cast<float>(kInfinity);
  with_every_target([&] {
    const std::vector<float> values = {1, nan, -infinity, 5};
    const TensorStats skip_nan = stats_of(values, NonFinitePolicy::kSkipNan);
    EXPECT_EQ(skip_nan.min, -kInfinity);
    EXPECT_EQ(skip_nan.max, 5);
    EXPECT_EQ(skip_nan.mean, -kInfinity);
    EXPECT_EQ(skip_nan.l2, kInfinity);
    EXPECT_TRUE(std::isnan(skip_nan.std));
    EXPECT_EQ(skip_nan.first_nonfinite, 1);
    const TensorStats propagate = stats_of(values, NonFinitePolicy::kPropagate);
    EXPECT_TRUE(std::isnan(propagate.min) && std::isnan(propagate.max) && std::isnan(propagate.mean) && std::isnan(propagate.l2));
    const TensorStats finite = stats_of(values, NonFinitePolicy::kSkipNonFinite);
    EXPECT_EQ(finite.min, 1);
    EXPECT_EQ(finite.max, 5);
    EXPECT_EQ(finite.mean, 3);
    EXPECT_EQ(finite.std, 2);
    for (const TensorStats& stats : {skip_nan, propagate, finite}) {
      EXPECT_EQ(stats.nan, 1U);
      EXPECT_EQ(stats.neg_inf, 1U);
      EXPECT_EQ(stats.negative, 1U);
      EXPECT_EQ(stats.positive, 2U);
      EXPECT_EQ(stats.count, 4U);
    }
  });
}

TEST(Stats, OfNothingAreCountsOfZeroAndNaN) {
  with_every_target([] {
    const TensorStats stats = compute_stats({{DType::kFloat32, Shape{3, 0}}, nullptr, nullptr}, {});
    EXPECT_EQ(stats.valid, kStatFull);
    EXPECT_EQ(stats.count, 0U);
    EXPECT_TRUE(std::isnan(stats.min) && std::isnan(stats.mean) && std::isnan(stats.l2));
    EXPECT_EQ(compute_stats({{DType::kFloat32, Shape{3}}, nullptr, nullptr}, {}).valid, 0U);
    EXPECT_EQ(compute_stats({{DType::kString, Shape{1}}, &stats, nullptr}, {}).valid, 0U);
    EXPECT_EQ(compute_stats({{DType::kUndefined, Shape{1}}, &stats, nullptr}, {}).valid, 0U);
    EXPECT_EQ(compute_stats({{DType::kFloat32, Shape{-1}}, &stats, nullptr}, {}).valid, 0U);
  });
}

// Every dtype, random bits (so NaN, Inf and subnormal numbers of every kind), sizes around vectors and blocks, every alignment.
TEST(Stats, EveryTargetEqualsTheReferenceOnRandomBits) {
  for (const DType dtype : numeric_dtypes()) {
    SCOPED_TRACE(std::string(dtype_name(dtype)));
    uint64_t seed = static_cast<uint64_t>(dtype);
    std::vector<uint64_t> sizes = {100, 127, 255, 1000, 4099, kBlock - 1, kBlock, kBlock + 1, 2 * kBlock + 77};
    for (uint64_t size = 1; size <= 70; ++size) sizes.push_back(size);
    for (const uint64_t size : sizes) {
      Buffer buffer(*packed_bytes(dtype, size), size % 17);
      fill_random_bits(++seed, buffer.data(), *packed_bytes(dtype, size));
      expect_equals_reference({{dtype, Shape{static_cast<int64_t>(size)}}, buffer.data(), nullptr});
    }
  }
}

double special_value(DType dtype, uint64_t which) {
  const FloatLimits limits = float_limits(dtype);
  const std::array<double, 10> values = {kNan,           kInfinity,       -kInfinity, -0.0, 0.0, limits.smallest, -limits.smallest,
                                         limits.largest, -limits.largest, 1.0};
  return values[which % values.size()];
}

void set_element(DType dtype, double value, std::byte* data, uint64_t index) {
  if (dtype == DType::kFloat64) {
    std::memcpy(data + index * 8, &value, 8);
  } else if (dtype == DType::kFloat32) {
    const auto narrow = static_cast<float>(value);
    std::memcpy(data + index * 4, &narrow, 4);
  } else {
    const auto narrow = static_cast<float>(value);
    const uint16_t bits = dtype == DType::kFloat16 ? float_to_float16(narrow) : float_to_bfloat16(narrow);
    std::memcpy(data + index * 2, &bits, 2);
  }
}

TEST(Stats, OneSpecialValueIsFoundAtEveryPosition) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kFloat64}) {
    for (const uint64_t size : {uint64_t{3}, uint64_t{70}, uint64_t{200}}) {
      Buffer buffer(size * 8, 1);
      const TensorView view{{dtype, Shape{static_cast<int64_t>(size)}}, buffer.data(), nullptr};
      for (uint64_t which = 0; which < 10; ++which) {
        for (uint64_t position = 0; position < size; ++position) {
          for (uint64_t i = 0; i < size; ++i) set_element(dtype, 0.5 + static_cast<double>(i % 7), buffer.data(), i);
          set_element(dtype, special_value(dtype, which), buffer.data(), position);
          expect_equals_reference(view, {});
        }
      }
    }
  }
}

TEST(Stats, TensorsOfOneSpecialValue) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kFloat64}) {
    const uint64_t size = kBlock + 321;
    Buffer buffer(size * 8, 3);
    for (uint64_t which = 0; which < 10; ++which) {
      for (uint64_t i = 0; i < size; ++i) set_element(dtype, special_value(dtype, which), buffer.data(), i);
      expect_equals_reference({{dtype, Shape{static_cast<int64_t>(size)}}, buffer.data(), nullptr});
    }
  }
}

// std of 1 on a mean of a million, which sums of squares in float cannot hold.
TEST(Stats, SmallDeviationsOnALargeMeanSurvive) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal(0, 1);
  for (const double mean : {1e3, 1e6, -1e6}) {
    std::vector<float> floats(3 * kBlock + 5);
    for (float& value : floats) value = static_cast<float>(mean + normal(random));
    expect_equals_reference(view_of(floats), {});
    EXPECT_NEAR(stats_of(floats).std, 1, 0.02);
    std::vector<double> doubles(kBlock + 5);
    for (double& value : doubles) value = mean * 1e6 + normal(random);
    expect_equals_reference(view_of(doubles), {});
    std::vector<int32_t> integers(kBlock + 5);
    for (int32_t& value : integers) value = static_cast<int32_t>(mean * 1000 + 3 * normal(random));
    expect_equals_reference(view_of(integers), {});
  }
}

TEST(Stats, BlocksOfDifferentLevelsAreJoinedWithoutLoss) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal(0, 1);
  std::vector<float> values(8 * kBlock);
  const std::array<double, 8> levels = {0, 1e6, 1e6, -3, 1e-20, 0, 7, 1e6};
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(levels[i / kBlock] * (1 + 1e-4 * normal(random)));
  expect_equals_reference(view_of(values), {});
}

TEST(Stats, ConstantTensorsHaveNoDeviation) {
  with_every_target([] {
    const TensorStats stats = stats_of(std::vector<float>(3 * kBlock + 17, 0.1F));
    EXPECT_EQ(stats.std, 0);
    EXPECT_EQ(stats.mean, static_cast<double>(0.1F));
  });
}

TEST(Stats, SquaresOutsideOfFloatAndDoubleAreStillRight) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform(0.5, 1);
  for (const double scale : {1e-44, 1e-38, 1e-25, 1e-20, 1e-18, 1e18, 1e19, 1e30, 3.4e38}) {
    std::vector<float> floats(kBlock + 100);
    for (float& value : floats) value = static_cast<float>((uniform(random) < 0.75 ? -scale : scale) * uniform(random));
    expect_equals_reference(view_of(floats));
  }
  for (const double scale : {5e-324, 1e-300, 1e-160, 1e-150, 1e150, 1e160, 1.7e308}) {
    std::vector<double> doubles(kBlock + 100);
    for (double& value : doubles) value = (uniform(random) < 0.75 ? -scale : scale) * uniform(random);
    expect_equals_reference(view_of(doubles));
  }
}

TEST(Stats, IntegerExtremesAreExactBeyondTheMantissaOfDouble) {
  with_every_target([] {
    const TensorStats signs = stats_of<int64_t>({INT64_MAX - 1, INT64_MAX - 2, INT64_MIN + 1, INT64_MIN + 2, 0, 3, 4, 5, 6});
    EXPECT_EQ(signs.max_integer, INT64_MAX - 1);
    EXPECT_EQ(signs.min_integer, INT64_MIN + 1);
    const TensorStats large = stats_of<uint64_t>({UINT64_MAX - 1, UINT64_MAX - 3, UINT64_MAX - 7, UINT64_MAX - 9, UINT64_MAX - 10});
    EXPECT_EQ(std::bit_cast<uint64_t>(large.max_integer), UINT64_MAX - 1);
    EXPECT_EQ(std::bit_cast<uint64_t>(large.min_integer), UINT64_MAX - 10);
  });
}

TEST(Stats, ExtremesOfFullBlocksOfIntegersOverflowNothing) {
  for (const DType dtype : {DType::kInt8, DType::kUInt8, DType::kInt16, DType::kUInt16, DType::kInt32, DType::kUInt32, DType::kBool}) {
    for (const int byte : {0x00, 0x80, 0x7F, 0xFF, 0x01}) {
      // 0x..00 80 in memory order makes the most negative numbers.
      std::vector<std::byte> data(2 * kBlock * 4);
      const size_t size = dtype_info(dtype).bits / 8;
      for (size_t i = 0; i < data.size(); ++i) data[i] = i % size == size - 1 ? static_cast<std::byte>(byte) : std::byte{0};
      expect_equals_reference({{dtype, Shape{static_cast<int64_t>(2 * kBlock)}}, data.data(), nullptr}, {});
      std::fill(data.begin(), data.end(), static_cast<std::byte>(byte));
      expect_equals_reference({{dtype, Shape{static_cast<int64_t>(2 * kBlock)}}, data.data(), nullptr}, {});
    }
  }
}

// Patterns from `low` to `high` with the signs of `kind`: only +, only -, both, or both and many zeros.
std::vector<uint8_t> small_floats(DType dtype, std::mt19937& random, size_t count, uint32_t low, uint32_t high, uint32_t kind) {
  std::vector<uint8_t> codes(count);
  for (uint8_t& code : codes) {
    const uint32_t sign = kind < 2 ? kind : static_cast<uint32_t>(random() & 1U);
    code = static_cast<uint8_t>((low + random() % (high - low + 1)) | sign << 7U);
    if (kind == 3 && random() % 3 == 0) code = 0;
    double value = 0;
    to_float64(dtype, &code, 0, 1, &value);
    if (!std::isfinite(value)) code = 0;
  }
  return codes;
}

// The reference sums in long double, which holds these sums exactly.
TEST(Stats, SumsOfEightBitFloatsAreExact) {
  std::mt19937 random(7);
  for (const DType dtype : {DType::kFloat8E4M3FN, DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2, DType::kFloat8E5M2FNUZ}) {
    for (int i = 0; i < 200; ++i) {
      const size_t count = 1 + random() % (i < 150 ? 300 : 40000);
      const uint32_t low = random() % 128;
      const uint32_t high = low + random() % (128 - low);
      const std::vector<uint8_t> codes = small_floats(dtype, random, count, low, high, random() % 4);
      const TensorView view{{dtype, Shape{static_cast<int64_t>(count)}}, codes.data(), nullptr};
      const TensorStats expected = compute_stats_reference(view, {});
      with_every_target([&] {
        const TensorStats actual = compute_stats(view, {});
        EXPECT_EQ(difference(dtype, expected, actual), "");
        const double size = expected.l2 / std::sqrt(static_cast<double>(count));
        EXPECT_NEAR(actual.mean, expected.mean, size * 0x1p-50) << dtype_name(dtype) << " " << count << " " << low << " " << high;
        EXPECT_NEAR(actual.l2, expected.l2, expected.l2 * 0x1p-50);
        EXPECT_NEAR(actual.std, expected.std, expected.std * 0x1p-48 + size * 0x1p-48);
      });
    }
  }
}

TEST(Stats, ComplexNumbersCountByModulus) {
  with_every_target([] {
    const std::vector<float> parts = {3, 4, 0, -0.0F, -6, 8};
    const TensorStats stats = compute_stats({{DType::kComplex64, Shape{3}}, parts.data(), nullptr}, {});
    EXPECT_EQ(stats.max, 10);
    EXPECT_EQ(stats.min, 0);
    EXPECT_EQ(stats.mean, 5);
    EXPECT_EQ(stats.positive, 2U);
    EXPECT_EQ(stats.zero, 1U);
    const std::vector<double> odd = {kInfinity, kNan, 1e300, 1e300, -kInfinity, 0};
    const TensorStats large = compute_stats({{DType::kComplex128, Shape{3}}, odd.data(), nullptr}, {});
    EXPECT_EQ(large.nan, 1U);
    EXPECT_EQ(large.pos_inf, 1U);
    EXPECT_EQ(large.first_nonfinite, 0);
    EXPECT_DOUBLE_EQ(large.min, 1.4142135623730951e300);
  });
}

TEST(Stats, StridedViewsEqualTheReference) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kInt8, DType::kFloat64, DType::kComplex128, DType::kFloat8E5M2}) {
    const uint64_t elements = 40000;
    Buffer buffer(elements * 16, 5);
    fill_random_bits(99, buffer.data(), elements * 16);
    const uint64_t size = dtype_info(dtype).bits / 8;
    struct Case {
      Shape shape;
      std::vector<int64_t> strides;
      uint64_t start;
    };
    const std::array cases = {
        Case{Shape{100, 200}, {1, 100}, 0},        Case{Shape{9000}, {-4}, 39999},
        Case{Shape{3, 20000}, {0, 2}, 1},          Case{Shape{20000}, {0}, 17},
        Case{Shape{10, 20, 30}, {1, 0, -10}, 300}, Case{Shape{2, 1, 5}, {5, 999, 1}, 3},
        Case{Shape{5, 1, 7}, {-8, 0, 1}, 100},
    };
    for (const Case& one : cases) expect_equals_reference({{dtype, one.shape}, buffer.data() + one.start * size, one.strides.data()});
  }
}

TEST(Stats, ABroadcastOfTwoToThe31Elements) {
  const int64_t strides[] = {0, 0};
  const uint8_t value = 200;
  const TensorView view{{DType::kUInt8, Shape{int64_t{1} << 16, int64_t{1} << 15}}, &value, strides};
  const TensorStats stats = compute_stats(view, {});
  EXPECT_EQ(stats.count, uint64_t{1} << 31);
  EXPECT_EQ(stats.mean, 200);
  EXPECT_EQ(stats.std, 0);
  EXPECT_EQ(stats.l2, std::sqrt(40000.0 * 2147483648.0));
  EXPECT_EQ(stats.positive, uint64_t{1} << 31);
}

struct Serial {
  size_t calls = 0;
  static void run(void* pool, void (*task)(void*, size_t), size_t count, void* context) {
    static_cast<Serial*>(pool)->calls += count;
    for (size_t i = count; i-- > 0;) task(context, i);
  }
};

struct Threads {
  static void run(void*, void (*task)(void*, size_t), size_t count, void* context) {
    std::vector<std::thread> threads;
    for (size_t i = 0; i < count; ++i) threads.emplace_back(task, context, i);
    for (std::thread& thread : threads) thread.join();
  }
};

TEST(Stats, PartsOfOneToSeventeenEqualTheReference) {
  for (const DType dtype : {DType::kFloat32, DType::kInt16, DType::kFloat8E4M3FN, DType::kInt4}) {
    for (uint64_t parts = 1; parts <= 17; ++parts) {
      const uint64_t bytes = parts * (uint64_t{256} << 10) - 100;
      Buffer buffer(bytes, 3);
      fill_random_bits(parts, buffer.data(), bytes);
      const auto elements = static_cast<int64_t>(bytes * 8 / dtype_info(dtype).bits);
      const TensorView view{{dtype, Shape{elements}}, buffer.data(), nullptr};
      Serial serial;
      const StatsOptions plain{.wanted = kStatFull, .policy = NonFinitePolicy::kSkipNonFinite, .sample_limit = 0, .parallel_for = {}};
      StatsOptions split = plain;
      split.parallel_for = {&Serial::run, &serial};
      EXPECT_EQ(difference(dtype, compute_stats(view, plain), compute_stats(view, split)), "");
      EXPECT_EQ(serial.calls, parts == 1 ? 0 : parts);
    }
  }
}

TEST(Stats, ThreadsGiveWhatOneThreadGives) {
  std::vector<float> values(1 << 21);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1001) - 500;
  values[77] = values[1 << 20] = std::numeric_limits<float>::quiet_NaN();
  StatsOptions options;
  options.parallel_for = {&Threads::run, nullptr};
  const TensorStats stats = compute_stats(view_of(values), options);
  EXPECT_EQ(difference(DType::kFloat32, compute_stats_reference(view_of(values), {}), stats), "");
  EXPECT_EQ(stats.first_nonfinite, 77);
}

TEST(Stats, ASampleLooksAtAboutAsManyElementsAsAllowed) {
  std::vector<float> values(1000000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  for (const uint64_t limit : {uint64_t{1}, uint64_t{100}, uint64_t{4096}, uint64_t{10000}, uint64_t{100000}, uint64_t{999999}}) {
    const StatsOptions options{.wanted = kStatFull, .policy = NonFinitePolicy::kSkipNan, .sample_limit = limit, .parallel_for = {}};
    const TensorStats stats = compute_stats(view_of(values), options);
    EXPECT_LE(stats.count, limit);
    EXPECT_GE(stats.count * 2, limit);
    EXPECT_EQ(stats.valid, kStatFull | kStatSampled);
    expect_equals_reference(view_of(values), options);
    EXPECT_GT(stats.max, limit >= 8192 ? 990000 : -1) << "the last block is at the end";
  }
  EXPECT_EQ(compute_stats(view_of(values),
                          {.wanted = kStatFull, .policy = NonFinitePolicy::kSkipNan, .sample_limit = 1000000, .parallel_for = {}})
                .valid,
            kStatFull);
}

TEST(Stats, SamplesOfPackedTypesEqualTheReference) {
  for (const DType dtype : {DType::kInt4, DType::kUInt1, DType::kFloat8E5M2, DType::kComplex64}) {
    Buffer buffer(800000, 1);
    fill_random_bits(5, buffer.data(), 800000);
    expect_equals_reference({{dtype, Shape{99999}}, buffer.data(), nullptr},
                            {.wanted = kStatFull, .policy = NonFinitePolicy::kSkipNonFinite, .sample_limit = 20000, .parallel_for = {}});
  }
}

#if defined(__SSE__)
TEST(Stats, AProgramThatFlushesDenormalsOrTrapsSeesTheSameNumbersAndItsOwnSettings) {
  const std::vector<float> values = {1e-40F, -1e-41F, 3e38F, std::numeric_limits<float>::infinity(), 0};
  const TensorStats expected = stats_of(values);
  const unsigned before = _mm_getcsr();
  for (const unsigned setting : {0x1F80U | 0x8040U, 0x7F80U, 0x0000U}) {
    _mm_setcsr(setting);
    const TensorStats stats = stats_of(values);
    const unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    EXPECT_EQ(after, setting);
    EXPECT_EQ(difference(DType::kFloat32, expected, stats), "");
    EXPECT_EQ(stats.zero, 1U);
  }
}
#endif

TEST(Stats, UnknownTargetsAreRefused) {
  EXPECT_FALSE(set_stats_target("AVX9"));
  EXPECT_TRUE(set_stats_target("scalar"));
  EXPECT_EQ(stats_target(), "scalar");
  EXPECT_TRUE(set_stats_target(stats_targets().front()));
  EXPECT_EQ(stats_targets().back(), "scalar");
}

// Values of every magnitude with specials sprinkled in.
std::vector<float> arbitrary_floats(size_t size) {
  std::vector<float> values(size);
  const int level = *rc::gen::inRange(-45, 39);
  const int spread = *rc::gen::inRange(0, 8);
  const int special = *rc::gen::inRange(0, 40);
  std::mt19937_64 random(*rc::gen::arbitrary<uint64_t>());
  std::uniform_real_distribution<double> uniform(-1, 1);
  const double mean = *rc::gen::element(0.0, 0.0, 1.0, 100.0, 1e5);
  for (float& value : values) {
    value = static_cast<float>((mean + uniform(random)) * std::pow(10.0, level + spread * uniform(random)));
    if (special < 10 && random() % 50 == 0) value = static_cast<float>(special_value(DType::kFloat32, static_cast<uint64_t>(special)));
  }
  return values;
}

RC_GTEST_PROP(StatsProperty, EveryTargetEqualsTheReferenceOnFloats, ()) {
  const auto values = arbitrary_floats(*rc::gen::element<size_t>(1, 5, 63, 64, 257, 5000, 16384, 40000));
  StatsOptions options;
  options.policy = *rc::gen::element(NonFinitePolicy::kSkipNan, NonFinitePolicy::kPropagate, NonFinitePolicy::kSkipNonFinite);
  options.wanted = *rc::gen::element(kStatAll, kStatFull, kStatMinimal);
  const TensorStats expected = compute_stats_reference(view_of(values), options);
  for (const std::string_view target : stats_targets()) {
    RC_ASSERT(set_stats_target(target));
    RC_ASSERT(difference(DType::kFloat32, expected, compute_stats(view_of(values), options)) == "");
  }
  set_stats_target(stats_targets().front());
}

RC_GTEST_PROP(StatsProperty, EveryTargetEqualsTheReferenceOnAnyBytes, ()) {
  const DType dtype = *rc::gen::elementOf(numeric_dtypes());
  const auto size = *rc::gen::inRange<uint64_t>(0, 300);
  const auto offset = *rc::gen::inRange<uint64_t>(0, 64);
  Buffer buffer(*packed_bytes(dtype, size), offset);
  fill_random_bits(*rc::gen::arbitrary<uint64_t>(), buffer.data(), *packed_bytes(dtype, size));
  StatsOptions options;
  options.policy = *rc::gen::element(NonFinitePolicy::kSkipNan, NonFinitePolicy::kPropagate, NonFinitePolicy::kSkipNonFinite);
  options.wanted = *rc::gen::inRange<uint32_t>(0, (kStatAll << 1));
  const TensorView view{{dtype, Shape{static_cast<int64_t>(size)}}, buffer.data(), nullptr};
  const TensorStats expected = compute_stats_reference(view, options);
  for (const std::string_view target : stats_targets()) {
    RC_ASSERT(set_stats_target(target));
    RC_ASSERT(difference(dtype, expected, compute_stats(view, options)) == "");
  }
  set_stats_target(stats_targets().front());
}

}  // namespace
}  // namespace tensortap
