#include "source/onnxruntime/model/weights_key.h"

#include <string_view>

#include "source/onnxruntime/model/weight_reader.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tensortap::onnxruntime {
namespace {

class WeightsHash {
 public:
  WeightsHash() { XXH3_128bits_reset(&state_); }

  void add(std::string_view bytes) {
    const uint64_t size = bytes.size();
    XXH3_128bits_update(&state_, &size, sizeof(size));
    XXH3_128bits_update(&state_, bytes.data(), bytes.size());
  }
  [[nodiscard]] std::string take() const {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state_));
    return {reinterpret_cast<const char*>(canonical.digest), sizeof(canonical.digest)};
  }

 private:
  XXH3_state_t state_;
};

void add_weights(const Graph& graph, WeightReader& reader, WeightsHash& hash) {
  for (const Initializer& initializer : graph.initializers) {
    hash.add(initializer.bytes);
    if (!is_outside(initializer)) continue;
    const auto weight = reader.read(initializer);
    if (!weight.ok()) continue;
    hash.add(weight->raw);
    reader.release_memory(*weight);
  }
  for (const Node& node : graph.nodes) {
    for (const Subgraph& body : node.subgraphs) add_weights(*body.graph, reader, hash);
  }
}

}  // namespace

std::string weights_key(const Model& executed, const std::string& folder) {
  WeightReader reader(folder);
  WeightsHash hash;
  add_weights(executed.graph, reader, hash);
  return hash.take();
}

}  // namespace tensortap::onnxruntime
