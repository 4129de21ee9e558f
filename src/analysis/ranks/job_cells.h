// What the ranks of a job have of one tensor of one execution, beside each other.

#ifndef TENSORTAP_RANKS_JOB_CELLS_H_
#define TENSORTAP_RANKS_JOB_CELLS_H_

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "find/collective_types.h"
#include "query/row_query.h"
#include "ranks/rank_job.h"

namespace tensortap {

// The role of a tensor, as far as replicas are concerned.
enum class CellRole : uint8_t { kOther, kWeight, kGradient, kState };
std::string_view role_name(CellRole role);  // "value", "weight", "gradient", "optimizer state"

// The place of a record in the job; the order is that of the job.
struct CellKey {
  uint32_t step = 0;  // position among the job's steps
  uint32_t job_op = 0;
  uint32_t call = 0;
  uint32_t slot = 0;  // JobCells::slot()
  friend auto operator<=>(const CellKey&, const CellKey&) = default;
};

// What one rank has there.
struct RankCell {
  CellKey key;
  uint32_t place = 0;  // of the rank
  uint32_t calls = 0;  // how often the op ran in this step, in the rank where it ran most often: a call is the same tensor's in equal ones
  uint32_t shape = 0;  // JobCells::shape()
  double l2 = 0;       // NaN = not known, or not finite
  uint64_t content = 0;  // equal for equal digests, or else for equal extremes and counts; 0 = not known
  CellRole role = CellRole::kOther;
  bool has_digest = false;
  bool varies = false;      // has elements that differ, or one only
  bool is_single = false;   // one element
  bool is_shard = false;    // its op works on shards, as its source says
  bool is_read = false;     // an input, which comes in addition to the output that made it
  bool is_forward = false;  // of a forward pass, or of inference
  bool is_sum = false;      // what an all-reduce left, which had ended
  bool is_written = true;   // otherwise a view of memory that nothing wrote to yet: its op ran, but its content means nothing
};

struct CellSlot {
  SlotKind kind = SlotKind::kOutput;
  uint16_t index = 0;
  int64_t element = -1;
};

// The dtype and the dimensions of a tensor.
struct CellShape {
  uint8_t dtype = 0;
  std::string dims;  // "4x768"
  uint8_t dims_count = 0;
  uint64_t numel = 0;
};

// Numbers for slots and shapes, in the order in which they are first asked for. One thread.
class CellNumbers {
 public:
  uint32_t slot_of(const RecordRow& row);
  uint32_t shape_of(const RecordRow& row);
  // The number here of a slot or shape of other numbers.
  uint32_t slot_of(const CellNumbers& other, uint32_t number) { return number_of_slot(other.slots_[number]); }
  uint32_t shape_of(const CellNumbers& other, uint32_t number) { return number_of_shape(other.shapes_[number]); }

  [[nodiscard]] size_t slots() const { return slots_.size(); }
  [[nodiscard]] size_t shapes() const { return shapes_.size(); }
  [[nodiscard]] const CellSlot& slot(uint32_t number) const { return slots_[number].slot; }
  [[nodiscard]] const CellShape& shape(uint32_t number) const { return shapes_[number]; }

 private:
  struct Slot {
    std::pair<uint64_t, int64_t> key;  // no other slot has it
    CellSlot slot;
  };
  // A shape is asked for again and again for one op: its text is made once.
  struct LastOfOp {
    TensorDesc desc;
    uint32_t number = kNowhere;
  };
  uint32_t number_of_slot(const Slot& slot);
  uint32_t number_of_shape(const CellShape& shape);

  std::vector<Slot> slots_;
  std::map<std::pair<uint64_t, int64_t>, uint32_t> slot_numbers_;
  std::vector<CellShape> shapes_;
  std::map<std::pair<uint8_t, std::string>, uint32_t> shape_numbers_;
  std::vector<LastOfOp> last_;  // by op of a dump
};

// The cells of one dump; `numbers` are of this dump alone. Plain data.
struct DumpCells {
  std::vector<RankCell> cells;
  CellNumbers numbers;
};

// The cells of some steps. One thread.
class JobCells {
 public:
  // `job` is borrowed.
  explicit JobCells(const RankJob& job) : job_(job) {}

  // Takes only records that the query chooses from now on; its last steps are those of the job. Errors: those of select_rows().
  Status choose(const RowQuery& query);
  // How many cells were taken.
  [[nodiscard]] uint64_t taken() const { return taken_; }

  // Reads the records of a dump whose step is at a position from `first` to before `last`: outputs, and records that show how training goes
  // on. From any thread.
  [[nodiscard]] DumpCells read(const OpenRankDump& open, uint32_t first, uint32_t last) const;
  // Takes them. Slots and shapes are numbered in the order of the dumps.
  void add(DumpCells added);
  // Puts the cells in the order of the job. Of several processes of a rank that have an op alike, one counts.
  void finish();
  // After finish(): calls `look` with the cells of each key, in the order of the job, one for each rank that has it, by place. From any
  // thread, also from several.
  void each(const std::function<void(std::span<const RankCell>)>& look) const;
  void forget() { cells_.clear(); }

  [[nodiscard]] const CellSlot& slot(uint32_t number) const { return numbers_.slot(number); }
  [[nodiscard]] const CellShape& shape(uint32_t number) const { return numbers_.shape(number); }
  [[nodiscard]] const RankJob& job() const { return job_; }

 private:
  void count_calls();

  const RankJob& job_;
  RowQuery of_ops_;          // the part of the query that is about ops
  std::vector<bool> steps_;  // by position: chosen; empty = all are
  uint64_t taken_ = 0;
  std::vector<RankCell> cells_;
  CellNumbers numbers_;
};

}  // namespace tensortap

#endif  // TENSORTAP_RANKS_JOB_CELLS_H_
