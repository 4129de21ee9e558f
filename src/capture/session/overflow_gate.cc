#include "session/overflow_gate.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tensortap {
namespace {

constexpr uint64_t kEveryRun = UINT64_MAX;  // for values that exist before any run

bool is_nonfinite(const RecordRow& row) { return row.stats.nan + row.stats.pos_inf + row.stats.neg_inf > 0; }

bool is_output(const RecordRow& row) { return row.slot_kind == static_cast<uint8_t>(SlotKind::kOutput); }

// Whether the op is about to overwrite the value, and so does not read it.
bool is_overwritten(const OpInfo& op, const RecordRow& row) {
  const bool input = row.slot_kind == static_cast<uint8_t>(SlotKind::kInput) && row.slot_index < 64;
  return input && (attribute_slots(op, kOverwrites) >> row.slot_index & 1U) != 0;
}

uint64_t run_of(const RecordRow& row) { return row.phase == static_cast<uint8_t>(Phase::kLoad) ? kEveryRun : row.run; }

}  // namespace

void OverflowGate::bind(std::span<const OpInfo> ops) {
  const std::lock_guard lock(mutex_);
  readers_.assign(ops.size(), {});
  for (size_t i = 0; i < ops.size(); ++i) readers_[i].resize(ops[i].outputs.size());
  for (const OpInfo& op : ops) {
    for (const OpInput& input : op.inputs) {
      if (input.producer >= ops.size() || input.producer_slot >= readers_[input.producer].size()) continue;
      uint32_t& readers = readers_[input.producer][input.producer_slot];
      // The body of a loop may read a value of the graph around it any number of times.
      if (ops[input.producer].graph != op.graph) readers = kUnknown;
      if (readers != kUnknown) ++readers;
    }
  }
}

uint32_t OverflowGate::readers_of(OpId id, uint32_t slot) const {
  return id < readers_.size() && slot < readers_[id].size() ? readers_[id][slot] : kUnknown;
}

std::map<OverflowGate::Key, OverflowGate::Held>::iterator OverflowGate::find_input(uint64_t run, const OpInput& input) {
  if (input.producer == kNoOp) return held_.end();
  const auto found = held_.find({run, input.producer, input.producer_slot});
  return found != held_.end() ? found : held_.find({kEveryRun, input.producer, input.producer_slot});
}

bool OverflowGate::reads_nonfinite(uint64_t run, const OpInfo& op) {
  return std::ranges::any_of(op.inputs, [&](const OpInput& input) {
    const auto found = find_input(run, input);
    return found != held_.end() && found->second.nonfinite;
  });
}

void OverflowGate::collect_inputs(uint64_t run, const OpInfo& op, std::vector<QueuedRecord>& out) {
  for (const OpInput& input : op.inputs) {
    const auto found = find_input(run, input);
    if (found == held_.end()) continue;
    for (QueuedRecord& record : std::exchange(found->second.records, {})) {
      record.row.flags |= kRecordForReaders;
      out.push_back(std::move(record));
    }
  }
}

void OverflowGate::let_go_of_inputs(uint64_t run, const OpInfo& op) {
  for (const OpInput& input : op.inputs) {
    const auto found = find_input(run, input);
    if (found == held_.end() || std::get<0>(found->first) == kEveryRun || found->second.readers == kUnknown) continue;
    if (--found->second.readers == 0) held_.erase(found);
  }
}

void OverflowGate::hold(OpId id, QueuedRecord record, bool written) {
  const RecordRow& row = record.row;
  const uint32_t readers = readers_of(id, row.slot_index);
  if (readers == 0) return;
  Held& held = held_[{run_of(row), id, row.slot_index}];
  // A new execution replaces what an earlier one made; the elements of a sequence add up.
  if (row.element <= 0) held = {{}, false, readers};
  held.nonfinite = held.nonfinite || is_nonfinite(row);
  if (!written) held.records.push_back(std::move(record));
}

void OverflowGate::begin(const Execution& execution, ReadFirst read) {
  const std::lock_guard lock(mutex_);
  begun_[execution] = std::move(read);
  begun_count_.store(begun_.size(), std::memory_order_relaxed);
}

