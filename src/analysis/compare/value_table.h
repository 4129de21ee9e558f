// What a dump holds that can be compared: the values that its ops made, and those that were given to them.

#ifndef TENSORTAP_COMPARE_VALUE_TABLE_H_
#define TENSORTAP_COMPARE_VALUE_TABLE_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "compare/call_nesting.h"
#include "query/record_lookup.h"
#include "trace/dump_index.h"

namespace tensortap {

// Whether a weight was captured when its model was loaded: it belongs to no step.
inline bool is_load(const RecordRow& row) { return row.phase == static_cast<uint8_t>(Phase::kLoad); }

using ValueId = uint32_t;  // position in ValueTable::values()
inline constexpr ValueId kNoValue = std::numeric_limits<uint32_t>::max();
inline constexpr uint32_t kNoRow = std::numeric_limits<uint32_t>::max();

// The author's way to put a weight into a graph, which others write as an initializer.
inline bool is_constant_op(const OpInfo& op) { return op.type == "Constant" && op.inputs.empty(); }
inline bool is_weight_op(const OpInfo& op) { return op.type == kInitializerType || is_constant_op(op); }

inline constexpr uint32_t kAnyCall = std::numeric_limits<uint32_t>::max();

// An output of an op, or an element of one that is a sequence, with the records of all its executions; of a program without a graph those
// of one call in each step: an op there is whatever a module calls by one name.
struct Value {
  OpId op = kNoOp;
  uint16_t slot = 0;
  SlotKind kind = SlotKind::kOutput;  // kInput: what an op read and no recorded op made
  int64_t element = -1;
  uint32_t call = kAnyCall;
  bool given = false;          // a graph's input, a weight or constant, or what no recorded op made, except `passed`
  bool passed = false;         // kInput of a dump of modules alone: the module around this one made it; it is not an argument of that one
  std::vector<uint32_t> rows;  // in the order of execution, never empty
};

// Inputs are values of the ops that made them and are listed here only if their maker is unknown. Inputs that are about to be overwritten,
// memory that nothing was written to, and inputs of ops that failed are not values. The output of a module is made of the output of an op
// or a module inside of it, if that has the same content; otherwise of the inputs of the module and the outputs of modules inside of it.
// Immutable; borrows the dump. Linear in the records.
class ValueTable {
 public:
  // `only`: records of other steps are left out, as if the dump did not have them. Weights belong to every step.
  explicit ValueTable(const DumpIndex& dump, std::optional<std::set<int64_t>> only = std::nullopt);

  [[nodiscard]] const DumpIndex& dump() const { return dump_; }
  // In the order of their first execution.
  [[nodiscard]] std::span<const Value> values() const { return values_; }
  [[nodiscard]] const Value& at(ValueId id) const { return values_[id]; }
  [[nodiscard]] const OpInfo& op(ValueId id) const { return op_of(dump_, first_row(id)); }
  [[nodiscard]] const RecordRow& first_row(ValueId id) const { return dump_.rows()[values_[id].rows.front()]; }
  [[nodiscard]] DType dtype(ValueId id) const { return static_cast<DType>(first_row(id).dtype); }
  // The value that a record belongs to; kNoValue for one that is none.
  [[nodiscard]] ValueId value_of(uint32_t row) const { return value_of_row_[row]; }
  // What an op calls its value, "" when it has no name.
  [[nodiscard]] const std::string& name(ValueId id) const;

  // The values that the execution behind a row read, as the rows that made them or were first to show them; one that was not captured is
  // kNoRow. Empty for what was given.
  [[nodiscard]] std::vector<uint32_t> inputs_of(uint32_t row) const;
  // Whether the execution behind a row read what another op made, and that was not captured. Inputs of a graph and weights are no such
  // values.
  [[nodiscard]] bool misses_inputs(uint32_t row) const;
  // Whether the dump is of calls as a program made them, which have no graph.
  [[nodiscard]] bool is_of_calls() const { return is_of_calls_; }
  // Whether a record is of a step that the table has.
  [[nodiscard]] bool includes(const RecordRow& row) const { return !only_ || is_load(row) || only_->contains(row.step); }
  // Whether an output is a view of what its op read: the same memory with the same content. False where the memory is not known.
  [[nodiscard]] bool shows_input(uint32_t row) const;
  // Whether the dump has records of modules and of nothing that runs in them.
  [[nodiscard]] bool has_modules_alone() const { return nesting_.has_modules_alone(); }
  // The module that made a value which it passes to one inside of it (Value::passed), kNoOp of others.
  [[nodiscard]] OpId passed_by(uint32_t row) const;
  // Number of values that ops made.
  [[nodiscard]] size_t made() const { return made_; }

 private:
  using Content = RecordLookup::Content;
  using Execution = RecordLookup::Execution;
  using Hash = RecordLookup::Hash;

  void add(uint32_t row, bool given);
  void add_input(uint32_t row);
  [[nodiscard]] bool reads(uint32_t call, const Content& content) const;
  [[nodiscard]] uint32_t passing_call(uint32_t row) const;
  [[nodiscard]] uint32_t made_inside(uint32_t row) const;
  [[nodiscard]] std::vector<uint32_t> nested_inputs(uint32_t row) const;
  [[nodiscard]] Content content_of(uint32_t row) const;
  void learn_calls();
  [[nodiscard]] uint32_t call_of(const RecordRow& row) const;
  [[nodiscard]] uint32_t maker_of(uint32_t input) const;
  [[nodiscard]] std::vector<uint32_t> memory_inputs(uint32_t row) const;
  // The op that makes an input, and its slot; kNoOp for what no op of the dump makes.
  [[nodiscard]] std::pair<OpId, uint32_t> maker_in_graph(const OpInfo& op, const OpInput& input) const;
  void append_producer(const OpInfo& op, const OpInput& input, uint32_t reader, std::vector<uint32_t>& inputs) const;
  void append_last_before(OpId op, uint32_t slot, uint32_t reader, std::vector<uint32_t>& inputs) const;
  void learn_graph();

  const DumpIndex& dump_;
  std::optional<std::set<int64_t>> only_;
  CallNesting nesting_;
  std::vector<uint64_t> contents_;  // of trees of files alone, where equal contents are the only edges
  std::vector<Value> values_;
  std::vector<ValueId> value_of_row_;
  std::unordered_map<uint64_t, std::vector<ValueId>> by_slot_;  // outputs by op and slot
  size_t made_ = 0;
  bool is_of_calls_ = false;
  std::vector<bool> has_many_calls_;  // by op of a program without a graph: more in one step than are values
  // For dumps that record which memory a tensor is in.
  bool knows_memory_ = false;
  std::unordered_map<Content, std::vector<uint32_t>, Hash> made_rows_;
  std::unordered_map<Content, uint32_t, Hash> given_rows_;
  std::unordered_map<Execution, std::vector<uint32_t>, Hash> read_rows_;
  // For the others.
  std::unordered_map<std::string, std::pair<OpId, uint32_t>> makers_;  // by graph and name
  std::unordered_map<OpId, std::vector<OpId>> children_;
};

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_VALUE_TABLE_H_
