#include "source/ggml/graph_plan.h"

#include <string_view>

#include "source/ggml/node_names.h"
#include "source/ggml/tensor_values.h"

namespace tensortap::ggml {
namespace {

constexpr uint64_t kFirst = 0xcbf29ce484222325;
constexpr uint64_t kPrime = 0x100000001b3;

uint64_t mixed(uint64_t hash, uint64_t number) { return (hash ^ number) * kPrime; }

uint64_t mixed(uint64_t hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  return mixed(hash, text.size());
}

}  // namespace

bool is_weight(const GgmlLibrary& library, GgmlTensor leaf) {
  if (leaf.op() != 0) return false;
  const auto usage_of = library.functions().buffer_usage;
  if (usage_of == nullptr) return is_weight_name(leaf.name());
  void* buffer = TensorValues::buffer_of(leaf);
  return buffer != nullptr && usage_of(buffer) == kUsageWeights;
}

uint64_t structure_of(const std::vector<GgmlTensor>& nodes) {
  uint64_t hash = kFirst;
  for (const GgmlTensor node : nodes) {
    hash = mixed(hash, node.name());
    hash = mixed(hash, static_cast<uint64_t>(node.op()) << 32 | static_cast<uint32_t>(node.type()));
  }
  return hash;
}

uint64_t key_of(const GgmlLibrary& library, const std::vector<GgmlTensor>& nodes, uint64_t structure) {
  uint64_t hash = structure;
  for (const GgmlTensor node : nodes) {
    for (size_t i = 0; i < node.source_count(); ++i) {
      const GgmlTensor source = node.source(i);
      if (!source || source.op() != 0) continue;
      const GgmlTensor leaf = source.base();
      if (is_weight(library, leaf)) hash = mixed(hash, reinterpret_cast<uintptr_t>(leaf.data()));
    }
  }
  return hash;
}

}  // namespace tensortap::ggml
