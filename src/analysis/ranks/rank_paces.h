// How long each rank needs for its part of a step: the other ranks wait for the one that needs longest.

#ifndef TENSORTAP_RANKS_RANK_PACES_H_
#define TENSORTAP_RANKS_RANK_PACES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/json_fwd.h"
#include "ranks/rank_job.h"
#include "ranks/time_spans.h"

namespace tensortap {

struct RankExecution {
  TimeSpan span;
  uint32_t job_op = 0;
  uint32_t call = 0;
  uint32_t step = 0;  // its place among the job's steps
};

// The own time of a rank is all time but that in which no op runs and a collective does: the rank waits then. A collective lasts long in
// the ranks that wait, and is short in the one that comes last. Ranks are compared step by step; a job of few steps by eighths of its
// collectives. Each rank's clock is compared with itself only.
class RankPaces {
 public:
  using Times = std::vector<double>;  // nanoseconds; NaN = not known
  struct UsualPlace {
    uint64_t executions = 0;
    double before = 0;
    double inside = 0;
  };
  struct Usual {
    double sum = 0;
    std::vector<UsualPlace> places;  // by op of the job
  };
  // What one dump says of a rank.
  struct Timeline {
    bool has_times = false;
    uint64_t executions = 0;
    uint64_t collectives = 0;
    Times steps;    // own time, by place of the step
    Times eighths;  // and of the eighths of its collectives
    double own = 0;
    double waiting = 0;
    Usual always;   // of the steps from first_step() on
    Usual earlier;  // of those before middle_step()
    Usual later;    // and of those from there on
  };

  explicit RankPaces(const RankJob& job);
  // What a dump says of its ranks, by place. From any thread.
  [[nodiscard]] std::map<uint32_t, Timeline> read(const OpenRankDump& open) const;
  // Takes what a dump says. The order of the dumps decides between equal ones.
  void add(std::map<uint32_t, Timeline> lines);
  // {"unit": "step" or "eighth of the collectives", "units": how many are compared, "slow": [{"rank", "ratio": of its usual own time to
  // that of the middle one of the other ranks, "excess_ns": how much more that is, "since": step, or null for all the time, "where":
  // {"before": whether it is the time before the op, "own_ns", "others_ns", and the op} or null}], the slowest first, "ranks": [{"rank",
  // "usual_ns", "own_ns", "waiting_ns": of all units}]}. Usual times are those of a step, or of all of a job of few steps, made of the
  // middle execution of each op and of the middle time before it. A rank is slow when that is a quarter more in both halves of the steps,
  // and four milliseconds, and when it needs longer in two of three units; or when it is half as much again in the second half, and twelve
  // milliseconds. In a job of few steps it needs twice as long, and longer in nearly all units.
  [[nodiscard]] Json report() const;

 private:
  struct Slow {
    uint32_t place = 0;
    Usual Timeline::*part = nullptr;  // of the steps
    double ratio = 0;
    double excess = 0;
  };
  // In an op, or before one.
  struct Loss {
    uint32_t job_op = 0;
    bool before = false;
    double own = 0;
    double others = 0;
  };
  class Reader;
  [[nodiscard]] bool by_steps() const;
  [[nodiscard]] uint32_t first_step() const;
  [[nodiscard]] uint32_t middle_step() const;
  // By place and unit.
  [[nodiscard]] std::vector<Times> units() const;
  [[nodiscard]] std::optional<Slow> more_than_others(uint32_t place, Usual Timeline::*part) const;
  [[nodiscard]] std::optional<Slow> slow_rank(const std::vector<Times>& units, uint32_t place) const;
  static bool needs_longer(const std::vector<Times>& units, uint32_t place, size_t first, double share);
  [[nodiscard]] std::vector<Slow> slow_ranks() const;
  [[nodiscard]] std::optional<Loss> largest_loss(const Slow& slow) const;

  const RankJob& job_;
  std::vector<bool> waits_;          // by op of the job
  std::vector<bool> is_idle_;        // the same, and of ops that may wait for a device that waits
  std::vector<Timeline> timelines_;  // by place
};

}  // namespace tensortap

#endif  // TENSORTAP_RANKS_RANK_PACES_H_
