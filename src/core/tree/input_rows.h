// InputRows: the inputs of ops, for layouts that store them under the op that reads them, where records describe outputs only.
//
// It remembers the last record of every value that a selected op reads, for each run apart, and yields the inputs of each execution of each
// selected op in the order of execution: right before the op's first output. For an op without records, that is before the next record of a
// later op of the same graph, before the graph starts again, or when the step ends. The last ops of a graph did not run if
// their outputs are kept but have no record.

#ifndef TENSORTAP_TREE_INPUT_ROWS_H_
#define TENSORTAP_TREE_INPUT_ROWS_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plan/op_decision.h"
#include "trace/op_info.h"
#include "trace/record_row.h"
#include "trace/scoped_name.h"

namespace tensortap {

// `Place` is what the layout remembers of a value besides its record, such as the file that holds it; it is reused, not recreated.
// Thread-compatible: the layout's lock. Ops and decisions come before the records that they concern; graphs run their ops in the order of
// their ids.
template <class Place>
class InputRows {
 public:
  // A remembered value. Valid until its run ends; values of the phase kLoad for good.
  struct Source {
    RecordRow row;
    Place place;
    bool present = false;
  };
  // One input of one execution of an op.
  struct Input {
    OpId op = kNoOp;
    uint32_t slot = 0;
    int64_t step = 0;
    Source* source = nullptr;
  };
  // An input slot that reads a value.
  struct Reader {
    OpId op = kNoOp;
    uint32_t slot = 0;
  };

  // With `only_with_records` an op without records has no inputs: for plans that keep some executions only.
  explicit InputRows(bool only_with_records = false) : only_with_records_(only_with_records) {}

  void add_op(OpId id, const OpInfo& op);
  // Records the inputs that the decision wants, and with `keep` also output 0 of the op itself, for source().
  void decide(OpId id, const OpDecision& decision, bool keep = false);

  // Yields, as emit(const Input&), the inputs that come before this record: those of the ops passed over since the run's last one, and its
  // op's own. A record of an input says that the op's inputs come with the records: then its op's own are not yielded.
  template <class Emit>
  void before(const RecordRow& row, Emit&& emit);
  // Takes a record of an output; the caller fills in the place. Null when no op reads it.
  Source* remember(const RecordRow& row);
  // The value as it was recorded last in a run (or at load), null when it was not.
  Source* source(uint64_t run, OpId op, uint32_t slot);
  // The op that reads an output first, one of the same graph where there is one; kNoOp when no op does.
  [[nodiscard]] Reader first_reader(OpId op, uint32_t slot) const;

  // Yields what is left; source() still answers until forget().
  template <class Emit>
  void end_step(int64_t step, uint64_t run, Emit&& emit);
  // Lets go of the run's values.
  template <class Drop>
  void forget(uint64_t run, Drop&& drop);
  template <class Drop>
  void forget_all(Drop&& drop) {
    while (!runs_.empty()) forget(runs_.begin()->first, drop);
  }
  // Calls visit(Source&) for the values of the phase kLoad.
  template <class Visit>
  void each_loaded(Visit&& visit) {
    for (Source& value : loaded_) {
      if (value.present) visit(value);
    }
  }

 private:
  static constexpr uint32_t kNoValue = 0xffffffffU;
  struct Wanted {
    uint32_t slot;
    uint32_t value;
  };
  struct Op {
    std::vector<OpInput> all_inputs;
    std::vector<Wanted> inputs;
    std::vector<Wanted> outputs;
    uint32_t graph = 0;
    bool pseudo = false;
    bool has_records = false;  // of its outputs, when it runs
  };
  // How far one execution of a graph has come.
  struct Progress {
    bool seen = false;
    OpId next = 0;  // the first op whose inputs are still to come
    uint32_t call = 0;
  };
  struct Run {
    int64_t step = 0;
    bool begun = false;
    bool stopped = false;  // an op failed: those after it did not run
    std::vector<Source> values;
    std::vector<Progress> graphs;
  };
  static constexpr bool is_load(const RecordRow& row) { return row.phase == static_cast<uint8_t>(Phase::kLoad); }

  uint32_t value_of(OpId op, uint32_t slot);
  [[nodiscard]] uint32_t find_value(OpId op, uint32_t slot) const;
  Run& run_of(uint64_t number);
  template <class Emit>
  void emit_inputs(Run& run, OpId op, Emit&& emit);
  // The ops of a graph from progress.next up to and without `end`; with kNoOp those of the rest that may have run without a record.
  template <class Emit>
  void emit_up_to(Run& run, uint32_t graph, OpId end, Emit&& emit);

