#include "compare/pair_decoder.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <span>

#include "compare/rounding.h"
#include "tensor/number_formats.h"

namespace tensortap {
namespace {

constexpr uint64_t kMaxUlp = std::numeric_limits<uint32_t>::max();

bool is_wide(DType dtype) { return dtype_info(dtype).bits > 32; }

// Calls visit(begin, end, scale, zero point) for the runs of elements [first, first + count) that have one scale, by their place in the
// piece.
template <class Visit>
void for_each_scale(const PairSide& side, uint64_t first, uint64_t count, const Visit& visit) {
  const Quantization& quantization = side.quantization;
  const auto zero_of = [&](uint64_t index) {
    if (quantization.zero_point.empty()) return int64_t{0};
    return quantization.zero_point[quantization.zero_point.size() == 1 ? 0 : index];
  };
  if (quantization.scale.size() == 1) return visit(uint64_t{0}, count, quantization.scale[0], zero_of(0));
  for (uint64_t begin = 0; begin < count;) {
    const uint64_t element = first + begin;
    const uint64_t end = std::min(count, begin + side.inner - element % side.inner);
    const uint64_t index = element / side.inner % side.indices;
    visit(begin, end, quantization.scale[index], zero_of(index));
    begin = end;
  }
}

// Integers as they are, or less their zero point where the differences are steps.
void read_integers(const PairSide& side, const void* data, uint64_t offset, uint64_t first, uint64_t count, int64_t* values) {
  to_int64(side.dtype, data, offset, count, values);
  if (!side.is_quantized()) return;
  for_each_scale(side, first, count, [&](uint64_t begin, uint64_t end, double, int64_t zero) {
    for (uint64_t i = begin; i < end; ++i) values[i] = static_cast<int64_t>(static_cast<uint64_t>(values[i]) - static_cast<uint64_t>(zero));
  });
}

void read_reals(const PairSide& side, const void* data, uint64_t offset, uint64_t first, uint64_t count, double* values) {
  to_float64(side.dtype, data, offset, count, values);
  if (!side.is_quantized()) return;
  for_each_scale(side, first, count, [&](uint64_t begin, uint64_t end, double scale, int64_t zero) {
    for (uint64_t i = begin; i < end; ++i) values[i] = (values[i] - static_cast<double>(zero)) * scale;
  });
}

struct SignedMagnitude {
  uint64_t magnitude;
  bool is_negative;
};

SignedMagnitude split_sign(int64_t value, bool is_unsigned) {
  const bool is_negative = !is_unsigned && value < 0;
  const auto bits = static_cast<uint64_t>(value);
  return {is_negative ? 0 - bits : bits, is_negative};
}

// The difference of any two 64-bit integers; exact except for its rounding to double. Sets `distance` to at most 2^64 - 1.
double subtract(SignedMagnitude a, SignedMagnitude b, uint64_t& distance) {
  if (a.is_negative == b.is_negative) {
    const bool a_is_larger = a.magnitude >= b.magnitude;
    distance = a_is_larger ? a.magnitude - b.magnitude : b.magnitude - a.magnitude;
    return a_is_larger == a.is_negative ? -static_cast<double>(distance) : static_cast<double>(distance);
  }
  if (__builtin_add_overflow(a.magnitude, b.magnitude, &distance)) distance = std::numeric_limits<uint64_t>::max();
  return a.is_negative ? -static_cast<double>(distance) : static_cast<double>(distance);
}

double to_double(SignedMagnitude value) {
  return value.is_negative ? -static_cast<double>(value.magnitude) : static_cast<double>(value.magnitude);
}

}  // namespace

bool PairSide::is_integer() const {
  const DTypeKind kind = dtype_info(dtype).kind;
  return kind == DTypeKind::kBool || kind == DTypeKind::kSigned || kind == DTypeKind::kUnsigned;
}

PairDecoder::PairDecoder(const PairSide& a, const PairSide& b) : a_(a), b_(b) {
  const bool same_axis = a.quantization.scale.size() == 1 || (a.inner == b.inner && a.indices == b.indices);
  const bool integers = a.is_integer() && b.is_integer();
  in_steps_ = integers && a.is_quantized() && same_axis && std::ranges::equal(a.quantization.scale, b.quantization.scale);
  has_integers_ = in_steps_ || (integers && !a.is_quantized() && !b.is_quantized());
  if (has_integers_) return;
  const bool a_is_float = !a.is_integer() && !a.is_quantized();
  const bool b_is_float = !b.is_integer() && !b.is_quantized();
  ulp_dtype_ = DType::kFloat32;
  if (a_is_float) ulp_dtype_ = a.dtype;
  if (b_is_float) ulp_dtype_ = a_is_float ? narrower(a.dtype, b.dtype) : b.dtype;
  has_code_table_ = a_is_float && b_is_float && a.dtype == b.dtype && dtype_info(a.dtype).bits == 8;
  if (!has_code_table_) return;
  std::array<double, 256> values{};
  std::array<uint8_t, 256> codes{};
  for (size_t code = 0; code < codes.size(); ++code) codes[code] = static_cast<uint8_t>(code);
  to_float64(a.dtype, codes.data(), 0, codes.size(), values.data());
  to_ordinals(a.dtype, values, ordinal_of_code_.data());
}

void PairDecoder::decode(const void* a, const void* b, uint64_t offset, uint64_t first, uint64_t count, PairPiece& piece) const {
  if (has_integers_) {
    decode_integers(a, b, offset, first, count, piece);
  } else {
    decode_reals(a, b, offset, first, count, piece);
  }
}

void PairDecoder::decode_values(const void* a, const void* b, uint64_t offset, uint64_t first, uint64_t count, PairPiece& piece) const {
  if (has_integers_) return decode_integers(a, b, offset, first, count, piece);
  read_reals(a_, a, offset, first, count, piece.a);
  read_reals(b_, b, offset, first, count, piece.b);
  for (uint64_t i = 0; i < count; ++i) piece.difference[i] = piece.a[i] - piece.b[i];
}

void PairDecoder::decode_a(const void* a, uint64_t offset, uint64_t first, uint64_t count, double* values) const {
  if (!has_integers_) return read_reals(a_, a, offset, first, count, values);
  if (!is_wide(a_.dtype)) {
    to_float64(a_.dtype, a, offset, count, values);
    if (!in_steps_) return;
    return for_each_scale(a_, first, count, [&](uint64_t begin, uint64_t end, double, int64_t zero) {
      for (uint64_t i = begin; i < end; ++i) values[i] -= static_cast<double>(zero);
    });
  }
  std::array<int64_t, kPairPiece> integers;
  read_integers(a_, a, offset, first, count, integers.data());
  const bool is_unsigned = a_.dtype == DType::kUInt64 && !in_steps_;
  for (uint64_t i = 0; i < count; ++i) values[i] = to_double(split_sign(integers[i], is_unsigned));
}

void PairDecoder::decode_integers(const void* a, const void* b, uint64_t offset, uint64_t first, uint64_t count, PairPiece& piece) const {
  std::array<int64_t, kPairPiece> a_values;
  std::array<int64_t, kPairPiece> b_values;
  read_integers(a_, a, offset, first, count, a_values.data());
  read_integers(b_, b, offset, first, count, b_values.data());
  const int64_t* x = a_values.data();
  const int64_t* y = b_values.data();
  uint64_t most = 0;
  if (!is_wide(a_.dtype) && !is_wide(b_.dtype) && !in_steps_) {
    for (uint64_t i = 0; i < count; ++i) {
      const int64_t difference = x[i] - y[i];
      const auto distance = static_cast<uint64_t>(std::abs(difference));
      piece.a[i] = static_cast<double>(x[i]);
      piece.b[i] = static_cast<double>(y[i]);
      piece.difference[i] = static_cast<double>(difference);
      piece.ulp[i] = static_cast<uint32_t>(std::min(distance, kMaxUlp));
      most = std::max(most, distance);
    }
  } else {
    for (uint64_t i = 0; i < count; ++i) {
      const SignedMagnitude left = split_sign(x[i], a_.dtype == DType::kUInt64 && !in_steps_);
      const SignedMagnitude right = split_sign(y[i], b_.dtype == DType::kUInt64 && !in_steps_);
      uint64_t distance = 0;
      piece.difference[i] = subtract(left, right, distance);
      piece.a[i] = to_double(left);
      piece.b[i] = to_double(right);
      piece.ulp[i] = static_cast<uint32_t>(std::min(distance, kMaxUlp));
      most = std::max(most, distance);
    }
  }
  piece.max_ulp = most;
}

void PairDecoder::decode_reals(const void* a, const void* b, uint64_t offset, uint64_t first, uint64_t count, PairPiece& piece) const {
  read_reals(a_, a, offset, first, count, piece.a);
  read_reals(b_, b, offset, first, count, piece.b);
  std::array<int64_t, kPairPiece> a_ordinals;
  std::array<int64_t, kPairPiece> b_ordinals;
  if (has_code_table_) {
    const auto* a_codes = static_cast<const uint8_t*>(a) + offset;
    const auto* b_codes = static_cast<const uint8_t*>(b) + offset;
    for (uint64_t i = 0; i < count; ++i) {
      a_ordinals[i] = ordinal_of_code_[a_codes[i]];
      b_ordinals[i] = ordinal_of_code_[b_codes[i]];
    }
  } else {
    to_ordinals(ulp_dtype_, {piece.a, count}, a_ordinals.data());
    to_ordinals(ulp_dtype_, {piece.b, count}, b_ordinals.data());
  }
  const int64_t* x = a_ordinals.data();
  const int64_t* y = b_ordinals.data();
  uint64_t most = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const double difference = piece.a[i] - piece.b[i];
    const bool is_finite = std::isfinite(piece.a[i]) && std::isfinite(piece.b[i]);
    const uint64_t distance =
        x[i] > y[i] ? static_cast<uint64_t>(x[i]) - static_cast<uint64_t>(y[i]) : static_cast<uint64_t>(y[i]) - static_cast<uint64_t>(x[i]);
    const uint64_t counted = is_finite ? distance : 0;
    piece.difference[i] = difference;
    piece.ulp[i] = static_cast<uint32_t>(std::min(counted, kMaxUlp));
    most = std::max(most, counted);
  }
  piece.max_ulp = most;
}

}  // namespace tensortap
