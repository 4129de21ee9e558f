#include "session/overflow_watch.h"

#include <algorithm>
#include <optional>

#include "base/json.h"
#include "base/text.h"
#include "session/copy_elements.h"
#include "session/event_view.h"
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

bool holds_nonfinite(const tensortap_op_event& event, const tensortap_tensor& tensor) {
  if (!is_plain(tensor) || is_unwritten(tensor)) return false;
  return has_nonfinite(tensor_view(tensor), {event.parallel_for, event.pool});
}

uint64_t tensors_of(const tensortap_op_event& event) { return std::min(event.tensor_count, kMostTensors); }

// The copy that was made of a tensor before the op ran; null when there is none.
QueuedRecord* copy_of(OverflowGate::ReadFirst& read, const tensortap_tensor& tensor) {
  const auto found = std::ranges::find_if(read.records, [&tensor](const QueuedRecord& record) {
    return record.row.slot_index == tensor.slot_index && record.row.element == tensor.element;
  });
  return found == read.records.end() ? nullptr : &*found;
}

// Whether every op that reads the event's tensors shows them again.
bool is_shown(const tensortap_op_event& event) {
  if (event.tensor_count == 0) return false;
  for (uint64_t i = 0; i < tensors_of(event); ++i) {
    if (!is_shown_again(tensor_of(event, i))) return false;
  }
  return true;
}

}  // namespace

OverflowWatch::OverflowWatch(const Parts& parts, const CaptureSpec& spec)
    : parts_(parts),
      takes_shown_reads_(spec.limits.ring_ops == 0 && spec.where.empty() && spec.sampling.head == 0 && spec.sampling.elements == 0 &&
                         spec.budget == 0 && (spec.moment == MomentChoice::kAfter || spec.moment == MomentChoice::kBoth)),
      gate_(spec.overflow_ops, spec.limits.max_triggers) {}

uint32_t OverflowWatch::wanted_reads() const {
  if (!takes_shown_reads_) return 0;
  return TENSORTAP_WANTS_READS | (gate_.keeps_passed_on() ? TENSORTAP_WANTS_PASSED_ON : 0U);
}

void OverflowWatch::bind(std::span<const OpInfo> ops) {
  gate_.bind(ops);
  if (!takes_shown_reads_) return;
  const size_t count = ops.size();
  whole_count_ = 0;
  whole_ = std::make_unique<std::atomic<uint8_t>[]>(count);
  for (OpId id = 0; id < count; ++id) {
    const OpDecision& decision = *parts_.ops.find(id)->decisions[0].load(std::memory_order_acquire);
    bool all = decision.wanted;
    for (uint32_t slot = 0; all && slot < ops[id].outputs.size(); ++slot) all = decision.wants_slot(SlotKind::kOutput, slot);
    whole_[id].store(all ? kWhole : kNotWhole, std::memory_order_relaxed);
  }
  whole_count_ = count;
}

bool OverflowWatch::is_finite_and_shown_again(const tensortap_op_event& event) {
  // Executions that the session counts are counted one by one.
  if (event.call == 0 || event.flags != 0 || event.moment != TENSORTAP_MOMENT_AFTER || event.phase == TENSORTAP_PHASE_LOAD) return false;
  if (event.tensor_count == 0 || gate_.has_begun() || !parts_.admission.captures(parts_.admission.step_of(event))) return false;
  for (uint64_t i = 0; i < tensors_of(event); ++i) {
    const tensortap_tensor tensor = tensor_of(event, i);
    if (!is_shown_again(tensor) || !is_plain(tensor)) return false;
    if (is_unwritten(tensor)) continue;
    if (tensor.data == nullptr || holds_nonfinite(event, tensor)) return false;
  }
  return true;
}

bool OverflowWatch::passes_by_whole(const tensortap_op_event& event) {
  if (!is_finite_and_shown_again(event)) return false;
  std::atomic<uint8_t>& state = whole_[event.op];
  const bool first = state.load(std::memory_order_relaxed) == kWhole && state.exchange(kWholeAndCaptured) == kWhole;
  if (first) parts_.ops.find(event.op)->mark(kOpRan | kOpCaptured);
  return true;
}

