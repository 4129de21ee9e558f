#include "source/pytorch/identity/graph_nodes.h"

#include <utility>

namespace tensortap::pytorch {

GraphNodes& graph_nodes() {
  static auto& nodes = *new GraphNodes;
  return nodes;
}

GraphNodes::~GraphNodes() {
  for (uint32_t i = 0; i < site_count_; ++i) delete sites_[i].load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < node_count_; ++i) delete nodes_[i].load(std::memory_order_relaxed);
}

uint32_t GraphNodes::add_node(GraphNode told, uint32_t op, uint32_t scope, bool updates, TorchSession* owner) {
  const std::lock_guard lock(mutex_);
  if (node_count_ == kMost) return 0;
  auto* added = new KnownNode;
  added->forward = node(told.forward);
  added->told = std::move(told);
  added->owner = owner;
  added->op = op;
  added->scope = scope;
  added->updates = updates;
  nodes_[node_count_].store(added, std::memory_order_release);
  return ++node_count_;
}

const KnownNode* GraphNodes::node(uint32_t number) const {
  return number == 0 || number > kMost ? nullptr : nodes_[number - 1].load(std::memory_order_acquire);
}

int64_t GraphNodes::add_site(const DumpRole& role, std::vector<DumpSlot> slots) {
  const std::lock_guard lock(mutex_);
  const KnownNode* known = node(role.node);
  if (site_count_ == kMost || known == nullptr) return -1;
  sites_[site_count_].store(new DumpSite{known, role, std::move(slots)}, std::memory_order_release);
  return site_count_++;
}

const DumpSite* GraphNodes::site(int64_t number) const {
  return number < 0 || static_cast<uint64_t>(number) >= kMost ? nullptr
                                                              : sites_[static_cast<size_t>(number)].load(std::memory_order_acquire);
}

}  // namespace tensortap::pytorch
