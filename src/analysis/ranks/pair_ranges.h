// Two ranks whose values are in different ranges.

#ifndef TENSORTAP_RANKS_PAIR_RANGES_H_
#define TENSORTAP_RANKS_PAIR_RANGES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>

#include "base/json_fwd.h"
#include "ranks/job_cells.h"

namespace tensortap {

// Two ranks have no median, so that none of them is usual. What remains: batches come to either rank by chance, so that now the one and now
// the other has the larger values. A tensor of the forward pass that is several times larger in the same rank in all steps until the last
// shows that the ranks compute something else. One such tensor may be a shard; a quarter of all is a finding. Gradients are not judged, as
// those of a batch that is fitted nearly vanish; neither are weights, shards, outputs of collectives, and equal values.
class PairRanges {
 public:
  // `job` is borrowed. Judges nothing unless it has exactly two ranks.
  explicit PairRanges(const RankJob& job) : job_(job) {}
  // The cells of one key; the keys of a tensor come in the order of the steps.
  void add(std::span<const RankCell> cells);
  [[nodiscard]] bool is_apart() const;
  // Null unless the job has two ranks: {"judged": tensors, "far": tensors, "apart": flag, "times": how many times larger, "larger": rank,
  // "since": {"step", "op", "type", "module"}}; the last three are of the first tensor that is far, or null.
  [[nodiscard]] Json report() const;

 private:
  // So many steps in a row, each so many times larger.
  struct Run {
    uint32_t steps;
    double times;
  };
  static constexpr std::array<Run, 4> kRuns = {{{8, 3}, {4, 8}, {3, 16}, {2, 64}}};
  static constexpr size_t kShare = 4;  // a finding: one of so many tensors

  struct Series {
    uint32_t steps = 0;
    bool is_second = false;  // the second rank is the larger one
    uint32_t since = kNowhere;
    std::array<uint32_t, kRuns.size()> in_row = {};
    double sum = 0;  // of the logarithms of the first of these rows
    [[nodiscard]] bool is_far() const;
  };
  [[nodiscard]] size_t judged() const;
  [[nodiscard]] size_t far() const;

  const RankJob& job_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Series> series_;  // by op, call and slot
};

}  // namespace tensortap

#endif  // TENSORTAP_RANKS_PAIR_RANGES_H_