bool OverflowWatch::passes_by(const tensortap_op_event& event, OpEntry& op, const OpDecision& decision) {
  const bool whole = decision.wanted && decision.outputs && decision.output_slots.empty() && decision.excluded_outputs.empty();
  if (!takes_shown_reads_ || !whole || !is_finite_and_shown_again(event)) return false;
  op.mark(kOpRan | kOpCaptured);
  return true;
}

void OverflowWatch::take(TakenEvent& event) {
  if (takes_shown_reads_ && take_at_shown_gate(event)) return;
  const bool first = reads_first(event.c);
  parts_.look.take_all(event);
  if (first) {
    gate_.begin(key_of(event), {std::move(event.held)});
  } else {
    pass_gate(event);
  }
}

void OverflowWatch::pass_gate(TakenEvent& event) {
  const bool can_fire = event.decision->outputs && !is_pseudo_op(event.op.info);
  std::vector<QueuedRecord> passed = gate_.pass(key_of(event), event.op.info, can_fire, std::move(event.held));
  for (QueuedRecord& record : passed) {
    if (parts_.last_ops.claim(record.row.sequence)) parts_.sink.release(std::move(record));
  }
  if (parts_.last_ops.has_ring() && !passed.empty()) parts_.last_ops.fire();
}

bool OverflowWatch::take_at_shown_gate(TakenEvent& event) {
  if (event.c.phase == TENSORTAP_PHASE_LOAD) return false;
  if (reads_first(event.c)) {
    take_read_first(event);
    return true;
  }
  std::optional<OverflowGate::ReadFirst> read = gate_.take_begun(key_of(event));
  if (!read.has_value()) {
    if (!is_shown(event.c)) return false;
    read.emplace();
  }
  take_shown(event, *read);
  return true;
}

void OverflowWatch::take_read_first(TakenEvent& event) {
  OverflowGate::ReadFirst read;
  read.cannot_fire = !event.decision->outputs || is_pseudo_op(event.op.info);
  ListShift shift;
  for (uint64_t i = 0; !read.cannot_fire && i < tensors_of(event.c); ++i) {
    const tensortap_tensor tensor = tensor_of(event.c, i);
    event.row.position = shift.position_of(tensor);
    if (!parts_.look.looks_at(event, tensor)) continue;
    copy_before_write(event, tensor, read);
    read.cannot_fire = read.nonfinite && !gate_.keeps_passed_on();
  }
  if (read.cannot_fire) read.records.clear();
  gate_.begin(key_of(event), std::move(read));
}

// Where NaN or Inf in the tensor means that the op will not be written, there is no use for a copy.
void OverflowWatch::copy_before_write(TakenEvent& event, const tensortap_tensor& tensor, OverflowGate::ReadFirst& read) {
  QueuedRecord copy;
  copy.row = event.row;
  TensorView view;
  if (!parts_.look.describe(event, tensor, copy.row, view)) return;
  const uint32_t block = TensorLook::block_of(event, tensor, view);
  const std::unique_ptr<std::byte[]> plain = block != 0 ? parts_.look.put_in_order(event, block, copy.row, view) : nullptr;
  const bool has_elements = view.data != nullptr || (copy.row.numel == 0 && dtype_info(view.desc.dtype).bits != 0);
  const std::optional<uint64_t> bytes = has_elements ? copy_bytes(view, copy.row.numel) : std::nullopt;
  // An input that the op is about to overwrite without reading it is kept, but does not count.
  const bool counts = event.op.reads(slot_kind_of(tensor), tensor.slot_index);
  // Where nothing more will be written, a record without data represents the value.
  const bool may_be_written = !gate_.is_full();
  if (bytes.has_value() && may_be_written) copy.data = parts_.pool.acquire(*bytes, PoolAccount::WhenFull::kGiveUp);
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
  if (nonfinite && !gate_.keeps_passed_on()) return;
  if (copy.data.empty()) {
    if (has_elements && may_be_written) measure_without_copy(event, view, copy.row);
  } else if (nonfinite) {
    copy_elements(view, copy.row.numel, copy.data.data());
  }
  read.records.push_back(std::move(copy));
}

