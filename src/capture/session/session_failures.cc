// Ops that fail: the session keeps what they read, even if the spec does not ask for it.

#include "base/clock.h"
#include "session/capture_session.h"
#include "session/event_scope.h"
#include "session/taken_event.h"

namespace tensortap {

void CaptureSession::op_failed(const tensortap_op_event& event, std::string_view error) {
  if (!is_on()) return;
  const int64_t step = admission_.step_of(event);
  if (last_ops_.records_crashes()) last_ops_.note_running(event, step);
  const EventScope scope;
  if (!scope.entered()) return;
  OpEntry* op = ops_.find(event.op);
  if (op == nullptr) return sink_.writer().lose_event(event.op);
  op->mark(kOpFailed);
  const uint8_t generation = ops_.was_replaced() ? admission_.generation_of(event, ops_.newest()) : 0;
  TakenEvent taken{event, *op, ops_.plan(generation), nullptr, shared_row(event, step, options_.rank), {}};
  taken.row.flags |= kRecordFailedOp;
  taken.row.time_ns = monotonic_ns() - origin_.opened_ns;
  taken.row.call = admission_.call_of_failed(event, *op);
  if (overflow_.has_value()) overflow_->failed(taken);
  program_.failed.add(event, taken.row, op->info, error, options_.spec.exception_detail);
  look_.take_all(taken);
  if (last_ops_.has_ring()) last_ops_.failed(taken.row);
  if (follows_.executions) sink_.op_ran(taken.row);
}

}  // namespace tensortap
