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

// One edge for each pair of ops, by `from` and then `to`; an op that reads what it made itself has an edge to itself. Edges come from the
// producers that the ops name and from the names of their values. Ops that name none (PyTorch's) have those of the memory that their
// records were in, in their first execution; what they read in later ones counts, too, unless an update made it: that belongs to the next
// step. What a nested graph returns is read by the op that the graph belongs to. Linear in ops, their inputs, and records.
std::vector<ModelEdge> model_edges(const DumpIndex& dump);

}  // namespace tensortap

#endif  // TENSORTAP_GRAPH_MODEL_EDGES_H_
