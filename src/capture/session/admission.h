// Admission: which executions a session captures: moments, steps, and what the governor of a budget leaves out.

#ifndef TENSORTAP_SESSION_ADMISSION_H_
#define TENSORTAP_SESSION_ADMISSION_H_

#include <tensortap/capture.h>

#include <cstdint>

#include "session/active_plan.h"
#include "session/execution_pairs.h"
#include "session/governor.h"
#include "session/op_table.h"
#include "session/step_gate.h"
#include "session/taken_event.h"

namespace tensortap {

// Thread-safe.
class Admission {
 public:
  // `plan` is read while this object lives. `counts_all`: executions also have numbers in steps that are not captured.
  Admission(const ActivePlan& plan, bool counts_all)
      : first_step_(plan.spec.first_step),
        counts_all_(counts_all),
        governor_(plan.spec.budget, keeps_tensors(plan.spec)),
        steps_(plan.steps, plan.spec.limits.stop_after, governor_) {}

  // The step's number as users see it.
  [[nodiscard]] int64_t number_of(int64_t step) const { return step + first_step_; }
  [[nodiscard]] int64_t step_of(const tensortap_op_event& event) const {
    return event.phase == TENSORTAP_PHASE_LOAD ? event.step : number_of(event.step);
  }
  // Whether records of the event's moment are asked for.
  [[nodiscard]] static bool moment_wanted(const ActivePlan& plan, const tensortap_op_event& event);
  // The generation of the plan that the event's step began under, see StepGate; `newest` for weights, which belong to no step.
  [[nodiscard]] uint8_t generation_of(const tensortap_op_event& event, uint8_t newest) {
    return event.phase == TENSORTAP_PHASE_LOAD ? newest : steps_.look(step_of(event)).generation;
  }
  // Whether events of a step are captured; `number` as number_of() has it. One load for a step that is known.
  [[nodiscard]] bool captures(int64_t number) { return steps_.verdict(number) == StepGate::Verdict::kCaptured; }

  // The execution's number and whether it is taken: if this is the second event of an execution, as the first one decided.
  Execution admit(const ActivePlan& plan, const tensortap_op_event& event, OpEntry& op, int64_t now_ns);
  // Keeps for the execution's second event what the first one decided.
  void remember(const ActivePlan& plan, const tensortap_op_event& event, OpEntry& op, const Execution& execution) const;
  // The number of an execution that was not admitted. Once for each.
  uint32_t count(const tensortap_op_event& event, OpEntry& op) const;
  // The number of an execution that failed.
  uint32_t call_of_failed(const tensortap_op_event& event, OpEntry& op) const;
  // Charges the time of a taken event to the budget.
  void spend(const TakenEvent& taken, int64_t began_ns);
  // Whether an execution of a wanted op that has not begun would be taken; one that the governor leaves out is counted.
  bool wants(OpId id, OpEntry& op, int64_t number);

  // `kind`: Governor::begin_step().
  bool begin_step(int64_t number, uint64_t run, int64_t now_ns, uint64_t kind) { return steps_.begin(number, run, now_ns, kind); }
  // Whether the step was captured.
  bool end_step(int64_t number, uint64_t run, int64_t now_ns);

  [[nodiscard]] Governor& governor() { return governor_; }
  [[nodiscard]] const Governor& governor() const { return governor_; }
  [[nodiscard]] StepGate& steps() { return steps_; }
  [[nodiscard]] const StepGate& steps() const { return steps_; }

 private:
  bool step_wanted(const ActivePlan& plan, const tensortap_op_event& event, OpEntry& op, int64_t now_ns);
  [[nodiscard]] ExecutionKey key_of(const tensortap_op_event& event) const;

  const int64_t first_step_;
  const bool counts_all_;
  Governor governor_;
  StepGate steps_;
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_ADMISSION_H_
