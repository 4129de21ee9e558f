// OpRegistry: the ops of a session, registered, told to the layout and decided.

#ifndef TENSORTAP_CAPTURE_OP_REGISTRY_H_
#define TENSORTAP_CAPTURE_OP_REGISTRY_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "capture/active_plan.h"
#include "capture/op_table.h"
#include "capture/session_problems.h"
#include "layout/layout.h"
#include "plan/operation_tree.h"

namespace tensortap {

// Borrows the layout and the problems. Thread-safe.
class OpRegistry {
 public:
  OpRegistry(std::unique_ptr<const ActivePlan> plan, LayoutWriter& layout, SessionProblems& problems);

  [[nodiscard]] OpTable& table() { return table_; }
  [[nodiscard]] const OpTable& table() const { return table_; }
  [[nodiscard]] const ActivePlan& plan() const { return *plan_; }
  [[nodiscard]] OpEntry* find(OpId id) const { return table_.find(id); }

  // kNoOp when the table is full. A layout that cannot write the op now keeps it for later.
  OpId add(OpInfo info);
  // Adds an op that stands for looks at watched tensors, with a decision. Only within while_still().
  OpId add_look(OpInfo info);
  // Decides for all ops in the order of execution. Errors: as CapturePlan::bind(); nothing is decided then.
  Result<std::vector<OpInfo>> bind();
  // The decision of an op; decides when nobody has.
  const OpDecision* decision_of(OpId id, OpEntry& entry) {
    const OpDecision* decision = entry.decision.load(std::memory_order_acquire);
    return decision != nullptr ? decision : decide_now(id, entry);
  }
  // Decides for ops that never ran, so that a report of the end tells them apart. The layout hears nothing of it.
  void decide_rest();

  // Turns an op's capture on or off on behalf of the program.
  void request(OpId op, bool enabled) noexcept;
  void not_captured(OpId op, std::string_view reason);

  // The members of run.json that tell of the plan: "plan", "notes", "unmatched".
  [[nodiscard]] Json explain_plan() const;
  // Calls use(op) for each op, under the registration lock.
  template <class Use>
  void for_each(Use&& use) const {
    const std::lock_guard lock(mutex_);
    for (OpId id = 0; id < table_.size(); ++id) use(*table_.find(id));
  }
  // Calls use() under the registration lock: nobody else adds or decides an op meanwhile.
  template <class Use>
  auto while_still(Use&& use) const {
    const std::lock_guard lock(mutex_);
    return use();
  }

 private:
  const OpDecision* decide_now(OpId id, OpEntry& entry);
  void decide_locked(OpId id, OpDecision decision);

  LayoutWriter& layout_;
  SessionProblems& problems_;
  std::unique_ptr<const ActivePlan> plan_;
  OpTable table_;
  OperationTree tree_;                          // under mutex_
  std::atomic<bool> requested_in_vain_{false};  // the program asked for ops, and the config does not wait for that
  mutable std::mutex mutex_;                    // the registration lock: guards adding and deciding
  std::vector<std::string> matches_;            // explain_match() of bind()
};

}  // namespace tensortap

#endif  // TENSORTAP_CAPTURE_OP_REGISTRY_H_