std::optional<OverflowGate::ReadFirst> OverflowGate::take_begun(const Execution& execution) {
  if (!has_begun()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return take_begun_locked(execution);
}

std::optional<OverflowGate::ReadFirst> OverflowGate::take_begun_locked(const Execution& execution) {
  const auto begun = begun_.find(execution);
  if (begun == begun_.end()) return std::nullopt;
  std::optional<ReadFirst> read = std::move(begun->second);
  begun_.erase(begun);
  begun_count_.store(begun_.size(), std::memory_order_relaxed);
  return read;
}

void OverflowGate::forget_begun(const Execution& execution) {
  const std::lock_guard lock(mutex_);
  static_cast<void>(take_begun_locked(execution));
  written_runs_.insert(execution.run);
}

bool OverflowGate::admit_locked(uint64_t run) {
  if (is_full()) {
    ++over_limit_;
    return false;
  }
  fired_.fetch_add(1, std::memory_order_relaxed);
  written_runs_.insert(run);
  return true;
}

bool OverflowGate::admit(uint64_t run) {
  const std::lock_guard lock(mutex_);
  return admit_locked(run);
}

bool OverflowGate::holds_nonfinite_input(uint64_t run, const OpInfo& op) {
  const std::lock_guard lock(mutex_);
  return reads_nonfinite(run, op);
}

std::vector<QueuedRecord> OverflowGate::take_inputs(uint64_t run, const OpInfo& op) {
  std::vector<QueuedRecord> out;
  const std::lock_guard lock(mutex_);
  collect_inputs(run, op, out);
  return out;
}

bool OverflowGate::claim(uint64_t run, const OpInput& input, uint32_t call) {
  const std::lock_guard lock(mutex_);
  if (input.producer == kNoOp || find_input(run, input) != held_.end()) return false;
  return claimed_.insert({run, input.producer, input.producer_slot, call}).second;
}

std::vector<QueuedRecord> OverflowGate::pass(const Execution& execution, const OpInfo& op, bool can_fire,
                                             std::vector<QueuedRecord> records) {
  const OpId id = execution.op;
  std::vector<QueuedRecord> out;
  const std::lock_guard lock(mutex_);
  std::optional<ReadFirst> begun = take_begun_locked(execution);
  const bool whole = begun.has_value();
  if (whole) {
    std::ranges::move(records, std::back_inserter(begun->records));
    records = std::move(begun->records);
  }
  if (records.empty()) return out;
  const uint64_t run = run_of(records.front().row);
  const auto made = [](const QueuedRecord& record) { return is_output(record.row) && is_nonfinite(record.row); };
  const auto came = [&op](const QueuedRecord& record) {
    return !is_output(record.row) && is_nonfinite(record.row) && !is_overwritten(op, record.row);
  };
  const bool kept = can_fire && std::ranges::any_of(records, made) &&
                    (keeps_passed_on() || (std::ranges::none_of(records, came) && !reads_nonfinite(run, op)));
  const bool fires = kept && admit_locked(execution.run);
  if (fires) collect_inputs(run, op, out);
  for (QueuedRecord& record : records) {
    if (!fires) {
      if (is_output(record.row) && !whole) hold(id, std::move(record), false);
      continue;
    }
    if (is_output(record.row) && !whole) hold(id, {record.row, PoolBuffer{}, nullptr}, true);
    out.push_back(std::move(record));
  }
  let_go_of_inputs(run, op);
  return out;
}

void OverflowGate::wrote_output(const Execution& execution, uint32_t slot) {
  const std::lock_guard lock(mutex_);
  claimed_.insert({execution.run, execution.op, slot, execution.call});
}

bool OverflowGate::end_step(uint64_t run) {
  const std::lock_guard lock(mutex_);
  held_.erase(held_.lower_bound({run, 0, 0}), held_.upper_bound({run, kNoOp, UINT32_MAX}));
  begun_.erase(begun_.lower_bound({run, 0, 0}), begun_.upper_bound({run, kNoOp, UINT32_MAX}));
  begun_count_.store(begun_.size(), std::memory_order_relaxed);
  claimed_.erase(claimed_.lower_bound({run, 0, 0, 0}), claimed_.upper_bound({run, kNoOp, UINT32_MAX, UINT32_MAX}));
  return written_runs_.erase(run) > 0;
}

uint64_t OverflowGate::over_limit() const {
  const std::lock_guard lock(mutex_);
  return over_limit_;
}

}  // namespace tensortap
