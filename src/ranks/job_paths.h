// Where ranks are not on the way of the others: ops and steps that some lack, and shapes that differ.

#ifndef TENSORTAP_RANKS_JOB_PATHS_H_
#define TENSORTAP_RANKS_JOB_PATHS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/json_fwd.h"
#include "ranks/job_cells.h"

namespace tensortap {

class JobPaths {
 public:
  explicit JobPaths(const JobCells& cells);
  void add(std::span<const RankCell> cells);
  // After the last add().
  void finish();

  // {"ops": [{"ops": count, "first": op, "ranks", "lacking", "most": whether more than half of the ranks have them}], "steps": [{"first",
  // "last", "steps", "lacking"}], "lacking_executions": count, "executions": [{"step", "op", ..., "call", "lacking", "others"}]}. An
  // execution lacks in a rank that has the op in another step, and has records of this step.
  [[nodiscard]] Json missing_report(size_t limit) const;
  // {"tensors": count, "wrong": count, "shapes": [{"record", ..., "wrong", "shapes": [{"dtype", "shape", "ranks"}]}]}: wrong are those of
  // another dtype or number of dimensions, those of weights and gradients, and where one rank alone has another shape than all others.
  [[nodiscard]] Json shapes_report(size_t limit) const;
  [[nodiscard]] bool lacks_any() const;  // what most ranks have

 private:
  struct Lacking {
    CellKey key;
    std::vector<uint32_t> places;
    std::vector<uint32_t> others;
  };
  struct OtherShapes {
    CellKey key;
    std::vector<std::pair<uint32_t, std::vector<uint32_t>>> shapes;  // with places, those of most ranks first
    bool wrong = false;
  };
  static bool has_most(size_t having, size_t ranks) { return having * 2 > ranks; }
  void close_execution();
  void look_at_shapes(std::span<const RankCell> cells);
  [[nodiscard]] Json op_groups() const;
  [[nodiscard]] Json step_gaps() const;
  [[nodiscard]] std::vector<uint32_t> lacking_step(uint32_t step) const;

  const JobCells& cells_;
  std::vector<std::vector<bool>> ranks_of_ops_;
  std::vector<std::vector<bool>> steps_of_;  // by place
  CellKey execution_;
  std::set<uint32_t> present_;
  std::vector<Lacking> lacking_;
  uint64_t executions_ = 0;
  std::map<std::pair<uint32_t, uint32_t>, size_t> shape_series_;  // op and slot: once each
  std::vector<OtherShapes> shapes_;
};

}  // namespace tensortap

#endif  // TENSORTAP_RANKS_JOB_PATHS_H_
