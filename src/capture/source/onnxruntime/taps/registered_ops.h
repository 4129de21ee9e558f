// The ops of a session as capture.h registers them: the graph's inputs, its weights, and the executed nodes with their names.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_REGISTERED_OPS_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_REGISTERED_OPS_H_

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "source/onnxruntime/model/blocked_graph.h"
#include "source/onnxruntime/model/onnx_model.h"
#include "source/onnxruntime/origins/origins.h"
#include "tensortap/capture.h"

namespace tensortap::onnxruntime {

inline constexpr uint32_t kNoEntry = UINT32_MAX;

enum class OpRole : uint8_t { kInput, kInitializer, kNode };

// A value that a Loop or a Scan hands to its body, by name, in the nested graph that makes it ("" = the main graph).
struct BodySource {
  std::string graph;
  std::string_view value;
};
using BodySources = std::vector<BodySource>;

struct OpEntry {
  OpRole role = OpRole::kNode;
  std::string name;   // unique in the table, the same in every process
  std::string graph;  // "" or the path of the nested graph, such as "If_3/then_branch"
  std::string_view type;
  const Node* node = nullptr;                // of a kNode
  const Initializer* initializer = nullptr;  // of a kInitializer
  std::string_view value;                    // made by a kInput or kInitializer
  const BlockedWeight* blocked = nullptr;    // of a kInitializer that the runtime has put into blocks; `value` is its name before that
  std::vector<std::string_view> inputs;      // names of what the node reads, weights as their entries call them
  std::vector<std::string> originals;        // NodeOrigin
  std::vector<std::string> original_types;
  bool inserted = false;
  uint32_t channel_block = 0;           // channels of a block in the images that the node makes, or in the weight; 0 = in no blocks
  bool overridable = false;             // of a kInitializer: a run may give another value
  bool constant = false;                // of a kInitializer: no weight, but a constant of the author's graph (graph_constants.h)
  std::vector<uint32_t> graph_outputs;  // numbers of the outputs that the graph hands out
  std::vector<uint32_t> producers;      // for each input of the node: number of an entry, or kNoEntry
  std::vector<uint32_t> producer_slots;
  // Of inputs that are inputs of a body: what they may hold. Parallel to `producers`, or empty.
  std::vector<const BodySources*> body_sources;
  uint32_t parent = kNoEntry;
};

// Entries are in an order in which producers and parents come first. Borrows from the models that it was built from.
struct OpTable {
  std::vector<OpEntry> entries;
  std::vector<uint32_t> by_node;  // number of a node's entry, by Node::index
  std::deque<BodySources> body_sources;
  uint32_t unknown_channels = 0;   // BlockedGraph::unknown
  std::vector<uint32_t> by_input;  // number of an entry, by place in the main graph's inputs; kNoEntry for weights
};

// `blocks`: of the executed graph, borrowed as the models are; null = it has none.
OpTable build_op_table(const Model& executed, const std::vector<NodeOrigin>& origins, const BlockedGraph* blocks = nullptr);

// Numbers that a session gave to the entries of a table.
using OpIds = std::vector<tensortap_op_id>;
// `flags` are those of every op besides its own. First hands over the values of attributes that JSON does not hold whole.
OpIds register_ops(tensortap_session* session, const OpTable& table, uint32_t flags = 0);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_REGISTERED_OPS_H_
