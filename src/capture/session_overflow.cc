// The overflow trigger where the source shows what an op read when it has run: nothing is copied or measured before an op has made NaN or Inf, but for
// what the op may write over.

#include <algorithm>

#include "base/text.h"
#include "capture/capture_session.h"
#include "capture/copy_elements.h"
#include "capture/event_view.h"
#include "stats/nonfinite.h"
#include "tensor/channel_blocks.h"
#include "trace/scoped_name.h"

namespace tensortap {
namespace {

bool is_plain(const tensortap_tensor& tensor) {
  return tensor.rank <= kMaxRank && (tensor.dims != nullptr || tensor.rank == 0) && tensor.dtype != TENSORTAP_UNDEFINED &&
         tensor.dtype < kDTypeCount;
}

bool is_unwritten(const tensortap_tensor& tensor) { return (tensor.flags & TENSORTAP_TENSOR_UNWRITTEN) != 0; }

bool is_shown_again(const tensortap_tensor& tensor) {
  return tensor.slot_kind == TENSORTAP_SLOT_OUTPUT && (tensor.flags & TENSORTAP_TENSOR_SHOWN_AGAIN) != 0;
}

// Memory in any order will do.
TensorView scanned_view(const tensortap_tensor& tensor) {
  return {{static_cast<DType>(tensor.dtype), Shape(std::span(tensor.dims, tensor.rank))}, tensor.data, tensor.strides};
}

bool holds_nonfinite(const tensortap_op_event& event, const tensortap_tensor& tensor) {
  if (!is_plain(tensor) || is_unwritten(tensor)) return false;
  return has_nonfinite(scanned_view(tensor), {event.parallel_for, event.pool});
}

uint64_t tensors_of(const tensortap_op_event& event) { return std::min(event.tensor_count, kMostTensors); }

// The copy that was made of a tensor before the op ran; null when there is none.
QueuedRecord* copy_of(OverflowGate::ReadFirst& read, const tensortap_tensor& tensor) {
  const auto found = std::ranges::find_if(read.records, [&tensor](const QueuedRecord& record) {
    return record.row.slot_index == tensor.slot_index && record.row.element == tensor.element;
  });
  return found == read.records.end() ? nullptr : &*found;
}

}  // namespace

void CaptureSession::WatchedWhole::assign(const std::vector<bool>& whole) {
  count_ = 0;
  states_ = std::make_unique<std::atomic<uint8_t>[]>(whole.size());
  for (size_t op = 0; op < whole.size(); ++op) states_[op].store(whole[op] ? 1 : 0, std::memory_order_relaxed);
  count_ = whole.size();
}

bool CaptureSession::watches_whole(const OpDecision& decision) {
  return decision.wanted && decision.outputs && decision.output_slots.empty() && decision.excluded_outputs.empty();
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
  if (event.tensor_count == 0 || gate_->has_begun() || steps_.verdict(step_number(event)) != StepGate::Verdict::kCaptured) return false;
  for (uint64_t i = 0; i < tensors_of(event); ++i) {
    const tensortap_tensor tensor = tensor_of(event, i);
    if (!is_shown_again(tensor) || !is_plain(tensor)) return false;
    if (is_unwritten(tensor)) continue;
    if (tensor.data == nullptr || holds_nonfinite(event, tensor)) return false;
  }
  return true;
}

bool CaptureSession::is_shown(const Event& event) const {
  if (event.c.tensor_count == 0) return false;
  for (uint64_t i = 0; i < tensors_of(event.c); ++i) {
    if (!is_shown_again(tensor_of(event.c, i))) return false;
  }
  return true;
}

bool CaptureSession::take_at_shown_gate(Event& event) {
  if (event.c.phase == TENSORTAP_PHASE_LOAD) return false;
  if (reads_first(event.c)) {
    take_read_first(event);
    return true;
  }
  std::optional<OverflowGate::ReadFirst> read = gate_->take_begun({event.row.run, event.c.op, event.row.call});
  if (!read.has_value()) {
    if (!is_shown(event)) return false;
    read.emplace();
  }
  take_shown(event, *read);
  return true;
}

void CaptureSession::take_read_first(Event& event) {
  OverflowGate::ReadFirst read;
  read.cannot_fire = !event.decision->outputs || is_pseudo_op(event.op.info);
  ListShift shift;
  for (uint64_t i = 0; !read.cannot_fire && i < tensors_of(event.c); ++i) {
    const tensortap_tensor tensor = tensor_of(event.c, i);
    event.row.position = shift.position_of(tensor);
    if (!looks_at(event, tensor)) continue;
    copy_before_write(event, tensor, read);
    read.cannot_fire = read.nonfinite && !gate_->keeps_passed_on();
  }
  if (read.cannot_fire) read.records.clear();
  gate_->begin({event.row.run, event.c.op, event.row.call}, std::move(read));
}

// Where NaN or Inf in the tensor means that the op will not be written, there is no use for a copy.
void CaptureSession::copy_before_write(Event& event, const tensortap_tensor& tensor, OverflowGate::ReadFirst& read) {
  QueuedRecord copy;
  copy.row = event.row;
  TensorView view;
  if (!describe(event, tensor, copy.row, view)) return;
  const uint32_t block = TENSORTAP_TENSOR_CHANNEL_BLOCK_OF(tensor.flags);
  const bool blocked = view.data != nullptr && view.strides == nullptr && has_channel_blocks(view.desc, block) && options_.spec.plain_order;
  const std::unique_ptr<std::byte[]> plain = blocked ? put_in_order(event, block, copy.row, view) : nullptr;
  const bool has_elements = view.data != nullptr || (copy.row.numel == 0 && dtype_info(view.desc.dtype).bits != 0);
  const std::optional<uint64_t> bytes = has_elements ? copy_bytes(view, copy.row.numel) : std::nullopt;
  // What the op is about to write over without reading it is kept, and makes no difference.
  const bool counts = event.op.reads(slot_kind_of(tensor), tensor.slot_index);
  // Where nothing more will be written, a record without data stands for what was told.
  const bool may_be_written = !gate_->is_full();
  if (bytes.has_value() && may_be_written) copy.data = pool_.acquire(*bytes, BufferPool::WhenFull::kGiveUp);
  const ParallelFor parallel{event.c.parallel_for, event.c.pool};
  bool nonfinite = false;
  if (copy.data.empty()) {
    nonfinite = counts && has_nonfinite(view, parallel);
  } else if (!counts || view.desc.dtype == DType::kString) {
    copy_elements(view, copy.row.numel, copy.data.data());
  } else {
    nonfinite = copy_until_nonfinite(view, copy.data.data(), parallel);
  }
  read.nonfinite = read.nonfinite || nonfinite;
  if (nonfinite && !gate_->keeps_passed_on()) return;
  if (copy.data.empty()) {
    if (has_elements && may_be_written) measure_without_copy(event, view, copy.row);
  } else if (nonfinite) {
    copy_elements(view, copy.row.numel, copy.data.data());
  }
  read.records.push_back(std::move(copy));
}

void CaptureSession::measure_without_copy(Event& event, const TensorView& view, RecordRow& row) {
  Known unknown;
  measure(event, view, row, unknown);
  if (wants_data(event)) row.flags |= kRecordDataLost;
}

void CaptureSession::take_shown(Event& event, OverflowGate::ReadFirst& read) {
  bool made = false;
  for (uint64_t i = 0; i < tensors_of(event.c); ++i) {
    const tensortap_tensor tensor = tensor_of(event.c, i);
    const SlotKind kind = slot_kind_of(tensor);
    if (!(kind == SlotKind::kOutput ? event.decision->wants_slot(kind, tensor.slot_index) : !read.cannot_fire)) continue;
    if (!event.op.reads(kind, tensor.slot_index)) continue;
    const bool nonfinite = holds_nonfinite(event.c, tensor);
    made = made || (nonfinite && kind == SlotKind::kOutput);
    read.nonfinite = read.nonfinite || (nonfinite && kind != SlotKind::kOutput);
    read.cannot_fire = read.cannot_fire || (read.nonfinite && !gate_->keeps_passed_on());
  }
  event.at_gate = AtGate::kStops;
  if (made) take_shown_reads(event, read);
  // What is neither written nor the first of its kind need not be measured.
  const bool news = made && (event.at_gate == AtGate::kPasses || !first_nonfinite_.met());
  ListShift shift;
  for (uint64_t i = 0; i < tensors_of(event.c); ++i) {
    const tensortap_tensor tensor = tensor_of(event.c, i);
    event.row.position = shift.position_of(tensor);
    if (!event.decision->wants_slot(slot_kind_of(tensor), tensor.slot_index)) continue;
    ++event.tensors;
    if (event.at_gate == AtGate::kPasses) gate_->wrote_output({event.row.run, event.c.op, event.row.call}, tensor.slot_index);
    if (news || tensor.data == nullptr) {
      take_tensor(event, tensor);
    } else {
      event.op.mark(kOpCaptured);
    }
  }
  if (event.tensors == 0) event.op.mark(kOpNoTensor);
}

// Decides about an op whose outputs are not finite, and writes what it read when it is to be written.
void CaptureSession::take_shown_reads(Event& event, OverflowGate::ReadFirst& read) {
  const OpInfo& op = event.op.info;
  const tensortap_tensor* reads = nullptr;
  const bool all = gate_->keeps_passed_on();
  const bool asked = event.decision->outputs && !read.cannot_fire && !is_pseudo_op(op);
  bool passes_on = read.nonfinite || gate_->holds_nonfinite_input(event.row.run, op);
  const bool shows = asked && (all || !passes_on) && event.c.show_reads != nullptr;
  const uint64_t count = shows ? std::min(event.c.show_reads(event.c.reads, &reads), kMostTensors) : 0;
  // Where every op is kept only the search for the first NaN or Inf has to know what the op read.
  const bool looks = asked && (!all || !first_nonfinite_.met());
  for (uint64_t i = 0; looks && !passes_on && i < count; ++i) {
    const tensortap_tensor tensor = tensor_at(reads, i);
    if (!event.op.reads(slot_kind_of(tensor), tensor.slot_index)) continue;
    passes_on = copy_of(read, tensor) == nullptr && was_nonfinite(event.c, tensor);
  }
  // An op that passes on the infinities that it read makes none.
  event.execution.read_infinity = !asked || passes_on;
  if (!asked || (passes_on && !all) || !gate_->admit(event.row.run)) return;
  event.at_gate = AtGate::kPasses;
  for (QueuedRecord& record : gate_->take_inputs(event.row.run, op)) write_passed(std::move(record));
  ListShift shift;
  for (uint64_t i = 0; i < count; ++i) {
    const tensortap_tensor tensor = tensor_at(reads, i);
    event.row.position = shift.position_of(tensor);
    QueuedRecord* copy = copy_of(read, tensor);
    if (copy == nullptr && !event.op.reads(slot_kind_of(tensor), tensor.slot_index)) continue;
    if (copy == nullptr) {
      write_read(event, tensor);
    } else {
      copy->row.position = event.row.position;
      write_copy(event, std::move(*copy));
    }
  }
  if (count > 0) return;
  for (QueuedRecord& record : read.records) write_copy(event, std::move(record));
}

// Of what a program reads again and again, such as weights once something is NaN, the answer is remembered.
bool CaptureSession::was_nonfinite(const tensortap_op_event& event, const tensortap_tensor& tensor) {
  if (!shares_statistics_ || tensor.storage == 0 || tensor.data == nullptr || !is_plain(tensor) || is_unwritten(tensor)) {
    return holds_nonfinite(event, tensor);
  }
  const TensorView view = scanned_view(tensor);
  if (view.desc.shape.numel().value_or(0) < least_shared_) return holds_nonfinite(event, tensor);
  const ContentKey key = content_key(tensor.storage, tensor.version, view);
  Content content;
  const bool known = contents_.find(key, content) && content.scanned;
  if (known && !contents_.count_use()) return content.nonfinite;
  const bool nonfinite = holds_nonfinite(event, tensor);
  if (known && nonfinite != content.nonfinite) {
    contents_.note_mismatch(key, concat("what ", ops_.find(event.op)->info.name, " read"));
    content = Content{};
  }
  content.scanned = true;
  content.nonfinite = nonfinite;
  contents_.put(key, content);
  return nonfinite;
}

void CaptureSession::write_read(Event& event, const tensortap_tensor& tensor) {
  const OpInfo& op = event.op.info;
  const bool has_producer = tensor.slot_index < op.inputs.size() && op.inputs[tensor.slot_index].producer != kNoOp;
  if (has_producer) return write_as_made(event, op.inputs[tensor.slot_index], tensor);
  const RecordRow shared = event.row;
  event.row.duration_ns = -1;
  if (!event.decision->wants_slot(slot_kind_of(tensor), tensor.slot_index)) event.row.flags |= kRecordForReaders;
  if ((tensor.flags & TENSORTAP_TENSOR_GONE) != 0) {
    event.row.slot_kind = static_cast<uint8_t>(slot_kind_of(tensor));
    event.row.slot_index = static_cast<uint16_t>(tensor.slot_index);
    event.row.element = tensor.element;
    lose(loss::kReadGone, event.row);
  } else {
    take_tensor(event, tensor);
  }
  event.row = shared;
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
  made.row.position = 0;
  made.row.flags |= kRecordForReaders;
  tensor.slot_kind = TENSORTAP_SLOT_OUTPUT;
  tensor.slot_index = input.producer_slot;
  take_tensor(made, tensor);
}

// Of a tensor as it was before the op wrote into it. The copy goes to the writer as it is: nothing waits for memory while copies hold some.
void CaptureSession::write_copy(Event& event, QueuedRecord record) {
  RecordRow& row = record.row;
  if (!counts_in(row)) return;
  row.sequence = sequence_.fetch_add(1, std::memory_order_relaxed);
  Known unknown;
  const TensorView view{row.desc(), record.data.empty() ? nullptr : record.data.data(), nullptr};
  if (view.data != nullptr) measure(event, view, row, unknown);
  record.histogram = look_closer(event, view, row, unknown);
  if (!wants_data(event)) record.data = PoolBuffer{};
  write_passed(std::move(record));
}

}  // namespace tensortap
