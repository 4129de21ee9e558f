// The dump of one model that a copy of ggml computes: its session, the ops that are known, and the steps of its schedulers.

#ifndef TENSORTAP_SOURCE_GGML_MODEL_CAPTURE_H_
#define TENSORTAP_SOURCE_GGML_MODEL_CAPTURE_H_

#include <tensortap/capture.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "source/ggml/ggml_library.h"
#include "source/ggml/graph_plan.h"
#include "source/ggml/model_files.h"
#include "source/ggml/original_names.h"
#include "source/ggml/tensor_values.h"

namespace tensortap::ggml {

// The weights that a graph reads, each once.
std::vector<ReadWeight> weights_of(const GgmlLibrary& library, const std::vector<GgmlTensor>& nodes);

// One computation: which step of which scheduler, and what the model does in it.
struct ComputedStep {
  int64_t step = 0;
  uint64_t run = 0;
  uint32_t phase = 0;  // enum tensortap_model_phase
};

// learn() and kinship() are called by one thread at a time, the rest by any.
class ModelCapture {
 public:
  // Takes the session over. `files` are of the weights that are known, `names` the translation of modules and weights.
  ModelCapture(tensortap_session* session, const GgmlLibrary& library, ModelFiles files, OriginalNames names);

  const GgmlLibrary& library;
  tensortap_session* const session;
  TensorValues values;

  enum class Kinship { kOther, kUnknown, kSame };
  // Whether weights are those of this model; kUnknown for none. Other bytes at the same place are another model's, if `by_bytes`.
  [[nodiscard]] Kinship kinship(const std::vector<ReadWeight>& weights, bool by_bytes) const;
  // Whether a graph writes into weights, as a training does: these are the same weights then, whatever they hold.
  [[nodiscard]] bool writes_weights() const { return writes_weights_; }

  // Registers the ops of a graph that are new, and sends weights that are.
  std::unique_ptr<GraphPlan> learn(const std::vector<GgmlTensor>& nodes, uint64_t structure);

  // Gives the next step of a scheduler.
  ComputedStep next_step(const void* scheduler);

 private:
  friend class GraphLearner;
  struct KnownOp {
    tensortap_op_id id = TENSORTAP_NO_OP;
    std::string value;  // name of its output
    uint32_t rank = 1;  // the most dimensions that it had in a graph: of one token a dimension is 1, and ggml does not tell it
  };
  struct Schedule {
    uint64_t run = 0;
    int64_t next = 0;
  };

  ModelFiles files_;
  const OriginalNames names_;
  std::map<std::string, KnownOp> ops_;                          // by what makes two nodes one op
  std::unordered_map<const void*, KnownOp> weights_;            // by their data
  std::map<std::string, std::set<const void*>> named_weights_;  // their data: a weight may be there twice, arranged in two ways
  std::set<void*> weight_buffers_;
  std::unordered_map<const void*, uint64_t> samples_;  // of weights, by their data
  bool writes_weights_ = false;
  std::unordered_map<const void*, KnownOp> states_;  // by the data of tensors that graphs leave for later ones: what wrote there last
  std::unordered_map<const void*, KnownOp> made_;    // by the tensors of the graphs that were learned last
  std::set<uint64_t> structures_;
  uint64_t first_structure_ = 0;
  std::mutex mutex_;
  std::unordered_map<const void*, Schedule> schedules_;  // guarded by mutex_
};

}  // namespace tensortap::ggml

#endif  // TENSORTAP_SOURCE_GGML_MODEL_CAPTURE_H_
