// The overflow trigger: lets the records of ops pass that made NaN or Inf, with the records of their inputs, and no others.

#ifndef TENSORTAP_SESSION_OVERFLOW_GATE_H_
#define TENSORTAP_SESSION_OVERFLOW_GATE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "plan/capture_spec.h"
#include "session/record_queue.h"
#include "trace/op_info.h"

namespace tensortap {

// Holds the latest record of every value until the last op that reads it has run, or the step has ended; weights stay. Thread-safe.
class OverflowGate {
 public:
  // Lets at most `most_ops` executions pass, 0 = no limit.
  OverflowGate(OverflowOps ops, uint64_t most_ops) : ops_(ops), most_ops_(most_ops) {}
  OverflowGate(const OverflowGate&) = delete;
  OverflowGate& operator=(const OverflowGate&) = delete;

  // Tells who reads what, so that values can be let go early. Optional, once.
  void bind(std::span<const OpInfo> ops);

  // Which execution of an op.
  struct Execution {
    uint64_t run = 0;
    OpId op = kNoOp;
    uint32_t call = 0;
    auto operator<=>(const Execution&) const = default;
  };
  // The values that an execution is about to read.
  struct ReadFirst {
    std::vector<QueuedRecord> records;
    bool nonfinite = false;    // some of it has NaN or Inf
    bool cannot_fire = false;  // the execution will not be written
  };
  // Keeps these values until the execution ends, by pass() or take_begun(). Such an op needs no producers, and its outputs are not held.
  void begin(const Execution& execution, ReadFirst read);
  // Whether any execution waits so; costs one load.
  [[nodiscard]] bool has_begun() const { return begun_count_.load(std::memory_order_relaxed) != 0; }
  // Nothing where the execution did not begin.
  [[nodiscard]] std::optional<ReadFirst> take_begun(const Execution& execution);
  // The execution came to no end; its inputs are written otherwise.
  void forget_begun(const Execution& execution);

  // Takes the records of one execution of `op`, its outputs and the inputs that came with it, measured. Returns what is to be written now:
  // nothing, or the inputs that were not written before, marked kRecordForReaders, and then these records. `can_fire` is false for ops that
  // were not asked for, whose records matter to their readers only.
  std::vector<QueuedRecord> pass(const Execution& execution, const OpInfo& op, bool can_fire, std::vector<QueuedRecord> records);

  // For executions whose inputs are shown with their outputs (tensortap_op_event::show_reads), which pass without waiting here.
  // Whether a value that is held and that the op reads has NaN or Inf.
  [[nodiscard]] bool holds_nonfinite_input(uint64_t run, const OpInfo& op);
  // Whether an op that passes on NaN or Inf from its inputs is written, as one that makes them is.
  [[nodiscard]] bool keeps_passed_on() const { return ops_ == OverflowOps::kAll; }
  // An op of the run made NaN or Inf: whether it may be written.
  [[nodiscard]] bool admit(uint64_t run);
  // The held inputs of such an op that were not written before, marked kRecordForReaders.
  [[nodiscard]] std::vector<QueuedRecord> take_inputs(uint64_t run, const OpInfo& op);
  // Whether an input that was shown is to be written, as what `call` of its producer made: once, and not when it is held.
  [[nodiscard]] bool claim(uint64_t run, const OpInput& input, uint32_t call);
  // An output of such an op is written with it.
  void wrote_output(const Execution& execution, uint32_t slot);

  // Lets the values of a run go. Returns whether anything of it was written.
  bool end_step(uint64_t run);

  // Whether nothing more passes.
  [[nodiscard]] bool is_full() const { return most_ops_ != 0 && fired_.load(std::memory_order_relaxed) >= most_ops_; }
  [[nodiscard]] uint64_t fired() const { return fired_.load(std::memory_order_relaxed); }
  [[nodiscard]] uint64_t over_limit() const;  // executions that would have passed

 private:
  using Key = std::tuple<uint64_t, OpId, uint32_t>;  // run, op, output slot
  struct Held {
    std::vector<QueuedRecord> records;  // one; several for the elements of a sequence; none once they are written
    bool nonfinite = false;
    uint32_t readers = 0;  // that have still to run, kUnknown = not known
  };
  static constexpr uint32_t kUnknown = UINT32_MAX;

  [[nodiscard]] bool reads_nonfinite(uint64_t run, const OpInfo& op);
  [[nodiscard]] std::map<Key, Held>::iterator find_input(uint64_t run, const OpInput& input);
  void collect_inputs(uint64_t run, const OpInfo& op, std::vector<QueuedRecord>& out);
  void let_go_of_inputs(uint64_t run, const OpInfo& op);
  void hold(OpId id, QueuedRecord record, bool written);
  [[nodiscard]] std::optional<ReadFirst> take_begun_locked(const Execution& execution);
  [[nodiscard]] bool admit_locked(uint64_t run);
  [[nodiscard]] uint32_t readers_of(OpId id, uint32_t slot) const;

  const OverflowOps ops_;
  const uint64_t most_ops_;
  mutable std::mutex mutex_;  // guards what follows
  std::vector<std::vector<uint32_t>> readers_;
  std::map<Key, Held> held_;
  std::map<Execution, ReadFirst> begun_;
  std::set<std::tuple<uint64_t, OpId, uint32_t, uint32_t>> claimed_;  // run, op, output slot, call
  std::set<uint64_t> written_runs_;
  std::atomic<uint64_t> fired_{0};
  uint64_t over_limit_ = 0;
  std::atomic<size_t> begun_count_{0};  // of begun_
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_OVERFLOW_GATE_H_
