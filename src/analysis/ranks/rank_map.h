// Ranks by steps: how far each is from the others, and where it has NaN or Inf.

#ifndef TENSORTAP_RANKS_RANK_MAP_H_
#define TENSORTAP_RANKS_RANK_MAP_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/json_fwd.h"
#include "ranks/job_cells.h"
#include "ranks/rank_job.h"

namespace tensortap {

// Of many steps, several that follow each other stand together.
class RankMap {
 public:
  explicit RankMap(const RankJob& job);
  // Counts the records of a dump.
  void count(const OpenRankDump& open);
  // `distances` of these cells, in their order, as distances_from_median() gives them.
  void add(std::span<const RankCell> cells, std::span<const double> distances);
  // {"steps": [{"first", "last"}], "ranks": [{"rank", "distances", "nonfinite", "records"}]}: for each of these spans of steps the mean
  // distance of the rank's values, null where none was judged; how many of its records have NaN or Inf by their statistics; how many
  // records it has.
  [[nodiscard]] Json report() const;

 private:
  static constexpr size_t kMostColumns = 500;

  struct Cell {
    double distances = 0;
    uint64_t judged = 0;
    uint64_t nonfinite = 0;
    uint64_t records = 0;
  };
  [[nodiscard]] Cell& at(uint32_t place, uint32_t step) { return cells_[place * columns_ + step / steps_of_column_]; }

  const RankJob& job_;
  size_t steps_of_column_ = 1;
  size_t columns_ = 0;
  std::vector<Cell> cells_;  // by place and column
};

}  // namespace tensortap

#endif  // TENSORTAP_RANKS_RANK_MAP_H_
