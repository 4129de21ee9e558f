#include "source/ggml/model_capture.h"

#include <algorithm>

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
      weights.push_back({leaf.name(), leaf.data(), TensorValues::buffer_of(leaf)});
    }
  }
  return weights;
}

ModelCapture::ModelCapture(tensortap_session* opened, const GgmlLibrary& of) : library(of), session(opened), values(of) {}

ModelCapture::Kinship ModelCapture::kinship(const std::vector<ReadWeight>& weights) const {
  if (weights.empty()) return Kinship::kUnknown;
  bool shares = false;
  for (const ReadWeight& weight : weights) {
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
  return GraphLearner(*this, nodes, structure == first_structure_ ? 0 : structure).learn();
}

ComputedStep ModelCapture::next_step(const void* scheduler) {
  const std::lock_guard lock(mutex_);
  Schedule& schedule = schedules_[scheduler];
  if (schedule.run == 0) schedule.run = schedules_.size();
  return {schedule.next++, schedule.run};
}

}  // namespace tensortap::ggml
