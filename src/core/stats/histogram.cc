// Histogram of binary exponents: read off the bits of the floating formats, of everything else by way of double.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "stats/histogram.h"
#include "stats/modulus.h"
#include "stats/stats.h"
#include "tensor/number_formats.h"

namespace tensortap {
namespace {

constexpr uint64_t kHistogramPiece = 2048;
constexpr int kInfinityExponent = 0x7FF;

void add_value(double value, ExponentHistogram& histogram) {
  const uint64_t magnitude = std::bit_cast<uint64_t>(value) & 0x7FFFFFFFFFFFFFFFU;
  const int exponent = static_cast<int>(magnitude >> 52);
  if (exponent == kInfinityExponent) {
    ++((magnitude << 12) != 0 ? histogram.nan : histogram.inf);
  } else if (magnitude == 0) {
    ++histogram.zero;
  } else {
    // Subnormal doubles have exponent 0 here and belong to the first bin like all that is as small.
    const int bin = std::clamp(exponent - 1023 - ExponentHistogram::kLowestExponent, 0, ExponentHistogram::kBins - 1);
    ++histogram.bins[bin];
  }
}

// Counts of the 256 exponents of float, in four tables so that equal neighbours do not wait for each other.
struct FloatExponents {
  std::array<std::array<uint32_t, 256>, 4> counts{};
};

void add_float_exponents(const float* values, uint64_t count, FloatExponents& exponents, ExponentHistogram& histogram) {
  const auto exponent = [&](uint64_t i) { return (std::bit_cast<uint32_t>(values[i]) >> 23) & 0xFFU; };
  uint64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    ++exponents.counts[0][exponent(i)];
    ++exponents.counts[1][exponent(i + 1)];
    ++exponents.counts[2][exponent(i + 2)];
    ++exponents.counts[3][exponent(i + 3)];
  }
  for (; i < count; ++i) ++exponents.counts[0][exponent(i)];
  // Exponents 0 (zero, subnormal) and 255 (NaN, Inf) need the mantissa: a second look at this piece, which is in the cache.
  const auto edges = [&](size_t e) {
    return exponents.counts[0][e] + exponents.counts[1][e] + exponents.counts[2][e] + exponents.counts[3][e];
  };
  if (edges(0) + edges(255) > 0) {
    for (i = 0; i < count; ++i) {
      const uint32_t e = exponent(i);
      if (e == 0 || e == 255) add_value(static_cast<double>(values[i]), histogram);
    }
    for (auto& table : exponents.counts) table[0] = table[255] = 0;
  }
}

void flush_float_exponents(FloatExponents& exponents, ExponentHistogram& histogram) {
  for (size_t e = 1; e < 255; ++e) {
    const size_t bin = e - 127 - static_cast<size_t>(ExponentHistogram::kLowestExponent);
    for (auto& table : exponents.counts) histogram.bins[bin] += table[e];
  }
  exponents = {};
}

bool values_fit_float(DType dtype) {
  const DTypeInfo& info = dtype_info(dtype);
  return info.kind == DTypeKind::kFloat && info.bits <= 32;
}

void add_doubles(DType dtype, const void* packed, uint64_t count, ExponentHistogram& histogram) {
  std::array<double, kHistogramPiece> values;
  if (dtype_info(dtype).kind == DTypeKind::kComplex) {
    to_moduli(dtype, packed, 0, count, values.data());
  } else {
    to_float64(dtype, packed, 0, count, values.data());
  }
  for (uint64_t i = 0; i < count; ++i) add_value(values[i], histogram);
}

}  // namespace

void add_to_histogram(const TensorView& view, ExponentHistogram& histogram) {
  const DType dtype = view.desc.dtype;
  const uint64_t numel = view.desc.shape.numel().value_or(0);
  if (dtype_info(dtype).bits == 0 || view.data == nullptr) return;
  const bool is_contiguous = view.is_contiguous();
  std::array<std::byte, kHistogramPiece * 16> packed;
  std::array<float, kHistogramPiece> floats;
  FloatExponents exponents;
  for (uint64_t begin = 0; begin < numel; begin += kHistogramPiece) {
    const uint64_t count = std::min(kHistogramPiece, numel - begin);
    const void* piece = packed.data();
    if (is_contiguous) {
      piece = static_cast<const std::byte*>(view.data) + begin * dtype_info(dtype).bits / 8;
    } else {
      copy_packed_range(view, begin, count, packed.data());
    }
    if (values_fit_float(dtype)) {
      to_float32(dtype, piece, 0, count, floats.data());
      add_float_exponents(floats.data(), count, exponents, histogram);
      // Far below 2^32 counts in any table.
      if (begin % (kHistogramPiece << 16) == 0) flush_float_exponents(exponents, histogram);
    } else {
      add_doubles(dtype, piece, count, histogram);
    }
  }
  flush_float_exponents(exponents, histogram);
}

void merge_histogram(const ExponentHistogram& other, ExponentHistogram& histogram) {
  for (int i = 0; i < ExponentHistogram::kBins; ++i) histogram.bins[i] += other.bins[i];
  histogram.zero += other.zero;
  histogram.nan += other.nan;
  histogram.inf += other.inf;
}

QuantileBounds quantile_bounds(const ExponentHistogram& histogram, double q) {
  uint64_t total = 0;
  for (const uint64_t count : histogram.bins) total += count;
  if (total == 0) return {0, 0};
  const double wanted = std::clamp(q, 0.0, 1.0) * static_cast<double>(total);
  uint64_t below = 0;
  int bin = 0;
  for (int i = 0; i < ExponentHistogram::kBins; ++i) {
    if (histogram.bins[i] == 0) continue;
    bin = i;
    below += histogram.bins[i];
    if (static_cast<double>(below) >= wanted) break;
  }
  const int exponent = bin + ExponentHistogram::kLowestExponent;
  return {bin == 0 ? 0.0 : std::ldexp(1.0, exponent),
          bin == ExponentHistogram::kBins - 1 ? std::numeric_limits<double>::infinity() : std::ldexp(1.0, exponent + 1)};
}

}  // namespace tensortap
