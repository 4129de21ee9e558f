// OpRegistry: the ops of a session, registered, told to the layout and decided.

#ifndef TENSORTAP_SESSION_OP_REGISTRY_H_
#define TENSORTAP_SESSION_OP_REGISTRY_H_

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_fwd.h"
#include "base/status.h"
#include "layout/layout.h"
#include "plan/operation_tree.h"
#include "session/active_plan.h"
#include "session/op_table.h"
#include "session/session_problems.h"
#include "session/step_gate.h"

namespace tensortap {

// Borrows the layout and the problems. Thread-safe.
//
// A plan can be replaced while steps run. A generation, 0 or 1, is the number under which StepGate knows a plan; plans and decisions are
// never freed before the registry.
class OpRegistry {
 public:
  OpRegistry(std::unique_ptr<const ActivePlan> plan, LayoutWriter& layout, SessionProblems& problems);

  [[nodiscard]] OpTable& table() { return table_; }
  [[nodiscard]] const OpTable& table() const { return table_; }
  [[nodiscard]] const ActivePlan& plan(uint8_t generation) const { return *plans_[generation].load(std::memory_order_acquire); }
  // The latest one, whether a step has begun under it or not.
  [[nodiscard]] uint8_t newest() const { return newest_.load(std::memory_order_acquire); }
  [[nodiscard]] const ActivePlan& plan() const { return plan(newest()); }
  [[nodiscard]] OpEntry* find(OpId id) const { return table_.find(id); }

  // kNoOp when the table is full. A layout that cannot write the op now keeps it for later.
  OpId add(OpInfo info);
  // Adds a pseudo-op for looks at watched tensors, with a decision. Only within while_still().
  OpId add_look(OpInfo info);
  // Decides for all ops in the order of execution. Errors: as CapturePlan::bind(); nothing is decided then.
  Result<std::vector<OpInfo>> bind();
  // The decision of an op; decides now if there is none yet.
  const OpDecision* decision_of(OpId id, OpEntry& entry, uint8_t generation) {
    const OpDecision* decision = entry.decisions[generation].load(std::memory_order_acquire);
    return decision != nullptr ? decision : decide_now(id, entry, generation);
  }
  // Whether any of the plans that are alive wants something of an op, or looks at others after it.
  bool wants(OpId id, OpEntry& entry);

  // Replaces the plan, as CaptureSession::replace_plan() has it: decides for every op that is known, and gives the plan to steps that begin
  // from now on. While a step of the plan before the present one runs, the new one waits for apply_waiting(), and only the latest does.
  // Errors: as CapturePlan::bind().
  Status replace(std::unique_ptr<const ActivePlan> plan, StepGate& gate);
  // Whether a plan waits; one load.
  // Whether all ops were bound before any of them ran. Any thread.
  [[nodiscard]] bool is_bound() const { return bound_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool has_waiting() const { return has_waiting_.load(std::memory_order_relaxed); }
  // Gives the plan that waits to steps that begin from now on, if it can be.
  void apply_waiting(StepGate& gate);
  // Whether there ever was another plan than the first one, whose generation is 0.
  [[nodiscard]] bool was_replaced() const { return numbers_.load(std::memory_order_acquire) != 0; }
  // Numbers for plans, from 1 on.
  [[nodiscard]] uint32_t next_number() { return numbers_.fetch_add(1) + 1; }
  // Decides for ops that never ran, so that the final report distinguishes them. The layout is not informed.
  void decide_rest();

  // Turns an op's capture on or off on behalf of the program. `with_producers`: what the op reads comes as outputs of the ops that make it.
  void request(OpId op, bool enabled, bool with_producers);
  void not_captured(OpId op, std::string_view reason);

  // As CapturePlan::unmatched(), of the newest plan.
  [[nodiscard]] std::vector<std::string> unmatched() const;
  // The members of run.json that describe the plan: "plan", "notes", "unmatched", "other_models".
  [[nodiscard]] Json explain_plan() const;
  // Calls use(op) for each op, under the registration lock.
  template <class Use>
  void for_each(Use&& use) const {
    const std::lock_guard lock(mutex_);
    for (OpId id = 0; id < table_.size(); ++id) use(*table_.find(id));
  }
  // Calls use() under the registration lock: no other thread adds or decides an op meanwhile.
  template <class Use>
  auto while_still(Use&& use) const {
    const std::lock_guard lock(mutex_);
    return use();
  }

 private:
  // A plan with what it decided for the ops known by then.
  struct Waiting {
    const ActivePlan* plan = nullptr;
    std::vector<OpDecision> decisions;
  };

  const OpDecision* decide_now(OpId id, OpEntry& entry, uint8_t generation);
  void decide_locked(OpId id, uint8_t generation, OpDecision decision);
  void apply_locked(StepGate& gate);
  void request_inputs_locked(const OpInfo& op, bool enabled);
  [[nodiscard]] std::vector<OpInfo> infos_locked() const;

  LayoutWriter& layout_;
  FollowsDecisions* const decisions_;  // null where the layout follows none
  SessionProblems& problems_;
  std::array<std::atomic<const ActivePlan*>, 2> plans_{};  // by generation
  std::atomic<uint8_t> newest_{0};
  std::atomic<bool> has_waiting_{false};
  std::atomic<uint32_t> numbers_{0};
  OpTable table_;
  OperationTree tree_;                          // under mutex_
  std::atomic<bool> requested_in_vain_{false};  // the program asked for ops, and the config does not wait for that
  mutable std::mutex mutex_;                    // the registration lock: guards adding and deciding
  std::vector<std::string> matches_;            // explain_match() of bind()
  std::atomic<bool> bound_{false};
  Waiting waiting_;
  std::map<std::pair<OpId, uint64_t>, uint32_t> requested_reads_;  // by op and output bit: inputs of requested ops that read it
  std::vector<std::unique_ptr<const ActivePlan>> owned_;
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_OP_REGISTRY_H_
