// Which ops read what an op made.

#ifndef TENSORTAP_COMPARE_OP_EDGES_H_
#define TENSORTAP_COMPARE_OP_EDGES_H_

#include <cstdint>
#include <vector>

#include "trace/dump_index.h"

namespace tensortap {

struct OpEdge {
  OpId maker = kNoOp;
  uint32_t slot = 0;  // output of the maker
  OpId reader = kNoOp;
  friend auto operator<=>(const OpEdge&, const OpEdge&) = default;
};

// By the graph, and also by memory in dumps that record which memory a tensor was in; the latter only for captured ops. Each once, in order
// of makers. Weights and inputs of the graph are makers, too. Linear in records and ops, beside sorting.
std::vector<OpEdge> op_edges(const DumpIndex& dump);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_OP_EDGES_H_
