// The ops of the dump that the nodes of a graph are, found before the graph is computed.

#ifndef TENSORTAP_SOURCE_GGML_GRAPH_PLAN_H_
#define TENSORTAP_SOURCE_GGML_GRAPH_PLAN_H_

#include <tensortap/capture.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "source/ggml/batch_phase.h"
#include "source/ggml/ggml_library.h"

namespace tensortap::ggml {

class ModelCapture;

// An input of the graph that a node reads. It is looked at before the first of these nodes is computed.
struct PlannedInput {
  size_t source = 0;  // of the node
  size_t number = 0;  // of the input, among those of the graph
  uint32_t rank = 1;  // dimensions that are shown at least
  tensortap_op_id id = TENSORTAP_NO_OP;
  std::atomic<bool> told{false};  // that it cannot be captured
};

struct PlannedNode {
  tensortap_op_id id = TENSORTAP_NO_OP;  // of a node that computes nothing, TENSORTAP_NO_OP
  uint32_t rank = 1;                     // dimensions that are shown at least
  bool writes_rows = false;              // the op SET_ROWS, into a tensor that the graph got: a KV cache
  std::deque<PlannedInput> inputs;
  std::atomic<bool> told{false};
};

// Shared by the graphs with equal nodes that read the same weights. Only its flags change once it is made.
struct GraphPlan {
  ModelCapture* model = nullptr;
  uint64_t structure = 0;
  size_t input_count = 0;
  BatchPlaces batch;
  std::deque<PlannedNode> nodes;     // in the order of the graph
  std::atomic<bool> refused{false};  // it was reported as not captured
};

// Equal for graphs whose nodes have the same names, ops and types; the same in every process.
uint64_t structure_of(const std::vector<GgmlTensor>& nodes);
// Which weights a graph reads. A program that unloads a model may load the next one to the same place.
struct WeightsKey {
  uint64_t key = 0;       // of the structure and of where the weights are; the structure itself for a graph that reads none
  uint64_t contents = 0;  // of some bytes of each
};
WeightsKey key_of(const GgmlLibrary& library, const std::vector<GgmlTensor>& nodes, uint64_t structure);

// Some bytes of a weight, by which another one at the same place is recognised; 0 where the host cannot read them.
uint64_t sample_of(const GgmlLibrary& library, GgmlTensor weight);

// Whether a tensor that no op made holds parameters of the model.
bool is_weight(const GgmlLibrary& library, GgmlTensor leaf);

}  // namespace tensortap::ggml

#endif  // TENSORTAP_SOURCE_GGML_GRAPH_PLAN_H_
