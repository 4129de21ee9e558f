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

  // {"ops": [{"ops": count, "first": op, "ranks", "lacking", "most": whether more than half of the ranks have them}], "stages": whether
  // ranks send to single others, "steps": [{"first", "last", "steps", "lacking"}], "lacking_executions": count, "executions": [{"step",
  // "op", ..., "call", "lacking", "others"}]}. An execution lacks in a rank that has records of the step and has such executions in most
  // steps; or, after the first step, in all ranks where few have it, in few steps. None is lacking where all ranks lack equally many of
  // an op, which some have in another step than others; of a collective in a rank's last step, whose end was not waited for; of an op
  // without module and line where others have lines: a library's own thread ran it.
  [[nodiscard]] Json missing_report(size_t limit) const;
  // {"types": [{"tensors": count, "first": the first of them, "dtypes": [{"dtype", "ranks"}], those of most ranks first}], of tensors that
  // differ between ranks in their type alone; "tensors": count of those of other shapes, "wrong": count, "shapes": [{"record", ...,
  // "wrong", "shapes": [{"dtype", "shape", "ranks"}]}]}. Wrong are those of another number of dimensions or another type, too, those of
  // weights and gradients, and where one rank alone has another shape than all others; none in a job of stages.
  [[nodiscard]] Json shapes_report(size_t limit) const;
  [[nodiscard]] bool lacks_any() const;  // what most ranks have
  [[nodiscard]] bool differs_in_types() const { return !types_.empty() && !stages_; }
  // Whether ranks send to single others: they may run other programs.
  [[nodiscard]] bool has_stages() const { return stages_; }

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
  // Tensors that some ranks have in another type than the others, in the same shape.
  struct OtherTypes {
    uint64_t tensors = 0;
    CellKey first;
  };
  // dtype and places of those of the usual type, then of the others.
  using TypeSplit = std::vector<std::pair<uint8_t, std::vector<uint32_t>>>;
  [[nodiscard]] TypeSplit split_by_type(std::span<const RankCell> cells) const;
  // How regularly ranks have an execution of a number in a step.
  struct Habit {
    uint32_t steps = 0;             // in which any rank has it
    std::vector<uint32_t> lacking;  // by place; empty while none has lacked it
  };
  static bool has_most(size_t having, size_t ranks) { return having * 2 > ranks; }
  void close_execution();
  [[nodiscard]] bool ends_with_it(uint32_t place) const;
  [[nodiscard]] bool is_cut_before(uint32_t place, uint32_t step) const;
  void judge_executions();
  void judge(Lacking& lacking) const;
  [[nodiscard]] std::set<uint32_t> evenly_lacking() const;
  [[nodiscard]] bool is_of_program(uint32_t job_op) const;
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
  std::map<std::pair<uint32_t, uint32_t>, Habit> habits_;  // by op and call
  uint64_t executions_ = 0;
  bool stages_ = false;
  bool knows_sources_ = false;
  std::map<std::pair<uint32_t, uint32_t>, size_t> shape_series_;  // op and slot: once each
  std::vector<OtherShapes> shapes_;
  std::map<TypeSplit, OtherTypes> types_;
};

}  // namespace tensortap

#endif  // TENSORTAP_RANKS_JOB_PATHS_H_
