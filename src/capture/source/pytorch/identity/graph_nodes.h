// The nodes of graphs that torch.compile made, as Python told them when a graph was compiled: one table for the process.

#ifndef TENSORTAP_SOURCE_PYTORCH_IDENTITY_GRAPH_NODES_H_
#define TENSORTAP_SOURCE_PYTORCH_IDENTITY_GRAPH_NODES_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "source/pytorch/identity/graph_events.h"
#include "source/pytorch/identity/op_identity.h"

namespace tensortap::pytorch {

// The op of the dump that a node is, in one session, when its graph runs for `root`.
struct BoundNode {
  uint64_t generation = 0;  // of the session
  ModuleId root = 0;
  OpIdentity* identity = nullptr;
  const BoundNode* next = nullptr;
};

class TorchSession;

// A node that was reported. Lives as long as its table.
struct KnownNode {
  GraphNode told;
  TorchSession* owner = nullptr;  // whose op it is; null = that of the capture that runs when the graph does
  uint32_t op = 0;                // of the operator table
  uint32_t scope = 0;             // number of the name of its autograd node or optimizer, 0 = none
  bool updates = false;           // runs in an optimizer's step
  const KnownNode* forward = nullptr;
  mutable std::atomic<const BoundNode*> bound{nullptr};
};

// What one dump node hands over. Lives as long as its table.
struct DumpSite {
  const KnownNode* node = nullptr;
  DumpRole role;
  std::vector<DumpSlot> slots;
};

// Thread-safe; finding takes no lock. Numbers are never given again: compiled code keeps them.
class GraphNodes {
 public:
  GraphNodes() = default;
  ~GraphNodes();
  GraphNodes(const GraphNodes&) = delete;
  GraphNodes& operator=(const GraphNodes&) = delete;

  // From 1; 0 when there are too many.
  uint32_t add_node(GraphNode told, uint32_t op, uint32_t scope, bool updates, TorchSession* owner = nullptr);
  // Null when there is none of this number.
  [[nodiscard]] const KnownNode* node(uint32_t number) const;
  // From 0; -1 when there are too many, or no such node.
  int64_t add_site(const DumpRole& role, std::vector<DumpSlot> slots);
  // Null when there is none of this number.
  [[nodiscard]] const DumpSite* site(int64_t number) const;

 private:
  static constexpr size_t kMost = size_t{1} << 18U;

  std::mutex mutex_;  // guards adding
  uint32_t node_count_ = 0;
  uint32_t site_count_ = 0;
  std::array<std::atomic<const KnownNode*>, kMost> nodes_{};
  std::array<std::atomic<const DumpSite*>, kMost> sites_{};
};

// The table of this process: compiled code keeps its numbers, whatever sessions come and go.
GraphNodes& graph_nodes();

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_IDENTITY_GRAPH_NODES_H_
