// What a layout can do besides the core of LayoutWriter. A session asks for the parts once, when it opens the dump (LayoutWriter::parts()).

#ifndef TENSORTAP_LAYOUT_LAYOUT_PARTS_H_
#define TENSORTAP_LAYOUT_LAYOUT_PARTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "plan/op_decision.h"
#include "stats/histogram.h"
#include "tensor/tensor_sketch.h"
#include "trace/op_info.h"
#include "trace/record_row.h"

namespace tensortap {

// A file of a dump that another program removed, replaced or cut while the dump was written.
struct GoneFile {
  std::string name;
  std::string_view how;  // "removed", "replaced", "cut"
  uint64_t records = 0;  // that lost their row, their values or their name with it
};

// Records that a layout took and could not write later.
struct LostRecords {
  uint64_t records = 0;
  uint64_t counted = 0;  // of them: whose values could not be written before, which their caller counted
};

// A part is never destroyed through its pointer: the writer owns it.
class LayoutPart {
 public:
  LayoutPart(const LayoutPart&) = delete;
  LayoutPart& operator=(const LayoutPart&) = delete;

 protected:
  LayoutPart() = default;
  ~LayoutPart() = default;
};

// Under the session's registration lock.
class FollowsDecisions : public LayoutPart {
 public:
  // Ops that are known and not added, before the one that is added next: they count where names contain the place of an op in the order of
  // execution.
  virtual void pass_over_ops(uint32_t /*count*/) {}

  // The plan's decision for an added op. Called before any record of the op, and again when the plan is replaced
  // (Layout::takes_plan_changes). A layout that stores an op's inputs under the op's own name takes them from the records of their
  // producers (OpInfo::inputs), which are captured for it.
  virtual void op_decided(OpId id, const OpDecision& decision) = 0;

 protected:
  ~FollowsDecisions() = default;
};

// Only for layouts that take all records from one thread, on which it is called, in order with the records.
class FollowsSteps : public LayoutPart {
 public:
  // No more records of this step of this run will come, except lost ones.
  virtual Status end_step(int64_t step, uint64_t run) = 0;

 protected:
  ~FollowsSteps() = default;
};

// As FollowsSteps.
class FollowsExecutions : public LayoutPart {
 public:
  // An execution is over, or failed (kRecordFailedOp): every one in the order in which they ended, wanted or not, in any step, after its
  // records. `event` is what its records share: step, run, call, phase, time and duration; it has no tensor.
  virtual Status op_ran(OpId op, const RecordRow& event) = 0;

 protected:
  ~FollowsExecutions() = default;
};

// As FollowsSteps.
class FollowsFirstRounds : public LayoutPart {
 public:
  // A tensor of an execution in step 0 of a run, captured or not, of a source that reports what an op reads before it runs: a row as
  // add_record() has it, without values.
  virtual void described(const RecordRow& row) = 0;

  // Step 0 of a run that is not captured is over: what end_step() says of others.
  virtual Status round_passed(int64_t step, uint64_t run) = 0;

 protected:
  ~FollowsFirstRounds() = default;
};

class KeepsSketches : public LayoutPart {
 public:
  // Keeps a record's sketch, before the record itself; `row.sketch` says that it exists. Any thread at any time. Errors: kIo, kExhausted,
  // no room in "max_bytes".
  virtual Status add_sketch(const RecordRow& row, const TensorSketch& sketch) = 0;

 protected:
  ~KeepsSketches() = default;
};

class KeepsDocuments : public LayoutPart {
 public:
  // Writes a file that is no tensor to `path` below the folder of the dump. Writes it whole, unless it already exists; with `append`, adds
  // to the end of the existing file. Any thread at any time. Errors: kInvalidArgument for a path that leads elsewhere; kIo, kExhausted.
  virtual Status add_document(std::string_view path, std::string_view content, bool append) = 0;

  // Keeps serialised values of attributes, to which the attributes of ops refer as {"ref": [offset, size]} (docs/layouts/tap.md). Before
  // any op is added, at most once. Errors: kUnsupported where attributes are kept as text only, kIo, kExhausted.
  virtual Status add_attributes(std::string_view /*bytes*/) { return unsupported("this layout keeps attributes as text only"); }

 protected:
  ~KeepsDocuments() = default;
};

// Several records may share one record's data. Without this part, each is added with a separate copy.
class SharesData : public LayoutPart {
 public:
  // Adds a record with the same elements as an earlier one, whose DataPlace is in `row`. Any thread at any time.
  virtual Status add_reference(RecordRow& row, const ExponentHistogram* histogram) = 0;

 protected:
  ~SharesData() = default;
};

class WritesRowsFirst : public LayoutPart {
 public:
  // Adds a record whose values come later: its row outlives the program, however that ends. Until the values come, the row is marked as one
  // without them (waits_for_values). Any thread at any time. Returns a number for add_values(), and fills `row` as add_record() does. Has
  // the errors of add_record().
  virtual Result<uint64_t> add_row_first(RecordRow& row, const ExponentHistogram* histogram) = 0;

  // The values of a record that add_row_first() gave `number`, once: `data` as add_record() takes it; null when `row` says by itself where
  // they are (DataPlace), or that they are lost. One call at a time. After an error the record stays, without values; kNotFound when the
  // record itself is lost, which take_lost() counts.
  virtual Status add_values(uint64_t number, RecordRow& row, const TensorView* data) = 0;

 protected:
  ~WritesRowsFirst() = default;
};

class ReportsLosses : public LayoutPart {
 public:
  // Returns the records lost since the last call: of an op whose file holds several, or of rows that are written together. The call that
  // reported one of them reported the failure of all. On the thread of add_record() with data.
  virtual LostRecords take_lost() = 0;

  // Records that the session has counted as lost. A layout that outlives the process keeps the sum, which run.json gets otherwise. Any
  // thread at any time.
  virtual void count_lost(uint64_t /*records*/) {}

  // Ends all files but the manifest, and returns those that another program changed. At most once, after the last record and before
  // finish(), which returns the failures of this call.
  virtual std::vector<GoneFile> end_files() { return {}; }

 protected:
  ~ReportsLosses() = default;
};

class NamesFiles : public LayoutPart {
 public:
  // The names of an added op in the files of the dump: DumpIndex::file_name_of() of its reader. Several if it has files of several kinds.
  [[nodiscard]] virtual std::vector<std::string> file_names_of(OpId op) = 0;

 protected:
  ~NamesFiles() = default;
};

// The parts of one writer; null where it has none. They live as long as the writer. Plain data.
struct LayoutParts {
  FollowsDecisions* decisions = nullptr;
  FollowsSteps* steps = nullptr;
  FollowsExecutions* executions = nullptr;
  FollowsFirstRounds* first_rounds = nullptr;
  KeepsSketches* sketches = nullptr;
  KeepsDocuments* documents = nullptr;
  SharesData* shared_data = nullptr;
  WritesRowsFirst* rows_first = nullptr;
  ReportsLosses* losses = nullptr;
  NamesFiles* file_names = nullptr;
  // Whether names contain an op's place in the order of first execution. An op that first runs in a step that is not captured also counts,
  // so that a name means the same op whatever is captured.
  bool numbers_ops = false;
  // Whether records need their values although none is kept: for what a tree stores of them and a record does not.
  bool wants_values = false;
};

}  // namespace tensortap

#endif  // TENSORTAP_LAYOUT_LAYOUT_PARTS_H_
