#include "source/ggml/graph_plan.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "base/fnv.h"
#include "source/ggml/node_names.h"
#include "source/ggml/tensor_values.h"

namespace tensortap::ggml {

bool is_weight(const GgmlLibrary& library, GgmlTensor leaf) {
  if (leaf.op() != 0) return false;
  const auto usage_of = library.functions().buffer_usage;
  void* buffer = TensorValues::buffer_of(leaf);
  // Tensors in memory of a context have no buffer.
  if (usage_of == nullptr || buffer == nullptr) return is_weight_name(leaf.name());
  return usage_of(buffer) == kUsageWeights;
}

uint64_t structure_of(const std::vector<GgmlTensor>& nodes) {
  uint64_t hash = kFirstHash;
  for (const GgmlTensor node : nodes) {
    const std::string_view name = node.name();
    hash = hash_more(hash_more(hash, name), uint64_t{name.size()});
    hash = hash_more(hash, static_cast<uint64_t>(node.op()) << 32 | static_cast<uint32_t>(node.type()));
  }
  return hash;
}

uint64_t sample_of(const GgmlLibrary& library, GgmlTensor weight) {
  const GgmlFunctions& ggml = library.functions();
  void* buffer = TensorValues::buffer_of(weight);
  const auto* data = static_cast<const std::byte*>(weight.data());
  const int64_t bytes = weight.ne()[kMostDimensions - 1] * weight.nb()[kMostDimensions - 1];
  uint64_t sample = 0;
  if (data == nullptr || bytes < static_cast<int64_t>(sizeof(sample))) return sample;
  // What ggml arranges for the processor is in memory of the host as well.
  const char* name = buffer == nullptr || ggml.buffer_is_host(buffer) ? "CPU" : ggml.buffer_name(buffer);
  if (name == nullptr || !std::string_view(name).starts_with("CPU")) return sample;
  std::memcpy(&sample, data + std::min<int64_t>(bytes / 2, bytes - static_cast<int64_t>(sizeof(sample))), sizeof(sample));
  return sample;
}

WeightsKey key_of(const GgmlLibrary& library, const std::vector<GgmlTensor>& nodes, uint64_t structure) {
  WeightsKey found{structure, kFirstHash};
  for (const GgmlTensor node : nodes) {
    for (size_t i = 0; i < node.source_count(); ++i) {
      const GgmlTensor source = node.source(i);
      if (!source || source.op() != 0) continue;
      const GgmlTensor leaf = source.base();
      if (!is_weight(library, leaf)) continue;
      found.key = hash_more(found.key, uint64_t{reinterpret_cast<uintptr_t>(leaf.data())});
      found.contents = hash_more(found.contents, sample_of(library, leaf));
    }
  }
  return found;
}

}  // namespace tensortap::ggml
