// Ranks whose values are apart from those of the others.

#ifndef TENSORTAP_RANKS_APART_RANKS_H_
#define TENSORTAP_RANKS_APART_RANKS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/json_fwd.h"
#include "ranks/job_cells.h"

namespace tensortap {

// How far each of these cells is from the others: |log(l2 / median of the ranks' l2)|, where three ranks or more have the tensor in one
// shape; nothing where they do not.
std::vector<double> distances_from_median(std::span<const RankCell> cells);

// A rank is apart when the mean of its distances is far above what is usual among the ranks, in several consecutive steps: all values of a
// step come from one batch, so that one step is one observation. It began at the first op, in the order of the job, that was far from the
// others in every step from then on.
class ApartRanks {
 public:
  explicit ApartRanks(const RankJob& job);
  // `distances` of these cells, in their order.
  void add(std::span<const RankCell> cells, std::span<const double> distances);
  // {"judged": values, "usual": distance, "ranks": [{"rank", "distance", "since": {"step", "op", "type", "module"} or null, "far_ops"}]},
  // the farthest first; "distances": [{"rank", "distance"}] of all.
  [[nodiscard]] Json report() const;

 private:
  static constexpr double kFar = 6;               // times the median distance of the ranks from their median: four standard deviations
  static constexpr double kFarMean = 3;           // times the usual mean distance
  static constexpr double kLeastDistance = 1e-5;  // what rounding may add up to

  // Since when an op of a rank is far in every step that it ran in.
  struct Streak {
    uint32_t since = kNowhere;
    uint32_t last_far = kNowhere;
    uint32_t last = kNowhere;      // step with a distance
    uint32_t previous = kNowhere;  // the one before
  };
  struct Sum {
    double distances = 0;
    uint64_t values = 0;
    [[nodiscard]] double mean() const { return values == 0 ? 0 : distances / static_cast<double>(values); }
  };
  // The sums of a rank, by step.
  [[nodiscard]] std::span<const Sum> steps_of(uint32_t place) const;
  [[nodiscard]] Sum sum_of(uint32_t place) const;
  static void follow(Streak& streak, uint32_t step, bool far);
  [[nodiscard]] Json rank_json(uint32_t place) const;
  // Whether steps in a row are farther than chance makes those of a rank whose batches are others.
  [[nodiscard]] bool lasts(uint32_t place) const;

  const RankJob& job_;
  std::vector<Sum> sums_;        // by place and step
  std::vector<Streak> streaks_;  // by place and op
  uint64_t judged_ = 0;
};

}  // namespace tensortap

#endif  // TENSORTAP_RANKS_APART_RANKS_H_
