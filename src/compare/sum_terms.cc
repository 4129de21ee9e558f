#include "compare/sum_terms.h"

#include <algorithm>
#include <cmath>

namespace tensortap {
namespace {

constexpr double kMostBatchSteps = 16;

double most_elements(const std::vector<TensorNorm>& inputs) {
  uint64_t most = 1;
  for (const TensorNorm& input : inputs) most = std::max(most, input.numel);
  return static_cast<double>(most);
}

}  // namespace

double norm_of_terms(const OpKind& kind, const RecordRow& output, std::vector<TensorNorm> inputs) {
  const auto numel = static_cast<double>(std::max<uint64_t>(output.numel, 1));
  const double read = most_elements(inputs);
  double norm = 0;
  for (const TensorNorm& input : inputs) norm = std::max(norm, input.norm);
  if (kind.is_norm && output.slot_index > 0) return norm * std::sqrt(numel / read);
  if (kind.sums) return norm;
  if (kind.averages) return norm * numel / read;
  if (!kind.multiplies || inputs.size() < 2) return 0;
  std::ranges::partial_sort(inputs, inputs.begin() + 2, [](const TensorNorm& a, const TensorNorm& b) { return a.norm > b.norm; });
  const double products = static_cast<double>(inputs[0].numel) * static_cast<double>(inputs[1].numel) / numel;
  return inputs[0].norm * inputs[1].norm / std::sqrt(std::sqrt(std::max(1.0, products)));
}

double steps_of_batch_statistics(const OpKind& kind, const RecordRow& output, const std::vector<TensorNorm>& inputs) {
  if (!kind.is_batch_norm || output.dims_count == 0) return 0;
  const int64_t channels = output.slot_index > 0 || output.dims_count == 1 ? output.shape[0] : output.shape[1];
  // Four lanes at least: no kernel of today adds one element at a time.
  return channels > 0 ? std::min(kMostBatchSteps, std::sqrt(most_elements(inputs) / static_cast<double>(channels)) / 4) : 0;
}

}  // namespace tensortap
