// One event on its way through a session.

#ifndef TENSORTAP_SESSION_TAKEN_EVENT_H_
#define TENSORTAP_SESSION_TAKEN_EVENT_H_

#include <tensortap/capture.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "session/active_plan.h"
#include "session/execution_pairs.h"
#include "session/governor.h"
#include "session/op_table.h"
#include "session/record_queue.h"
#include "session/thread_number.h"
#include "tensor/tensor_sketch.h"
#include "trace/record_row.h"

namespace tensortap {

// How an overflow gate treats the records of an execution.
enum class AtGate : uint8_t { kWaits, kPasses, kStops };

// What all records of an event share; `step` as Admission::step_of() has it.
inline RecordRow shared_row(const tensortap_op_event& event, int64_t step, int32_t rank) {
  RecordRow row;
  row.step = step;
  row.run = event.run;
  row.duration_ns = event.duration_ns;
  row.op = event.op;
  row.thread = thread_number();
  row.rank = rank;
  row.phase = static_cast<uint8_t>(std::min<uint32_t>(event.phase, TENSORTAP_PHASE_LOAD));
  row.moment = static_cast<uint8_t>(std::min<uint32_t>(event.moment, TENSORTAP_MOMENT_BEFORE));
  row.model_phase = event.model_phase <= TENSORTAP_MODEL_PHASE_WARM_UP ? static_cast<uint8_t>(event.model_phase) : uint8_t{0};
  return row;
}

// Lives while the session works on the event; borrows the event, the op and the plan.
struct TakenEvent {
  const tensortap_op_event& c;
  OpEntry& op;
  const ActivePlan& plan;
  const OpDecision* decision;  // null for a failed op: everything is kept
  RecordRow row;               // what all of its records share
  Governor::Thinning thinning;
  uint64_t elements = 0;
  uint64_t skipped_elements = 0;
  uint64_t tensors = 0;                    // wanted ones
  std::vector<QueuedRecord> held{};        // for the overflow gate
  std::unique_ptr<TensorSketch> sketch{};  // of the tensor that is looked at
  Execution execution{};
  AtGate at_gate = AtGate::kWaits;
  bool for_readers = false;  // the program asked for an op that reads it, not for the op
  bool ring_only = false;    // nothing is written before a trigger fires
  bool fires = false;        // a record met the condition that the ring waits for
  bool on_writer = false;    // on the writer thread: the elements came late

  // Elements to look at in one tensor, 0 = all.
  [[nodiscard]] uint64_t sample_limit() const {
    if (decision == nullptr) return 0;
    const uint64_t planned = plan.stats.sample_limit;
    const uint64_t thinned = thinning.sample_limit;
    return thinned != 0 && (planned == 0 || planned > thinned) ? thinned : planned;
  }
  [[nodiscard]] bool wants_data() const { return plan.keeps_data || decision == nullptr; }
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_TAKEN_EVENT_H_