void OverflowWatch::measure_without_copy(TakenEvent& event, const TensorView& view, RecordRow& row) {
  KnownContent unknown;
  parts_.look.measure(event, view, row, unknown);
  if (event.wants_data()) row.flags |= kRecordDataLost;
}

void OverflowWatch::take_shown(TakenEvent& event, OverflowGate::ReadFirst& read) {
  bool made = false;
  for (uint64_t i = 0; i < tensors_of(event.c); ++i) {
    const tensortap_tensor tensor = tensor_of(event.c, i);
    const SlotKind kind = slot_kind_of(tensor);
    if (!(kind == SlotKind::kOutput ? event.decision->wants_slot(kind, tensor.slot_index) : !read.cannot_fire)) continue;
    if (!event.op.reads(kind, tensor.slot_index)) continue;
    const bool nonfinite = holds_nonfinite(event.c, tensor);
    made = made || (nonfinite && kind == SlotKind::kOutput);
    read.nonfinite = read.nonfinite || (nonfinite && kind != SlotKind::kOutput);
    read.cannot_fire = read.cannot_fire || (read.nonfinite && !gate_.keeps_passed_on());
  }
  event.at_gate = AtGate::kStops;
  if (made) take_shown_reads(event, read);
  // Measure a value only if it is written or may be the first NaN or Inf.
  const bool news = made && (event.at_gate == AtGate::kPasses || !parts_.look.first_nonfinite().met());
  ListShift shift;
  for (uint64_t i = 0; i < tensors_of(event.c); ++i) {
    const tensortap_tensor tensor = tensor_of(event.c, i);
    event.row.position = shift.position_of(tensor);
    if (!event.decision->wants_slot(slot_kind_of(tensor), tensor.slot_index)) continue;
    ++event.tensors;
    if (event.at_gate == AtGate::kPasses) gate_.wrote_output(key_of(event), tensor.slot_index);
    if (news || tensor.data == nullptr) {
      parts_.look.take(event, tensor);
    } else {
      event.op.mark(kOpCaptured);
    }
  }
  if (event.tensors == 0) event.op.mark(kOpNoTensor);
}

tensortap_tensor OverflowWatch::read_at(const TakenEvent& event, const tensortap_tensor* reads, uint64_t index) {
  return parts_.devices.fetched(event.c.op, tensor_at(reads, index), event.plan.spec.device_stats != DeviceStats::kOff);
}