  bool only_with_records_;
  std::vector<Op> ops_;
  std::map<std::string, uint32_t, std::less<>> graph_numbers_{{"", 0}};
  std::vector<std::vector<OpId>> consumers_{1};  // by graph, in the order of ids
  std::vector<Reader> readers_;                  // the first of each value
  std::vector<Source> loaded_;
  std::unordered_map<uint64_t, std::unique_ptr<Run>> runs_;
  std::vector<std::unique_ptr<Run>> spare_runs_;
  Run* last_run_ = nullptr;  // of `last_number_`, as large as it must be; null when that may have changed
  uint64_t last_number_ = 0;
};

template <class Place>
void InputRows<Place>::add_op(OpId id, const OpInfo& op) {
  if (ops_.size() <= id) ops_.resize(size_t{id} + 1);
  const auto [graph, is_new] = graph_numbers_.try_emplace(op.graph, static_cast<uint32_t>(consumers_.size()));
  if (is_new) consumers_.emplace_back();
  last_run_ = nullptr;
  ops_[id].graph = graph->second;
  ops_[id].all_inputs = op.inputs;
  ops_[id].pseudo = is_pseudo_op(op);
}

template <class Place>
uint32_t InputRows<Place>::find_value(OpId op, uint32_t slot) const {
  if (op >= ops_.size()) return kNoValue;
  for (const Wanted& output : ops_[op].outputs) {
    if (output.slot == slot) return output.value;
  }
  return kNoValue;
}

template <class Place>
uint32_t InputRows<Place>::value_of(OpId op, uint32_t slot) {
  const uint32_t found = find_value(op, slot);
  if (found != kNoValue) return found;
  const auto value = static_cast<uint32_t>(readers_.size());
  ops_[op].outputs.push_back({slot, value});
  readers_.emplace_back();
  loaded_.emplace_back();
  return value;
}

template <class Place>
void InputRows<Place>::decide(OpId id, const OpDecision& decision, bool keep) {
  if (id >= ops_.size()) return;
  last_run_ = nullptr;
  Op& op = ops_[id];
  op.inputs.clear();
  op.has_records = decision.outputs;
  std::erase(consumers_[op.graph], id);
  if (keep) value_of(id, 0);
  if (!decision.inputs || op.pseudo) return;
  for (uint32_t slot = 0; slot < op.all_inputs.size(); ++slot) {
    const OpInput& input = op.all_inputs[slot];
    if (input.producer >= ops_.size() || !decision.wants_slot(SlotKind::kInput, slot)) continue;
    const uint32_t value = value_of(input.producer, input.producer_slot);
    op.inputs.push_back({slot, value});
    Reader& reader = readers_[value];
    const uint32_t home = ops_[input.producer].graph;
    const bool nearer = reader.op != kNoOp && op.graph == home && ops_[reader.op].graph != home;
    if (reader.op == kNoOp || nearer) reader = {id, slot};
  }
  std::vector<OpId>& consumers = consumers_[op.graph];
  if (!op.inputs.empty()) consumers.insert(std::ranges::upper_bound(consumers, id), id);
}

template <class Place>
typename InputRows<Place>::Reader InputRows<Place>::first_reader(OpId op, uint32_t slot) const {
  const uint32_t value = find_value(op, slot);
  return value == kNoValue ? Reader{} : readers_[value];
}

template <class Place>
typename InputRows<Place>::Run& InputRows<Place>::run_of(uint64_t number) {
  if (last_run_ != nullptr && last_number_ == number) return *last_run_;
  std::unique_ptr<Run>& run = runs_[number];
  if (run == nullptr && !spare_runs_.empty()) {
    run = std::move(spare_runs_.back());
    spare_runs_.pop_back();
  }
  if (run == nullptr) run = std::make_unique<Run>();
  if (run->values.size() < readers_.size()) run->values.resize(readers_.size());
  if (run->graphs.size() < consumers_.size()) run->graphs.resize(consumers_.size());
  last_run_ = run.get();
  last_number_ = number;
  return *run;
}

template <class Place>
template <class Emit>
void InputRows<Place>::emit_inputs(Run& run, OpId op, Emit&& emit) {
  for (const Wanted& input : ops_[op].inputs) {
    Source* value = loaded_[input.value].present ? &loaded_[input.value] : &run.values[input.value];
    // A value of another step is left over from a run whose end was not reported.
    if (value->present && (is_load(value->row) || value->row.step == run.step)) emit(Input{op, input.slot, run.step, value});
  }
}

template <class Place>
template <class Emit>
void InputRows<Place>::emit_up_to(Run& run, uint32_t graph, OpId end, Emit&& emit) {
  Progress& progress = run.graphs[graph];
  const std::vector<OpId>& consumers = consumers_[graph];
  for (auto op = std::ranges::lower_bound(consumers, progress.next); op != consumers.end() && *op < end; ++op) {
    // An op that was skipped ran. Of the last ones, those whose outputs would have a record did not run, or a failure came before them.
    if (end != kNoOp || !ops_[*op].has_records) emit_inputs(run, *op, emit);
  }
  progress.next = std::max(progress.next, end);
}

template <class Place>
template <class Emit>
void InputRows<Place>::before(const RecordRow& row, Emit&& emit) {
  if (row.op >= ops_.size() || is_load(row)) return;
  Run& run = run_of(row.run);
  if (run.begun && run.step != row.step) end_step(run.step, row.run, emit);
  const bool begun = std::exchange(run.begun, true);
  run.step = row.step;
  const Op& op = ops_[row.op];
  if (op.pseudo) return;
  Progress& progress = run.graphs[op.graph];
  const bool again = progress.seen && row.op < progress.next && row.call > progress.call;
  if (again) {
    if (!only_with_records_) emit_up_to(run, op.graph, kNoOp, emit);
    progress.next = 0;
  }
  if (!progress.seen || again) progress.call = row.call;
  progress.seen = true;
  if (row.op < progress.next) return;
  const bool of_input = row.slot_kind == static_cast<uint8_t>(SlotKind::kInput);
  const bool failed = (row.flags & kRecordFailedOp) != 0;
  // A failure may be reported after the step's end, long after the inputs of the others.
  if (only_with_records_ || (failed && !begun)) progress.next = row.op;
  // A record that is kept for a reader does not count as the op's own.
  const bool for_reader = only_with_records_ && (row.flags & kRecordForReaders) != 0;
  emit_up_to(run, op.graph, of_input || for_reader ? row.op : row.op + 1, emit);
  progress.next = row.op + 1;
  if (failed) run.stopped = true;
}

template <class Place>
typename InputRows<Place>::Source* InputRows<Place>::remember(const RecordRow& row) {
  if (row.slot_kind != static_cast<uint8_t>(SlotKind::kOutput)) return nullptr;
  const uint32_t value = find_value(row.op, row.slot_index);
  if (value == kNoValue) return nullptr;
  Source& source = is_load(row) ? loaded_[value] : run_of(row.run).values[value];
  source.row = row;
  source.present = true;
  return &source;
}

template <class Place>
typename InputRows<Place>::Source* InputRows<Place>::source(uint64_t run, OpId op, uint32_t slot) {
  const uint32_t value = find_value(op, slot);
  if (value == kNoValue) return nullptr;
  if (loaded_[value].present) return &loaded_[value];
  const auto found = runs_.find(run);
  if (found == runs_.end() || value >= found->second->values.size() || !found->second->values[value].present) return nullptr;
  return &found->second->values[value];
}

template <class Place>
template <class Emit>
void InputRows<Place>::end_step(int64_t step, uint64_t run_number, Emit&& emit) {
  Run& run = run_of(run_number);
  run.step = step;
  for (uint32_t graph = 0; graph < run.graphs.size() && !run.stopped && !only_with_records_; ++graph) {
    // The main graph ran whether or not it has a record; a nested one may not have run.
    if (run.graphs[graph].seen || graph == 0) emit_up_to(run, graph, kNoOp, emit);
  }
  std::ranges::fill(run.graphs, Progress{});
  run.begun = run.stopped = false;
}

template <class Place>
template <class Drop>
void InputRows<Place>::forget(uint64_t run_number, Drop&& drop) {
  const auto found = runs_.find(run_number);
  if (found == runs_.end()) return;
  for (Source& value : found->second->values) {
    if (value.present) drop(value);
    value.present = false;
  }
  last_run_ = nullptr;
  spare_runs_.push_back(std::move(found->second));
  runs_.erase(found);
}

}  // namespace tensortap

#endif  // TENSORTAP_TREE_INPUT_ROWS_H_
