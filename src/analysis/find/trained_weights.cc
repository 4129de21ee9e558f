#include "find/trained_weights.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace tensortap {
namespace {

// PyTorch's node that hands a parameter its gradient.
constexpr std::string_view kHandsOver = "AccumulateGrad";

}  // namespace

TrainedWeights::Shape TrainedWeights::shape_of(const RecordRow& row) {
  const TensorDesc desc = row.desc();
  return {desc.shape.dims().begin(), desc.shape.dims().end()};
}

TrainedWeights::TrainedWeights(const DumpIndex& dump, const OpFactsTable& facts) {
  std::map<std::pair<Shape, int64_t>, size_t> handed;
  for (const RecordRow& row : dump.rows()) {
    if (static_cast<Phase>(row.phase) == Phase::kUpdate) {
      any_ = true;
      if (is_input(row) && row.storage != 0) updated_.insert(row.storage);
    } else if (is_input(row) && row.storage != 0 && facts.is_parameter(row)) {
      of_shape_[shape_of(row)].insert(row.storage);
    } else if (is_output(row) && op_of(dump, row).name.find(kHandsOver) != std::string::npos) {
      ++handed[{shape_of(row), row.step}];
    }
  }
  for (const auto& [key, count] : handed) {
    size_t& most = gradients_[key.first];
    most = std::max(most, count);
  }
}

bool TrainedWeights::contains(const RecordRow& weight) const {
  if (!any_) return false;
  if (weight.storage == 0 || updated_.contains(weight.storage)) return true;
  const Shape shape = shape_of(weight);
  const auto gradients = gradients_.find(shape);
  const auto weights = of_shape_.find(shape);
  return gradients != gradients_.end() && weights != of_shape_.end() && gradients->second >= weights->second.size();
}

}  // namespace tensortap
