// Which op reads what which other op made: the edges of a dump's graph.

#ifndef TENSORTAP_GRAPH_MODEL_EDGES_H_
#define TENSORTAP_GRAPH_MODEL_EDGES_H_

#include <cstdint>
#include <vector>

#include "trace/dump_index.h"

namespace tensortap {

struct ModelEdge {
  OpId from = kNoOp;
  OpId to = kNoOp;
  uint32_t values = 1;  // how many inputs of `to` are made by `from`
  friend bool operator==(const ModelEdge&, const ModelEdge&) = default;
};

// One edge for each pair of ops, by `from` and then `to`; an op that reads its own output has an edge to itself. Edges come from the
// producers that the ops name and from the names of their values. Ops that name no producers (PyTorch's) get edges from the memory of their
// records in their first execution. What they read in later executions also counts, unless an update made it: that belongs to the next
// step. An op that owns a nested graph reads the values that the graph returns. Linear in ops, their inputs, and records.
std::vector<ModelEdge> model_edges(const DumpIndex& dump);

}  // namespace tensortap

#endif  // TENSORTAP_GRAPH_MODEL_EDGES_H_
