#include "session/admission.h"

#include "base/clock.h"
#include "session/event_view.h"
#include "session/thread_number.h"

namespace tensortap {
namespace {

CallCounter::Key counted_as(const tensortap_op_event& event) {
  return {event.run, static_cast<uint8_t>(event.moment), static_cast<uint8_t>(event.phase)};
}

}  // namespace

bool Admission::moment_wanted(const ActivePlan& plan, const tensortap_op_event& event) {
  switch (plan.spec.moment) {
    case MomentChoice::kBoth:
    case MomentChoice::kInBeforeOutAfter:
      return true;
    // Weights are looked at once, when there is no op to be before or after.
    case MomentChoice::kBefore:
      return event.moment == TENSORTAP_MOMENT_BEFORE || event.phase == TENSORTAP_PHASE_LOAD || reads_first(event);
    case MomentChoice::kAfter:
      return event.moment != TENSORTAP_MOMENT_BEFORE;
  }
  return true;
}

bool Admission::step_wanted(const ActivePlan& plan, const tensortap_op_event& event, OpEntry& op, int64_t now_ns) {
  const bool loads = event.phase == TENSORTAP_PHASE_LOAD;
  if (loads && !plan.steps.is_never()) return true;
  const int64_t step = step_of(event);
  if (loads || !captures(step)) {
    op.mark(kOpOutsideSteps);
    return false;
  }
  if (!governor_.active() || !op.has(kOpCaptured)) return true;
  const bool now = governor_.counts_steps() ? governor_.takes_op(event.op, step) : governor_.window_open(now_ns);
  if (!now) {
    op.mark(kOpLeftOut);
    governor_.count_left_out();
  }
  return now;
}

ExecutionKey Admission::key_of(const tensortap_op_event& event) const {
  return {event.run, step_of(event), event.phase, event.call, thread_number()};
}

Execution Admission::admit(const ActivePlan& plan, const tensortap_op_event& event, OpEntry& op, int64_t now_ns) {
  if (!governor_.counts_steps() && governor_.active()) governor_.window_open(now_ns);
  if (!reads_first(event)) {
    if (const auto begun = op.pairs.end(key_of(event))) return *begun;
  }
  Execution execution;
  execution.taken = step_wanted(plan, event, op, now_ns);
  if (event.call != 0) {
    execution.call = event.call - 1;
  } else if (execution.taken || counts_all_ || captures(step_of(event))) {
    execution.call = op.calls.next(counted_as(event), step_of(event));
  }
  return execution;
}

void Admission::remember(const ActivePlan& plan, const tensortap_op_event& event, OpEntry& op, const Execution& execution) const {
  if (!reads_first(event) || plan.spec.moment == MomentChoice::kBefore) return;
  // Where the second event would come to the same by itself, nothing has to be remembered.
  const bool remembers = event.call == 0 || governor_.active() || execution.read_infinity || execution.late_infinity != nullptr;
  if (remembers) op.pairs.begin(key_of(event), execution);
}

uint32_t Admission::count(const tensortap_op_event& event, OpEntry& op) const {
  return event.call != 0 ? event.call - 1 : op.calls.next(counted_as(event), step_of(event));
}

uint32_t Admission::call_of_failed(const tensortap_op_event& event, OpEntry& op) const {
  const auto begun = op.pairs.end(key_of(event));
  return begun && event.call == 0 ? begun->call : count(event, op);
}

void Admission::spend(const TakenEvent& taken, int64_t began_ns) {
  if (!governor_.active() || taken.c.phase == TENSORTAP_PHASE_LOAD) return;
  governor_.spend(monotonic_ns() - began_ns, taken.elements, taken.skipped_elements);
}

bool Admission::wants(OpId id, OpEntry& op, int64_t number) {
  if (!captures(number)) return false;
  if (!governor_.active() || !op.has(kOpCaptured) || governor_.takes_op(id, number)) return true;
  // The source will not report this execution.
  op.mark(kOpLeftOut);
  governor_.count_left_out();
  return false;
}

bool Admission::end_step(int64_t number, uint64_t run, int64_t now_ns) {
  const bool captured = captures(number);
  steps_.end(number, run, now_ns);
  return captured;
}

}  // namespace tensortap
