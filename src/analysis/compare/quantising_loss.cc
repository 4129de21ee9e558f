#include "compare/quantising_loss.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tensor/number_formats.h"

namespace tensortap {
namespace {

constexpr uint64_t kPieceOfCodes = 4096;  // elements looked at together
constexpr double kReach = 1.02;           // of half a step: what rounding to codes can change

bool is_packed_real(const Result<RecordData>& data) {
  return data.ok() && data->view.data != nullptr && data->view.strides == nullptr && is_floating(data->view.desc.dtype);
}

struct LossSums {
  double all = 0;
  double wanted = 0;
  double norm = 0;
  double wanted_norm = 0;
  uint64_t clipped = 0;

  void add(double before, double after, double reach) {
    if (!std::isfinite(before) || !std::isfinite(after)) return;
    const double lost = (after - before) * (after - before);
    all += lost;
    norm += before * before;
    if (before < 0 && after == 0) return;
    wanted += lost;
    wanted_norm += before * before;
    clipped += std::abs(after - before) > reach ? 1 : 0;
  }
};

double ratio_of(double lost, double norm) { return norm > 0 ? std::sqrt(lost / norm) : 0; }

}  // namespace

double QuantisingLosses::half_step_of(uint32_t scale_row) const {
  const RecordRow& scale = table_.dump().rows()[scale_row];
  const Result<RecordData> data = table_.dump().data(scale_row);
  if (!is_packed_real(data)) return (scale.stats.valid & kStatMax) != 0 ? std::max(scale.stats.max, 0.0) / 2 : 0;
  double largest = 0;
  for (uint64_t i = 0; i < scale.numel; ++i) {
    double one = 0;
    to_float64(data->view.desc.dtype, data->view.data, i, 1, &one);
    largest = std::max(largest, one);
  }
  return largest / 2;
}

// The row whose numbers became the codes that a row was made of; kNoRow where no op of the dump made them.
uint32_t QuantisingLosses::quantised_from(uint32_t row) const {
  const DumpIndex& dump = table_.dump();
  const std::vector<uint32_t> codes = table_.inputs_of(row);
  if (codes.empty() || codes[0] == kNoRow || op_of(dump, dump.rows()[codes[0]]).type != "QuantizeLinear") return kNoRow;
  const std::vector<uint32_t> before = table_.inputs_of(codes[0]);
  return before.empty() ? kNoRow : before[0];
}

QuantisingLoss QuantisingLosses::measured(uint32_t row) const {
  const DumpIndex& dump = table_.dump();
  QuantisingLoss loss;
  if (op_of(dump, dump.rows()[row]).type != "DequantizeLinear") return loss;
  const std::vector<uint32_t> inputs = table_.inputs_of(row);
  if (inputs.size() > 1 && inputs[1] != kNoRow) loss.half_step = half_step_of(inputs[1]);
  const uint32_t from = quantised_from(row);
  if (from == kNoRow || dump.rows()[from].numel != dump.rows()[row].numel) return loss;
  const Result<RecordData> before = dump.data(from);
  const Result<RecordData> after = dump.data(row);
  if (!is_packed_real(before) || !is_packed_real(after)) return loss;
  LossSums sums;
  std::vector<double> of_before(kPieceOfCodes);
  std::vector<double> of_after(kPieceOfCodes);
  const uint64_t numel = dump.rows()[row].numel;
  for (uint64_t begin = 0; begin < numel; begin += kPieceOfCodes) {
    const uint64_t count = std::min(kPieceOfCodes, numel - begin);
    to_float64(before->view.desc.dtype, before->view.data, begin, count, of_before.data());
    to_float64(after->view.desc.dtype, after->view.data, begin, count, of_after.data());
    for (uint64_t i = 0; i < count; ++i) sums.add(of_before[i], of_after[i], kReach * loss.half_step);
  }
  loss.all = ratio_of(sums.all, sums.norm);
  loss.wanted = ratio_of(sums.wanted, sums.wanted_norm);
  loss.clipped = numel > 0 && loss.half_step > 0 ? static_cast<double>(sums.clipped) / static_cast<double>(numel) : 0;
  return loss;
}

const QuantisingLoss& QuantisingLosses::of(uint32_t row) {
  const auto [known, is_new] = known_.try_emplace(row);
  if (is_new) known->second = measured(row);
  return known->second;
}

}  // namespace tensortap
