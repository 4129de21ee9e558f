// Norms of the gradients of a training, by layer and step.

#ifndef TENSORTAP_RANKS_GRADIENT_NORMS_H_
#define TENSORTAP_RANKS_GRADIENT_NORMS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/json_fwd.h"
#include "ranks/rank_job.h"

namespace tensortap {

// A gradient is a `grad` slot; where memory is known, what the optimizer reads of the memory that the backward pass wrote in the same step,
// or else what that pass accumulates. Its layer is the module whose backward ops wrote that memory. The norm of a layer is the median of
// those of its ranks; where ranks hold shards, it is that of a shard.
class GradientNorms {
 public:
  explicit GradientNorms(const RankJob& job) : job_(job) {}
  void add(const OpenRankDump& open);
  // {"steps": [...], "global": [norm of each step, null where not known], "layers": [{"layer", "share": of the squares of all steps,
  // "norms"}], "layer_count": count}: at most `limit` layers, the largest share first; null without gradients. A layer that is not known is
  // null.
  [[nodiscard]] Json report(size_t limit) const;

 private:
  // Of one rank in one step.
  struct Step {
    std::unordered_map<uint64_t, uint32_t> layers;  // of blocks of memory that the backward pass wrote
    std::unordered_set<uint64_t> counted;
    std::map<uint32_t, double> read;         // squares of what the optimizer read, by layer
    std::map<uint32_t, double> accumulated;  // of what the backward pass accumulated
    std::map<uint32_t, double> slots;        // of `grad` slots
    uint32_t op = kNoOp;                     // execution that is looked at
    uint32_t call = 0;
    uint32_t inherited = 0;  // layer of what it read
  };
  void look_at(Step& step, const OpenRankDump& open, const RecordRow& row);
  void finish(uint32_t place, uint32_t step_place, Step& step);
  uint32_t layer(const std::string& name);

  const RankJob& job_;
  std::vector<std::string> names_ = {""};  // of layers; the first one is not known
  std::unordered_map<std::string, uint32_t> numbers_ = {{"", 0}};
  std::map<std::pair<uint32_t, uint32_t>, std::vector<double>> norms_;  // by step and layer, one of each rank
};

}  // namespace tensortap

#endif  // TENSORTAP_RANKS_GRADIENT_NORMS_H_
