// Replicas that are no longer equal: weights, gradients after they were reduced, and what the optimizer keeps.

#ifndef TENSORTAP_RANKS_REPLICA_CHECK_H_
#define TENSORTAP_RANKS_REPLICA_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "base/json_fwd.h"
#include "ranks/job_cells.h"
#include "ranks/rank_groups.h"

namespace tensortap {

// Ranks of a group that the caller names must hold the same from their first step on. Of groups that the dumps name it is not known what
// the ranks share: those that hold the same at first, and more than a single number over and over, must go on doing so; and where more than
// half do, the others must, too. So shards raise no alarm. Contents are compared by digest, else by extremes, counts and l2.
//
// Of two ranks no half is the larger one. What one of them holds must be what the other one holds where an all-reduce left it, and where a
// weight is changed by equal gradients: that weight is no shard. Two ranks cannot show which of them is off.
class ReplicaCheck {
 public:
  // `cells` and its job are borrowed. Without groups of the caller's (`given`), those of the dumps are taken; of a job that names none, all
  // ranks where an op reduces over ranks.
  ReplicaCheck(const JobCells& cells, std::vector<RankGroup> given);
  void add(std::span<const RankCell> cells);
  // After the last cells.
  void finish() { settle_execution(); }
  // {"groups": [{"name", "ranks"}], "given": flag, "compared": tensors, "never_equal": tensors, "unequal": [...], "unequal_tensors": count,
  // "ranks": [{"rank", "tensors"}]}: at most `limit` in "unequal", the first in the order of the job first: {"record", ...,
  // "role", "ranks", "others", "undecided": flag}. It is undecided where as many ranks hold the one as the other.
  [[nodiscard]] Json report(size_t limit) const;

 private:
  struct Series {
    std::vector<uint32_t> classes;  // by position in the group: ranks of one class held the same
    bool never = false;             // no two ranks did
    bool said = false;              // and this is said to be wrong
  };
  struct Unequal {
    CellKey key;
    CellRole role;
    std::vector<uint32_t> ranks;   // places
    std::vector<uint32_t> others;  // places of those that most ranks hold the same as
    bool undecided = false;
  };
  using Members = std::vector<const RankCell*>;
  // What two ranks hold of one execution.
  struct Execution {
    struct Weight {
      Series* series = nullptr;
      CellKey key;
      uint32_t shape = 0;
      std::vector<uint32_t> places;
    };
    CellKey key;
    std::vector<Weight> unequal;                          // weights that never were equal
    std::vector<std::pair<int64_t, uint32_t>> gradients;  // element and shape of gradients that are equal
  };

  // Of members of several types those of the type that most have: that the others are of another one is said as such.
  void keep_usual_type(Members& members) const;

  void take(uint32_t group, std::span<const RankCell> cells);
  void follow(uint32_t group, Series& series, const Members& members);
  void look_at_pair(Series& series, const Members& members);
  void settle_execution();
  void begin(uint32_t group, Series& series, const Members& members);
  void differ(uint32_t group, Series& series, const std::vector<Members>& contents);
  [[nodiscard]] uint32_t& class_of(uint32_t group, Series& series, const RankCell& cell) const;
  [[nodiscard]] std::vector<uint32_t> places_of(const Members& members) const;

  const JobCells& cells_;
  bool given_;
  std::vector<RankGroup> groups_;
  std::vector<std::vector<uint32_t>> positions_;  // by group and place: the position in the group, or kNowhere
  // By op, how often it runs in a step, call, slot and group: where an op runs more often than before, its calls are of other tensors.
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>, Series> series_;
  std::vector<Unequal> unequal_;
  Execution execution_;
  std::map<int64_t, uint64_t> tensors_;  // by rank: how many of its tensors are unequal
};

}  // namespace tensortap

#endif  // TENSORTAP_RANKS_REPLICA_CHECK_H_
