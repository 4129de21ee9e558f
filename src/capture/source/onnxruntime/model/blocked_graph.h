// The parts of an executed graph that have channels in blocks: images between the runtime's own convolutions, and their weights. If the
// channels fill no whole blocks, the runtime adds some that the author's graph does not have.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_BLOCKED_GRAPH_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_BLOCKED_GRAPH_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "source/onnxruntime/model/lower_levels.h"
#include "source/onnxruntime/model/onnx_model.h"
#include "tensor/channel_blocks.h"

namespace tensortap::onnxruntime {

// The author's number of channels of an image.
inline constexpr int64_t kNotBlocked = -1;      // its channels are not in blocks
inline constexpr int64_t kUnknownChannels = 0;  // all its channels count as the author's

struct NodeImages {
  int64_t outputs = kNotBlocked;
  std::vector<int64_t> inputs;  // as many as the node has
};

// A weight that the runtime has put into blocks.
struct BlockedWeight {
  FilterOrder order = FilterOrder::kOutputs;
  std::vector<int64_t> dims;  // before that
  std::string name;           // of the value before that; "" = not known
};

// Borrows the executed model.
struct BlockedGraph {
  uint32_t block = 0;             // channels of a block; 0 = the graph has none
  std::vector<NodeImages> nodes;  // by Node::index; empty where the graph has no blocks
  std::unordered_map<const Initializer*, BlockedWeight> weights;
  uint32_t unknown = 0;  // nodes whose images have an unknown number of channels
};

// Whether the images that a node makes are in blocks.
inline bool is_blocked(const BlockedGraph& graph, const Node& node) {
  return node.index < graph.nodes.size() && graph.nodes[node.index].outputs != kNotBlocked;
}
// The author's number of channels of an input of a node.
inline int64_t channels_read(const BlockedGraph& graph, const Node& node, size_t input) {
  return node.index < graph.nodes.size() ? graph.nodes[node.index].inputs[input] : kNotBlocked;
}

// Whether a model has operators on blocks, whose outputs have invented names.
bool has_blocked_images(const Model& model);

// `block` is that of the library (channel_block.h). The numbers of channels are what the weights say that the graph had before the runtime
// put it into blocks, the executed graph's ReorderOutputs, and the ops between them. Weights that the author's own graph has in blocks
// stay as they are.
BlockedGraph find_blocks(const Model& executed, const Model& author, LowerLevels& levels, uint32_t block);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_MODEL_BLOCKED_GRAPH_H_
