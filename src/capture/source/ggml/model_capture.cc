#include "source/ggml/model_capture.h"

#include <algorithm>
#include <utility>

#include "source/ggml/graph_learner.h"
#include "source/ggml/node_names.h"

namespace tensortap::ggml {

std::vector<ReadWeight> weights_of(const GgmlLibrary& library, const std::vector<GgmlTensor>& nodes) {
  std::vector<ReadWeight> weights;
  std::set<const void*> seen;
  for (const GgmlTensor node : nodes) {
    for (size_t i = 0; i < node.source_count(); ++i) {
      const GgmlTensor source = node.source(i);
      if (!source || source.op() != 0) continue;
      const GgmlTensor leaf = source.base();
      if (!is_weight(library, leaf) || !seen.insert(leaf.address()).second) continue;
      const uint64_t bytes = library.functions().nbytes(leaf.address());
      weights.push_back({leaf.name(), leaf.data(), TensorValues::buffer_of(leaf), bytes, sample_of(library, leaf)});
    }
  }
  return weights;
}

ModelCapture::ModelCapture(tensortap_session* opened, const GgmlLibrary& of, ModelFiles files, OriginalNames names)
    : library(of), session(opened), values(of), files_(std::move(files)), names_(names) {}

ModelCapture::Kinship ModelCapture::kinship(const std::vector<ReadWeight>& weights, bool by_bytes) const {
  if (weights.empty()) return Kinship::kUnknown;
  bool shares = false;
  for (const ReadWeight& weight : weights) {
    const auto sample = samples_.find(weight.data);
    if (sample != samples_.end() && sample->second != weight.sample && by_bytes && !writes_weights_) return Kinship::kOther;
    shares = shares || weights_.contains(weight.data) || weight_buffers_.contains(weight.buffer);
    if (is_numbered(weight.name)) continue;
    const auto known = named_weights_.find(weight.name);
    if (known != named_weights_.end() && !known->second.contains(weight.data)) return Kinship::kOther;
  }
  return shares ? Kinship::kSame : Kinship::kOther;
}

std::unique_ptr<GraphPlan> ModelCapture::learn(const std::vector<GgmlTensor>& nodes, uint64_t structure) {
  if (structures_.empty()) first_structure_ = structure;
  structures_.insert(structure);
  const std::vector<ReadWeight> weights = weights_of(library, nodes);
  if (std::ranges::any_of(weights, [this](const ReadWeight& weight) { return !weights_.contains(weight.data); }))
    files_.add_files_of(weights);
  return GraphLearner(*this, nodes, structure == first_structure_ ? 0 : structure).learn();
}

ComputedStep ModelCapture::next_step(const void* scheduler) {
  const std::lock_guard lock(mutex_);
  Schedule& schedule = schedules_[scheduler];
  if (schedule.run == 0) schedule.run = schedules_.size();
  return {schedule.next++, schedule.run, TENSORTAP_MODEL_PHASE_NONE};
}

}  // namespace tensortap::ggml
