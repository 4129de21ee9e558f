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
#include "trace/dump_index.h"

namespace tensortap {

struct OperatorSetOfDump {
  std::string domain;  // "" = ai.onnx
  int64_t version = 0;
};

// What run.json says of the runtime that made a dump (docs/layouts/tap.md). Untrusted.
struct RuntimeOfDump {
  std::string source;   // "onnxruntime 1.31.1"; "" = not known
  std::string library;  // path, "" = not known
  std::vector<OperatorSetOfDump> opset;
  std::vector<std::string> custom_ops;  // libraries
  int threads = 0;                      // 0 = the runtime's choice
};
RuntimeOfDump runtime_of(const DumpIndex& dump);

// The operator set of ai.onnx that is taken where the dump does not say one.
inline constexpr int64_t kAssumedOpset = 17;

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
