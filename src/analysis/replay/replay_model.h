// An ONNX model of recorded ops: a node for each, without edges between them, and what to feed it.

#ifndef TENSORTAP_REPLAY_REPLAY_MODEL_H_
#define TENSORTAP_REPLAY_REPLAY_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "replay/recorded_op.h"
#include "replay/runtime_of_dump.h"
#include "trace/dump_index.h"

namespace tensortap {

struct ReplayInput {
  std::string name;
  uint32_t row;     // of the dump
  RecordData data;  // borrows from the dump
};
struct ReplayOutput {
  std::string name;
  size_t op;      // position among the ops of the model
  size_t output;  // position in RecordedOp::outputs
};
struct ReplayModel {
  std::string bytes;
  std::vector<ReplayInput> inputs;
  std::vector<ReplayOutput> outputs;
};

// Weights become initializers, everything else inputs of the model. `ops` have no obstacle. Errors: what keeps the ops from being written
// as a model; with one op, why that one cannot be.
Result<ReplayModel> make_replay_model(const DumpIndex& dump, const RuntimeOfDump& runtime, std::span<const RecordedOp* const> ops);

}  // namespace tensortap

#endif  // TENSORTAP_REPLAY_REPLAY_MODEL_H_
