#include "compare/row_precision.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "compare/rounding.h"
#include "compare/unit_roundoff.h"
#include "tensor/number_formats.h"

namespace tensortap {
namespace {

constexpr std::array<DType, 2> kNarrow = {DType::kFloat16, DType::kBFloat16};
constexpr uint64_t kPiece = 4096;  // elements looked at together

bool is_packed_float32(const RecordRow& row, const RecordData& data) {
  return data.view.desc.dtype == DType::kFloat32 && data.view.data != nullptr && data.view.strides == nullptr && row.numel > 0;
}

struct Numbers {
  std::vector<double> values;
  std::vector<double> rounded;

  void read(const RecordData& data, uint64_t begin, uint64_t count) {
    values.resize(count);
    rounded.resize(count);
    to_float64(DType::kFloat32, data.view.data, begin, count, values.data());
  }
  // The values as numbers of a narrower type.
  std::span<const double> as(DType dtype) {
    round_to(dtype, values, rounded.data());
    return rounded;
  }
};

}  // namespace

double RowPrecision::measured_step(uint32_t number) const {
  const RecordRow& row = dump_.rows()[number];
  const double own = unit_roundoff(static_cast<DType>(row.dtype));
  if (static_cast<DType>(row.dtype) != DType::kFloat32 || (row.flags & kRecordHasData) == 0) return own;
  const Result<RecordData> data = dump_.data(number);
  if (!data.ok() || !is_packed_float32(row, *data)) return own;
  std::array<bool, kNarrow.size()> fits = {true, true};
  bool whole = true;
  Numbers numbers;
  for (uint64_t begin = 0; begin < row.numel && (fits[0] || fits[1]); begin += kPiece) {
    numbers.read(*data, begin, std::min(kPiece, row.numel - begin));
    for (size_t i = 0; i < kNarrow.size(); ++i) fits[i] = fits[i] && std::ranges::equal(numbers.values, numbers.as(kNarrow[i]));
    whole = whole && std::ranges::all_of(numbers.values, [](double value) { return value == std::nearbyint(value); });
  }
  if (whole) return own;
  return fits[0] ? unit_roundoff(kNarrow[0]) : fits[1] ? unit_roundoff(kNarrow[1]) : own;
}

double RowPrecision::step_of(uint32_t row) {
  const auto [known, is_new] = known_.try_emplace(row, 0);
  if (is_new) known->second = measured_step(row);
  return known->second;
}

bool is_rounded_copy(const DumpIndex& a, uint32_t row_a, const DumpIndex& b, uint32_t row_b) {
  const RecordRow& of_a = a.rows()[row_a];
  const RecordRow& of_b = b.rows()[row_b];
  if (of_a.numel != of_b.numel) return false;
  const Result<RecordData> data_a = a.data(row_a);
  const Result<RecordData> data_b = b.data(row_b);
  if (!data_a.ok() || !data_b.ok() || !is_packed_float32(of_a, *data_a) || !is_packed_float32(of_b, *data_b)) return false;
  // A is B rounded to each type, and B is A.
  std::array<bool, 2 * kNarrow.size()> holds = {true, true, true, true};
  Numbers numbers_a;
  Numbers numbers_b;
  for (uint64_t begin = 0; begin < of_a.numel && std::ranges::find(holds, true) != holds.end(); begin += kPiece) {
    const uint64_t count = std::min(kPiece, of_a.numel - begin);
    numbers_a.read(*data_a, begin, count);
    numbers_b.read(*data_b, begin, count);
    for (size_t i = 0; i < kNarrow.size(); ++i) {
      holds[2 * i] = holds[2 * i] && std::ranges::equal(numbers_a.values, numbers_b.as(kNarrow[i]));
      holds[2 * i + 1] = holds[2 * i + 1] && std::ranges::equal(numbers_b.values, numbers_a.as(kNarrow[i]));
    }
  }
  return std::ranges::find(holds, true) != holds.end();
}

}  // namespace tensortap
