// The way of one event through the session: every check that can end it, cheapest first.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/clock.h"
#include "base/text.h"
#include "capture/capture_session.h"
#include "capture/event_scope.h"
#include "capture/event_view.h"
#include "capture/thread_number.h"
#include "tensor/channel_blocks.h"
#include "tensor/memory_order.h"
#include "trace/scoped_name.h"

namespace tensortap {
namespace {

RecordRow shared_row(const tensortap_op_event& event, int64_t step, int32_t rank) {
  RecordRow row;
  row.step = step;
  row.run = event.run;
  row.duration_ns = event.duration_ns;
  row.op = event.op;
  row.thread = thread_number();
  row.rank = rank;
  row.phase = static_cast<uint8_t>(std::min<uint32_t>(event.phase, TENSORTAP_PHASE_LOAD));
  row.moment = static_cast<uint8_t>(std::min<uint32_t>(event.moment, TENSORTAP_MOMENT_BEFORE));
  return row;
}

// Does the work of a pool that is not there, in the same parts.
void run_here(void* /*pool*/, void (*task)(void* context, size_t index), size_t count, void* context) {
  for (size_t i = 0; i < count; ++i) task(context, i);
}

}  // namespace

bool CaptureSession::moment_wanted(const tensortap_op_event& event) const {
  switch (options_.spec.moment) {
    case MomentChoice::kBoth:
      return true;
    // Weights are looked at once, when there is no op to be before or after.
    case MomentChoice::kBefore:
      return event.moment == TENSORTAP_MOMENT_BEFORE || event.phase == TENSORTAP_PHASE_LOAD || reads_first(event);
    case MomentChoice::kAfter:
      return event.moment != TENSORTAP_MOMENT_BEFORE;
  }
  return true;
}

int64_t CaptureSession::step_number(const tensortap_op_event& event) const {
  return event.phase == TENSORTAP_PHASE_LOAD ? event.step : event.step + options_.spec.first_step;
}

bool CaptureSession::step_wanted(const tensortap_op_event& event, int64_t step, OpEntry& op, int64_t now_ns) {
  if (event.phase == TENSORTAP_PHASE_LOAD && !options_.spec.steps.is_never()) return true;
  if (event.phase == TENSORTAP_PHASE_LOAD || steps_.verdict(step) != StepGate::Verdict::kCaptured) {
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

ExecutionKey CaptureSession::key_of(const tensortap_op_event& event, int64_t step) {
  return {event.run, step, event.phase, event.call, thread_number()};
}

Execution CaptureSession::admit(const tensortap_op_event& event, int64_t step, OpEntry& op, int64_t now_ns) {
  if (!reads_first(event)) {
    if (const auto begun = op.pairs.end(key_of(event, step))) return *begun;
  }
  Execution execution;
  execution.taken = step_wanted(event, step, op, now_ns);
  if (event.call != 0) {
    execution.call = event.call - 1;
  } else if (execution.taken || steps_.verdict(step) == StepGate::Verdict::kCaptured) {
    execution.call = op.calls.next({event.run, static_cast<uint8_t>(event.moment), static_cast<uint8_t>(event.phase)}, step);
  }
  return execution;
}

void CaptureSession::on_op(const tensortap_op_event& event) {
  if (!is_on()) return;
  if (crash_ != nullptr) note_running(event);
  if (failed_only_) return;
  const bool known_watched = watched_whole_.serves(event.op);
  if (known_watched && passes_by(event)) {
    if (watched_whole_.mark_captured(event.op)) ops_.find(event.op)->mark(kOpRan | kOpCaptured);
    return;
  }
  const EventScope scope;
  if (!scope.entered()) return;
  OpEntry* op = ops_.find(event.op);
  if (op == nullptr) {
    losses_.add(loss::kUnknownOp, [&event] { return concat("op ", event.op); });
    return;
  }
  const OpDecision* decision = decision_of(event.op, *op);
  if (!(decision->wanted || decision->watcher) || !moment_wanted(event)) return;
  if (on_request_ && !ring_.has_value() && !op->requested.load(std::memory_order_relaxed)) return;
  if (takes_shown_reads_ && !known_watched && watches_whole(*decision) && passes_by(event)) return op->mark(kOpRan | kOpCaptured);
  const int64_t now_ns = monotonic_ns();
  if (!governor_.counts_steps() && governor_.active()) governor_.window_open(now_ns);
  const int64_t step = step_number(event);
  Execution execution = admit(event, step, *op, now_ns);
  if (execution.taken) {
    op->mark(kOpRan);
    Event taken{event, *op, decision, shared_row(event, step, options_.rank), governor_.thinning(now_ns)};
    taken.execution = execution;
    taken.row.time_ns = now_ns - opened_ns_;
    taken.row.call = execution.call;
    if (ring_.has_value()) taken.ring_only = ring_only(event, *op, *decision);
    take(taken);
    if (watch_.has_value()) watch(taken);
    execution.read_infinity = taken.execution.read_infinity;
    spend(taken, now_ns);
  }
  if (!reads_first(event) || options_.spec.moment == MomentChoice::kBefore) return;
  // Where the second event would come to the same by itself, nothing has to be remembered.
  const bool remembers = event.call == 0 || governor_.active() || execution.read_infinity;
  if (remembers) op->pairs.begin(key_of(event, step), execution);
}

void CaptureSession::spend(const Event& taken, int64_t began_ns) {
  const tensortap_op_event& event = taken.c;
  if (governor_.active() && event.phase != TENSORTAP_PHASE_LOAD) {
    governor_.spend(monotonic_ns() - began_ns, taken.elements, taken.skipped_elements);
  }
}

void CaptureSession::op_failed(const tensortap_op_event& event, std::string_view error) {
  if (!is_on()) return;
  if (crash_ != nullptr) note_running(event);
  const EventScope scope;
  if (!scope.entered()) return;
  OpEntry* op = ops_.find(event.op);
  if (op == nullptr) {
    losses_.add(loss::kUnknownOp, [&event] { return concat("op ", event.op); });
    return;
  }
  op->mark(kOpFailed);
  const int64_t step = step_number(event);
  Event taken{event, *op, nullptr, shared_row(event, step, options_.rank), {}};
  taken.row.flags |= kRecordFailedOp;
  taken.row.time_ns = monotonic_ns() - opened_ns_;
  taken.row.call = call_of_failed(event, step, *op);
  if (gate_.has_value()) gate_->forget_begun({event.run, event.op, taken.row.call});
  FailedOp failed{op->info.name, op->info.type, op->info.source_location, op->info.module, std::string(error), step, {}, {}};
  for (uint64_t i = 0; i < std::min(event.tensor_count, kMostTensors); ++i) {
    const tensortap_tensor tensor = tensor_of(event, i);
    RecordRow row = taken.row;
    row.slot_kind = static_cast<uint8_t>(slot_kind_of(tensor));
    row.slot_index = static_cast<uint16_t>(tensor.slot_index);
    row.element = tensor.element;
    failed.inputs.push_back(record_name(row, op->info.name));
  }
  failed.details = failure_details(event, op->info);
  take(taken);
  if (ring_.has_value()) {
    ring_->forget(taken.row);
    fire_ring();
  }
  const std::lock_guard lock(error_mutex_);
  ++failed_count_;
  if (failed_ops_.size() < 10) failed_ops_.push_back(std::move(failed));
}

uint32_t CaptureSession::call_of_failed(const tensortap_op_event& event, int64_t step, OpEntry& op) {
  const auto begun = op.pairs.end(key_of(event, step));
  if (event.call != 0) return event.call - 1;
  return begun ? begun->call : op.calls.next({event.run, static_cast<uint8_t>(event.moment), static_cast<uint8_t>(event.phase)}, step);
}

bool CaptureSession::looks_at(Event& event, const tensortap_tensor& tensor) const {
  if (event.decision == nullptr) return true;
  event.row.flags &= static_cast<uint8_t>(~kRecordForReaders);
  if (event.decision->wants_slot(slot_kind_of(tensor), tensor.slot_index)) return true;
  if (event.ring_only && watch_.has_value()) return slot_kind_of(tensor) == SlotKind::kOutput;
  // The gate has to know what the op reads, asked for or not.
  if (!gate_.has_value() || !reads_first(event.c) || !is_read(tensor)) return false;
  event.row.flags |= kRecordForReaders;
  return true;
}

void CaptureSession::take(Event& event) {
  if (takes_shown_reads_ && event.decision != nullptr && take_at_shown_gate(event)) return;
  const bool first = reads_first(event.c);
  if (first && options_.spec.moment == MomentChoice::kBefore) event.row.moment = TENSORTAP_MOMENT_BEFORE;
  ListShift shift;
  for (uint64_t i = 0; i < std::min(event.c.tensor_count, kMostTensors); ++i) {
    const tensortap_tensor tensor = tensor_of(event.c, i);
    event.row.position = shift.position_of(tensor);
    if (!looks_at(event, tensor)) continue;
    ++event.tensors;
    take_tensor(event, tensor);
  }
  // What the op made may still come.
  if (event.tensors == 0 && !first) event.op.mark(kOpNoTensor);
  if (event.fires) fire_ring();
  if (!gate_.has_value() || event.decision == nullptr) return;
  if (first) {
    gate_->begin({event.row.run, event.c.op, event.row.call}, {std::move(event.held)});
  } else {
    pass_gate(event);
  }
}

void CaptureSession::take_tensor(Event& event, const tensortap_tensor& tensor) {
  RecordRow row = event.row;
  TensorView view;
  if (!describe(event, tensor, row, view)) return;
  const uint32_t given = TENSORTAP_TENSOR_CHANNEL_BLOCK_OF(tensor.flags);
  const bool blocked = view.data != nullptr && view.strides == nullptr && has_channel_blocks(view.desc, given) && options_.spec.plain_order;
  const std::unique_ptr<std::byte[]> plain = blocked ? put_in_order(event, given, row, view) : nullptr;
  take_head(view, row);
  row.sequence = sequence_.fetch_add(1, std::memory_order_relaxed);
  Known known = blocked ? Known{} : recall(event, tensor, view, row);
  if (view.data == nullptr && row.numel > 0 && (row.flags & kRecordUnwritten) == 0) {
    event.op.mark(kOpDescriptionOnly);
  } else {
    event.op.mark(kOpCaptured);
    if (measures_ || event.decision == nullptr) measure(event, view, row, known);
    if (blocked && plain == nullptr && row.stats.first_nonfinite >= 0) {
      const auto index = static_cast<uint64_t>(row.stats.first_nonfinite);
      row.stats.first_nonfinite = static_cast<int64_t>(unblocked_index(view.desc, given, index));
    }
  }
  const bool passes = passes_condition(event, row);
  if (ring_.has_value() && event.decision != nullptr && (event.ring_only || gate_.has_value() || !passes)) {
    add_to_ring(row, view);
  }
  if (event.ring_only) return;
  event.fires = event.fires || (passes && writing_fires_);
  if (passes) {
    keep(event, view, row, known);
  } else {
    filtered_.fetch_add(1, std::memory_order_relaxed);
  }
  if (known.learned) contents_.put(known.key, known.content);
}

void CaptureSession::pass_gate(Event& event) {
  const bool can_fire = event.decision->outputs && !is_pseudo_op(event.op.info);
  const OverflowGate::Execution execution{event.row.run, event.c.op, event.row.call};
  std::vector<QueuedRecord> passed = gate_->pass(execution, event.op.info, can_fire, std::move(event.held));
  for (QueuedRecord& record : passed) {
    if (!ring_.has_value() || ring_->claim(record.row.sequence)) write_passed(std::move(record));
  }
  if (ring_.has_value() && !passed.empty()) fire_ring();
}

bool CaptureSession::describe(const Event& event, const tensortap_tensor& tensor, RecordRow& row, TensorView& view) {
  row.slot_kind = static_cast<uint8_t>(slot_kind_of(tensor));
  row.slot_index = static_cast<uint16_t>(std::min<uint32_t>(tensor.slot_index, UINT16_MAX));
  row.element = tensor.element;
  row.storage = tensor.storage;
  row.version = tensor.storage == 0 ? 0 : tensor.version;
  row.sequence = sequence_.load(std::memory_order_relaxed);
  if (tensor.dims == nullptr && tensor.rank > 0) {
    lose(loss::kMalformed, row);
    return false;
  }
  const auto most = static_cast<uint32_t>(most_dimensions_);
  view.desc.dtype = tensor.dtype < kDTypeCount ? static_cast<DType>(tensor.dtype) : DType::kUndefined;
  view.desc.shape = Shape(std::span(tensor.dims, std::min<uint32_t>(tensor.rank, most)));
  const bool too_many = tensor.rank > most || !RecordRow::holds(view.desc.shape);
  view.strides = tensor.strides;
  view.data = tensor.data;
  const uint32_t block = TENSORTAP_TENSOR_CHANNEL_BLOCK_OF(tensor.flags);
  const bool keeps_blocks = !options_.spec.plain_order && view.strides == nullptr && tensor.rank < most;
  if (keeps_blocks && has_channel_blocks(view.desc, block)) {
    view.desc.shape = blocked_shape(view.desc.shape, block);
    row.flags |= kRecordBlocked;
  }
  row.view = tensor.storage == 0 ? 0 : view_number(view);
  if ((tensor.flags & TENSORTAP_TENSOR_UNWRITTEN) != 0) {
    row.flags |= kRecordUnwritten;
    view.data = nullptr;
  }
  const std::optional<uint64_t> numel = view.desc.shape.numel();
  const bool unknown = view.desc.dtype == DType::kUndefined;
  const bool sized =
      numel.has_value() && (unknown || view.desc.dtype == DType::kString || packed_bytes(view.desc.dtype, *numel).has_value());
  if (!sized) {
    lose(loss::kMalformed, row);
    return false;
  }
  row.set_desc(view.desc);
  if (too_many || unknown) {
    // Described as far as it goes, and never looked into.
    event.op.mark(kOpDescriptionOnly);
    lose(!too_many ? loss::kUnknownType : tensor.rank > kMaxRank && most == kMaxRank ? loss::kMostRank : loss::kRank, row);
    view.data = nullptr;
  }
  return true;
}

std::unique_ptr<std::byte[]> CaptureSession::put_in_order(const Event& event, uint32_t block, RecordRow& row, TensorView& view) {
  // Most statistics do not ask for the order.
  const bool order_counts = wants_data(event) || digest_ != DigestKind::kNone || options_.spec.sampling.head != 0;
  if (!order_counts) return nullptr;
  std::unique_ptr<std::byte[]> plain(new (std::nothrow) std::byte[std::max<uint64_t>(row.bytes, 1)]);
  if (plain == nullptr) {
    lose(loss::kNoMemory, row);
    view.data = nullptr;
    return nullptr;
  }
  unblock_channels(view, block, plain.get());
  view.data = plain.get();
  return plain;
}

void CaptureSession::take_head(TensorView& view, RecordRow& row) const {
  const uint64_t head = options_.spec.sampling.head;
  if (head == 0 || row.numel <= head || !view.is_contiguous()) return;
  view.desc.shape = Shape(std::array{static_cast<int64_t>(head)});
  row.set_desc(view.desc);
}

CaptureSession::Known CaptureSession::recall(const Event& event, const tensortap_tensor& tensor, const TensorView& view,
                                             const RecordRow& row) {
  Known known;
  const bool shared = shares_statistics_ && tensor.storage != 0 && view.data != nullptr && row.numel >= least_shared_;
  if (!shared || event.decision == nullptr || view.desc.dtype == DType::kString) return known;
  known.key = content_key(tensor.storage, tensor.version, view);
  known.found = contents_.find(known.key, known.content) || recall_reordered(tensor, view, known);
  if (known.found && contents_.count_use()) check_content(event, view, row, known);
  return known;
}

// A transposed view has the statistics of the tensor whose view it is, but for the place of the first non-finite value; its bytes are others.
bool CaptureSession::recall_reordered(const tensortap_tensor& tensor, const TensorView& view, Known& known) {
  if (stats_options_.sample_limit != 0) return false;
  const std::optional<TensorView> reordered = in_memory_order(view);
  if (!reordered.has_value()) return false;
  Content base;
  if (!contents_.find(content_key(tensor.storage, tensor.version, *reordered), base)) return false;
  if (!base.measured || base.stats.first_nonfinite >= 0) return false;
  known.content.stats = base.stats;
  known.content.measured = true;
  known.content.in_parts = base.in_parts;
  return true;
}

void CaptureSession::check_content(const Event& event, const TensorView& view, const RecordRow& row, Known& known) {
  bool same = true;
  if (known.content.measured) {
    StatsOptions options = stats_options_;
    if (known.content.in_parts) options.parallel_for = {event.c.parallel_for == nullptr ? run_here : event.c.parallel_for, event.c.pool};
    const TensorStats now = compute_stats(view, options);
    same = std::memcmp(&now, &known.content.stats, sizeof(now)) == 0;
  }
  if (same && known.content.check.kind != DigestKind::kNone) {
    same = compute_digest(view, known.content.check.kind).bytes == known.content.check.bytes;
  }
  if (same) return;
  contents_.note_mismatch(known.key, record_name(row, event.op.info.name));
  known.found = false;
  known.content = Content{};
}

void CaptureSession::look_for_nonfinite(Event& event, const RecordRow& row) {
  const uint64_t infinities = row.stats.pos_inf + row.stats.neg_inf;
  if (infinities + row.stats.nan == 0 || !event.op.reads(static_cast<SlotKind>(row.slot_kind), row.slot_index)) return;
  const bool first = reads_first(event.c);
  if (first && infinities > 0) event.execution.read_infinity = true;
  // An op that passes on the infinities that it read makes none.
  first_nonfinite_.look(row, !first && !event.execution.read_infinity && !event.op.intended_infinities);
}

void CaptureSession::measure(Event& event, const TensorView& view, RecordRow& row, Known& known) {
  if (known.found && known.content.measured) {
    row.stats = known.content.stats;
    look_for_nonfinite(event, row);
    return;
  }
  StatsOptions options = stats_options_;
  if (event.thinning.sample_limit != 0 && (options.sample_limit == 0 || options.sample_limit > event.thinning.sample_limit)) {
    options.sample_limit = event.thinning.sample_limit;
  }
  if (event.decision == nullptr) options.sample_limit = 0;
  options.parallel_for = {event.c.parallel_for, event.c.pool};
  row.stats = compute_stats(view, options);
  event.elements += row.stats.count;
  if (known.key.valid() && options.sample_limit == stats_options_.sample_limit) {
    known.content.stats = row.stats;
    known.content.measured = known.learned = true;
    known.content.in_parts = event.c.parallel_for != nullptr;
  }
  if ((row.stats.valid & kStatSampled) != 0 && event.thinning.sample_limit != 0) {
    event.skipped_elements += row.numel - std::min(row.numel, row.stats.count);
    governor_.count_sampled();
  }
  look_for_nonfinite(event, row);
}

bool CaptureSession::passes_condition(const Event& event, const RecordRow& row) const {
  // What the gate has to know is held for it.
  if (event.decision == nullptr || (gate_.has_value() && reads_first(event.c))) return true;
  const WhereExpression* where = plan_->where();
  return where == nullptr || where->matches(row, event.op.info);
}

bool CaptureSession::wants_data(const Event& event) const { return keeps_data_ || event.decision == nullptr; }

void CaptureSession::add_digest(const TensorView& view, RecordRow& row, Known& known) const {
  const bool again = known.found && known.content.digest.kind == digest_;
  const Digest digest = again ? known.content.digest : compute_digest(view, digest_);
  std::ranges::copy(digest.bytes, row.digest);
  row.digest_kind = static_cast<uint8_t>(digest.kind);
  if (again || !known.key.valid()) return;
  known.content.digest = digest;
  known.learned = true;
}

bool CaptureSession::counts_in(const RecordRow& row) {
  const uint64_t most = options_.spec.limits.max_records;
  if (most == 0 || taken_.fetch_add(1, std::memory_order_relaxed) < most) return true;
  lose(loss::kMaxRecords, row);
  return false;
}

std::unique_ptr<ExponentHistogram> CaptureSession::look_closer(const Event& event, const TensorView& view, RecordRow& row,
                                                               Known& known) const {
  if (view.data == nullptr) return nullptr;
  if (digest_ != DigestKind::kNone) add_digest(view, row, known);
  if (!options_.spec.histogram || !(event.thinning.keep_data || event.decision == nullptr)) return nullptr;
  auto histogram = std::make_unique<ExponentHistogram>();
  add_to_histogram(view, *histogram);
  return histogram;
}

void CaptureSession::keep(Event& event, const TensorView& view, RecordRow& row, Known& known) {
  if (event.at_gate == AtGate::kStops || !counts_in(row)) return;
  std::unique_ptr<ExponentHistogram> histogram = look_closer(event, view, row, known);
  const bool is_output = row.slot_kind == static_cast<uint8_t>(SlotKind::kOutput);
  const bool own = event.decision == nullptr || !is_output || event.decision->is_own_output(row.slot_index);
  if (!own && event.decision->outputs_for_consumers) row.flags |= kRecordForReaders;
  const bool has_elements = view.data != nullptr || (row.numel == 0 && dtype_info(view.desc.dtype).bits != 0);
  if (gate_.has_value() && event.decision != nullptr && event.at_gate == AtGate::kWaits) {
    event.held.push_back(held_copy(row, view, wants_data(event) && has_elements, std::move(histogram)));
    return;
  }
  if (!wants_data(event) || !has_elements) {
    keep_row(row, std::move(histogram));
    return;
  }
  if (!event.thinning.keep_data) {
    row.flags |= kRecordDataLost;
    governor_.count_data_left_out();
    keep_row(row, std::move(histogram));
    return;
  }
  keep_data(row, view, std::move(histogram), known);
}

}  // namespace tensortap
