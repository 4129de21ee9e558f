#include "compare/sum_terms.h"

#include <algorithm>
#include <cmath>

namespace tensortap {

double norm_of_terms(const OpKind& kind, const RecordRow& output, std::vector<TensorNorm> inputs) {
  const auto numel = static_cast<double>(std::max<uint64_t>(output.numel, 1));
  double norm = 0;
  double read = 1;
  for (const TensorNorm& input : inputs) {
    norm = std::max(norm, input.norm);
    read = std::max(read, static_cast<double>(input.numel));
  }
  if (kind.is_norm && output.slot_index > 0) return norm * std::sqrt(numel / read);
  if (kind.sums) return norm;
  if (kind.averages) return norm * numel / read;
  if (!kind.multiplies || inputs.size() < 2) return 0;
  std::ranges::partial_sort(inputs, inputs.begin() + 2, [](const TensorNorm& a, const TensorNorm& b) { return a.norm > b.norm; });
  const double products = static_cast<double>(inputs[0].numel) * static_cast<double>(inputs[1].numel) / numel;
  return inputs[0].norm * inputs[1].norm / std::sqrt(std::sqrt(std::max(1.0, products)));
}

}  // namespace tensortap