// Decides about an op whose outputs are not finite, and writes its inputs if the op is written.
void OverflowWatch::take_shown_reads(TakenEvent& event, OverflowGate::ReadFirst& read) {
  const OpInfo& op = event.op.info;
  const tensortap_tensor* reads = nullptr;
  const bool all = gate_.keeps_passed_on();
  const bool asked = event.decision->outputs && !read.cannot_fire && !is_pseudo_op(op);
  bool passes_on = read.nonfinite || gate_.holds_nonfinite_input(event.row.run, op);
  const bool shows = asked && (all || !passes_on) && event.c.show_reads != nullptr;
  const uint64_t count = shows ? std::min(event.c.show_reads(event.c.reads, &reads), kMostTensors) : 0;
  // Where every op is kept, only the search for the first NaN or Inf needs to know the inputs of the op.
  const bool looks = asked && (!all || !parts_.look.first_nonfinite().met());
  for (uint64_t i = 0; looks && !passes_on && i < count; ++i) {
    const tensortap_tensor tensor = read_at(event, reads, i);
    if (!event.op.reads(slot_kind_of(tensor), tensor.slot_index)) continue;
    passes_on = copy_of(read, tensor) == nullptr && was_nonfinite(event, tensor);
  }
  // An op that passes on the infinities that it read makes none.
  event.execution.read_infinity = !asked || passes_on;
  if (!asked || (passes_on && !all) || !gate_.admit(event.row.run)) return;
  event.at_gate = AtGate::kPasses;
  for (QueuedRecord& record : gate_.take_inputs(event.row.run, op)) parts_.sink.release(std::move(record));
  ListShift shift;
  for (uint64_t i = 0; i < count; ++i) {
    const tensortap_tensor tensor = read_at(event, reads, i);
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

// Remembers the answer for values that a program reads again and again, such as weights once they contain a NaN.
bool OverflowWatch::was_nonfinite(const TakenEvent& event, const tensortap_tensor& tensor) {
  if (!event.plan.shares_statistics || tensor.storage == 0 || tensor.data == nullptr || !is_plain(tensor) || is_unwritten(tensor)) {
    return holds_nonfinite(event.c, tensor);
  }
  const TensorView view = tensor_view(tensor);
  if (view.desc.shape.numel().value_or(0) < event.plan.least_shared) return holds_nonfinite(event.c, tensor);
  const ContentKey key = content_key(tensor.storage, tensor.version, view, tensor.identity);
  Content content;
  const bool known = parts_.contents.find(key, content) && content.scanned;
  if (known && !parts_.contents.count_use()) return content.nonfinite;
  const bool nonfinite = holds_nonfinite(event.c, tensor);
  if (known && nonfinite != content.nonfinite) {
    parts_.contents.note_mismatch(key, concat("what ", event.op.info.name, " read"));
    content = Content{};
  }
  content.scanned = true;
  content.nonfinite = nonfinite;
  parts_.contents.put(key, content);
  return nonfinite;
}

void OverflowWatch::write_read(TakenEvent& event, const tensortap_tensor& tensor) {
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
    parts_.sink.writer().lose(loss::kReadGone, event.row);
  } else {
    parts_.look.take(event, tensor);
  }
  event.row = shared;
}

// As the record of the op that made it: this is how sources without inputs identify values.
void OverflowWatch::write_as_made(TakenEvent& event, const OpInput& input, tensortap_tensor tensor) {
  OpEntry* producer = parts_.ops.find(input.producer);
  if (producer == nullptr) return;
  const CallCounter::Key key{event.c.run, static_cast<uint8_t>(event.c.moment), static_cast<uint8_t>(event.c.phase)};
  const uint32_t call = producer->calls.last(key, event.row.step);
  if (!gate_.claim(event.row.run, input, call)) return;
  TakenEvent made{event.c,   *producer,     event.plan, parts_.ops.decision_of(input.producer, *producer, parts_.ops.newest()),
                  event.row, event.thinning};
  made.at_gate = AtGate::kPasses;
  made.row.op = input.producer;
  made.row.call = call;
  made.row.duration_ns = -1;
  made.row.position = 0;
  made.row.flags |= kRecordForReaders;
  tensor.slot_kind = TENSORTAP_SLOT_OUTPUT;
  tensor.slot_index = input.producer_slot;
  parts_.look.take(made, tensor);
}

// Writes a copy of a tensor from before the op wrote into it. The copy goes to the writer as it is: nothing waits for memory while copies
// hold some.
void OverflowWatch::write_copy(TakenEvent& event, QueuedRecord record) {
  RecordRow& row = record.row;
  if (!parts_.sink.admits(row)) return;
  row.sequence = parts_.look.next_sequence();
  KnownContent unknown;
  const TensorView view{row.desc(), record.data.empty() ? nullptr : record.data.data(), nullptr};
  if (view.data != nullptr) parts_.look.measure(event, view, row, unknown);
  record.histogram = parts_.look.look_closer(event, view, row, unknown);
  if (!event.wants_data()) record.data = PoolBuffer{};
  parts_.sink.release(std::move(record));
}

Json OverflowWatch::report() const { return {{"fired", gate_.fired()}, {"over_limit", gate_.over_limit()}}; }

}  // namespace tensortap
