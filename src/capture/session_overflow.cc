// The overflow trigger where the source shows what an op read when it has run: nothing is copied or measured before an op has made NaN or Inf.

#include <algorithm>

#include "capture/capture_session.h"
#include "capture/event_view.h"
#include "stats/nonfinite.h"
#include "trace/scoped_name.h"

namespace tensortap {
namespace {

bool is_plain(const tensortap_tensor& tensor) {
  return tensor.rank <= kMaxRank && (tensor.dims != nullptr || tensor.rank == 0) && tensor.dtype != TENSORTAP_UNDEFINED &&
         tensor.dtype < kDTypeCount;
}

bool is_shown_again(const tensortap_tensor& tensor) {
  return tensor.slot_kind == TENSORTAP_SLOT_OUTPUT && (tensor.flags & TENSORTAP_TENSOR_SHOWN_AGAIN) != 0;
}

// Memory in any order will do.
bool holds_nonfinite(const tensortap_op_event& event, const tensortap_tensor& tensor) {
  if (!is_plain(tensor)) return false;
  const TensorView view{{static_cast<DType>(tensor.dtype), Shape(std::span(tensor.dims, tensor.rank))}, tensor.data, tensor.strides};
  return has_nonfinite(view, {event.parallel_for, event.pool});
}

}  // namespace

void CaptureSession::WatchedWhole::assign(const std::vector<bool>& whole) {
  count_ = 0;
  states_ = std::make_unique<std::atomic<uint8_t>[]>(whole.size());
  for (size_t op = 0; op < whole.size(); ++op) states_[op].store(whole[op] ? 1 : 0, std::memory_order_relaxed);
  count_ = whole.size();
}

// Within bind(), before events come.
void CaptureSession::find_watched_whole() {
  std::vector<bool> whole(ops_.size());
  for (OpId id = 0; id < ops_.size(); ++id) {
    const OpEntry& entry = *ops_.find(id);
    const OpDecision& decision = *entry.decision.load(std::memory_order_acquire);
    bool all = decision.wanted;
    for (uint32_t slot = 0; all && slot < entry.info.outputs.size(); ++slot) all = decision.wants_slot(SlotKind::kOutput, slot);
    whole[id] = all;
  }
  watched_whole_.assign(whole);
}

bool CaptureSession::passes_by(const tensortap_op_event& event) {
  // Executions that the session counts are counted one by one.
  if (event.call == 0 || event.flags != 0 || event.moment != TENSORTAP_MOMENT_AFTER || event.phase == TENSORTAP_PHASE_LOAD) return false;
  if (event.tensor_count == 0 || steps_.verdict(step_number(event)) != StepGate::Verdict::kCaptured) return false;
  for (uint64_t i = 0; i < std::min(event.tensor_count, kMostTensors); ++i) {
    const tensortap_tensor tensor = tensor_of(event, i);
    if (!is_shown_again(tensor) || !is_plain(tensor) || tensor.data == nullptr || holds_nonfinite(event, tensor)) return false;
  }
  if (watched_whole_.mark_captured(event.op)) ops_.find(event.op)->mark(kOpRan | kOpCaptured);
  return true;
}

bool CaptureSession::is_shown(const Event& event) const {
  if (!takes_shown_reads_ || event.decision == nullptr || event.c.tensor_count == 0) return false;
  if ((event.c.flags & TENSORTAP_EVENT_READ_FIRST) != 0 || event.c.phase == TENSORTAP_PHASE_LOAD) return false;
  for (uint64_t i = 0; i < std::min(event.c.tensor_count, kMostTensors); ++i) {
    if (!is_shown_again(tensor_of(event.c, i))) return false;
  }
  return true;
}

void CaptureSession::take_shown(Event& event) {
  bool made = false;
  for (uint64_t i = 0; i < std::min(event.c.tensor_count, kMostTensors); ++i) {
    const tensortap_tensor tensor = tensor_of(event.c, i);
    made = made || (event.decision->wants_slot(SlotKind::kOutput, tensor.slot_index) && holds_nonfinite(event.c, tensor));
  }
  event.at_gate = AtGate::kStops;
  if (made) take_shown_reads(event);
  for (uint64_t i = 0; i < std::min(event.c.tensor_count, kMostTensors); ++i) {
    const tensortap_tensor tensor = tensor_of(event.c, i);
    if (!event.decision->wants_slot(SlotKind::kOutput, tensor.slot_index)) continue;
    ++event.tensors;
    if (event.at_gate == AtGate::kPasses) gate_->wrote_output({event.row.run, event.c.op, event.row.call}, tensor.slot_index);
    if (made || tensor.data == nullptr) {
      take_tensor(event, tensor);
    } else {
      event.op.mark(kOpCaptured);
    }
  }
  if (event.tensors == 0) event.op.mark(kOpNoTensor);
}

// Decides about an op whose outputs are not finite, and writes what it read when it is to be written.
void CaptureSession::take_shown_reads(Event& event) {
  const OpInfo& op = event.op.info;
  const tensortap_tensor* reads = nullptr;
  const uint64_t count = event.c.show_reads == nullptr ? 0 : std::min(event.c.show_reads(event.c.reads, &reads), kMostTensors);
  bool begins = event.decision->outputs && !is_pseudo_op(op) && !gate_->holds_nonfinite_input(event.row.run, op);
  for (uint64_t i = 0; begins && i < count; ++i) begins = !holds_nonfinite(event.c, tensor_at(reads, i));
  if (!begins || !gate_->admit(event.row.run)) return;
  event.at_gate = AtGate::kPasses;
  for (QueuedRecord& record : gate_->take_inputs(event.row.run, op)) write_passed(std::move(record));
  for (uint64_t i = 0; i < count; ++i) {
    const tensortap_tensor read = tensor_at(reads, i);
    if (read.slot_index < op.inputs.size()) write_as_made(event, op.inputs[read.slot_index], read);
  }
}

// As the record of the op that made it, which is how sources without inputs tell values.
void CaptureSession::write_as_made(Event& event, const OpInput& input, tensortap_tensor tensor) {
  OpEntry* producer = ops_.find(input.producer);
  if (producer == nullptr) return;
  const CallCounter::Key key{event.c.run, static_cast<uint8_t>(event.c.moment), static_cast<uint8_t>(event.c.phase)};
  const uint32_t call = producer->calls.last(key, event.row.step);
  if (!gate_->claim(event.row.run, input, call)) return;
  Event made{event.c, *producer, decision_of(input.producer, *producer), event.row, event.thinning};
  made.at_gate = AtGate::kPasses;
  made.row.op = input.producer;
  made.row.call = call;
  made.row.duration_ns = -1;
  made.row.flags |= kRecordForReaders;
  tensor.slot_kind = TENSORTAP_SLOT_OUTPUT;
  tensor.slot_index = input.producer_slot;
  take_tensor(made, tensor);
}

}  // namespace tensortap
