// The way of one event through the session: every check that can end it, cheapest first.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "base/clock.h"
#include "base/text.h"
#include "capture/capture_session.h"
#include "capture/event_view.h"
#include "tensor/channel_blocks.h"
#include "trace/scoped_name.h"

namespace tensortap {
namespace {

constexpr uint64_t kMostTensors = 1U << 20;

// True while this thread is inside an event: what tensortap's own work makes the runtime do is no event of the program's.
thread_local bool inside_event = false;

class EventScope {
 public:
  EventScope() : entered_(!inside_event) { inside_event = true; }
  ~EventScope() {
    if (entered_) inside_event = false;
  }
  EventScope(const EventScope&) = delete;
  EventScope& operator=(const EventScope&) = delete;
  [[nodiscard]] bool entered() const { return entered_; }

 private:
  bool entered_;
};

uint32_t thread_number() {
  static std::atomic<uint32_t> next{0};
  thread_local const uint32_t number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

SlotKind slot_kind_of(const tensortap_tensor& tensor) {
  return tensor.slot_kind <= TENSORTAP_SLOT_GRADIENT ? static_cast<SlotKind>(tensor.slot_kind) : SlotKind::kOutput;
}

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

}  // namespace

bool CaptureSession::moment_wanted(const tensortap_op_event& event) const {
  switch (options_.spec.moment) {
    case MomentChoice::kBoth:
      return true;
    // Weights are looked at once, when there is no op to be before or after.
    case MomentChoice::kBefore:
      return event.moment == TENSORTAP_MOMENT_BEFORE || event.phase == TENSORTAP_PHASE_LOAD;
    case MomentChoice::kAfter:
      return event.moment != TENSORTAP_MOMENT_BEFORE;
  }
  return true;
}

int64_t CaptureSession::step_number(const tensortap_op_event& event) const {
  return event.phase == TENSORTAP_PHASE_LOAD ? event.step : event.step + options_.spec.first_step;
}

bool CaptureSession::step_wanted(const tensortap_op_event& event, int64_t step, OpEntry& op, int64_t now_ns) {
  if (event.phase == TENSORTAP_PHASE_LOAD) return true;
  if (steps_.verdict(step) != StepGate::Verdict::kCaptured) {
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

void CaptureSession::on_op(const tensortap_op_event& event) {
  if (!is_on() || failed_only_) return;
  const EventScope scope;
  if (!scope.entered()) return;
  OpEntry* op = ops_.find(event.op);
  if (op == nullptr) {
    losses_.add(loss::kUnknownOp, [&event] { return concat("op ", event.op); });
    return;
  }
  const OpDecision* decision = decision_of(event.op, *op);
  if (!decision->wanted || !moment_wanted(event)) return;
  const int64_t now_ns = monotonic_ns();
  if (!governor_.counts_steps() && governor_.active()) governor_.window_open(now_ns);
  const int64_t step = step_number(event);
  if (!step_wanted(event, step, *op, now_ns)) {
    if (steps_.verdict(step) == StepGate::Verdict::kCaptured)
      op->calls.next({event.run, static_cast<uint8_t>(event.moment), static_cast<uint8_t>(event.phase)}, step);
    return;
  }
  op->mark(kOpRan);
  Event taken{event, *op, decision, shared_row(event, step, options_.rank), governor_.thinning(now_ns)};
  taken.row.time_ns = now_ns - opened_ns_;
  taken.row.call = op->calls.next({event.run, taken.row.moment, taken.row.phase}, step);
  take(taken);
  if (governor_.active() && event.phase != TENSORTAP_PHASE_LOAD) {
    governor_.spend(monotonic_ns() - now_ns, taken.elements, taken.skipped_elements);
  }
}

void CaptureSession::op_failed(const tensortap_op_event& event, std::string_view error) {
  if (!is_on()) return;
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
  taken.row.call = op->calls.next({event.run, taken.row.moment, taken.row.phase}, step);
  FailedOp failed{op->info.name, op->info.type, std::string(error), step, {}};
  for (uint64_t i = 0; i < std::min(event.tensor_count, kMostTensors); ++i) {
    const tensortap_tensor tensor = tensor_of(event, i);
    RecordRow row = taken.row;
    row.slot_kind = static_cast<uint8_t>(slot_kind_of(tensor));
    row.slot_index = static_cast<uint16_t>(tensor.slot_index);
    row.element = tensor.element;
    failed.inputs.push_back(record_name(row, op->info.name));
  }
  take(taken);
  const std::lock_guard lock(error_mutex_);
  ++failed_count_;
  if (failed_ops_.size() < 10) failed_ops_.push_back(std::move(failed));
}

void CaptureSession::take(Event& event) {
  for (uint64_t i = 0; i < std::min(event.c.tensor_count, kMostTensors); ++i) {
    const tensortap_tensor tensor = tensor_of(event.c, i);
    if (event.decision != nullptr && !event.decision->wants_slot(slot_kind_of(tensor), tensor.slot_index)) continue;
    ++event.tensors;
    take_tensor(event, tensor);
  }
  if (event.tensors == 0) event.op.mark(kOpNoTensor);
  if (!event.held.empty()) pass_gate(event);
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
  if (view.data == nullptr && row.numel > 0) {
    event.op.mark(kOpDescriptionOnly);
  } else {
    event.op.mark(kOpCaptured);
    if (measures_ || event.decision == nullptr) measure(event, view, row);
    if (blocked && plain == nullptr && row.stats.first_nonfinite >= 0) {
      const auto index = static_cast<uint64_t>(row.stats.first_nonfinite);
      row.stats.first_nonfinite = static_cast<int64_t>(unblocked_index(view.desc, given, index));
    }
  }
  if (!passes_condition(event, row)) {
    filtered_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  keep(event, view, row);
}

void CaptureSession::pass_gate(Event& event) {
  const bool can_fire = event.decision->outputs && !is_pseudo_op(event.op.info);
  for (QueuedRecord& record : gate_->pass(event.c.op, event.op.info, can_fire, std::move(event.held))) write_passed(std::move(record));
}

bool CaptureSession::describe(const Event& event, const tensortap_tensor& tensor, RecordRow& row, TensorView& view) {
  row.slot_kind = static_cast<uint8_t>(slot_kind_of(tensor));
  row.slot_index = static_cast<uint16_t>(std::min<uint32_t>(tensor.slot_index, UINT16_MAX));
  row.element = tensor.element;
  row.sequence = sequence_.load(std::memory_order_relaxed);
  if (tensor.dims == nullptr && tensor.rank > 0) {
    lose(loss::kMalformed, row);
    return false;
  }
  const bool too_many = tensor.rank > kMaxRank;
  view.desc.dtype = tensor.dtype < kDTypeCount ? static_cast<DType>(tensor.dtype) : DType::kUndefined;
  view.desc.shape = Shape(std::span(tensor.dims, std::min<uint32_t>(tensor.rank, kMaxRank)));
  view.strides = tensor.strides;
  view.data = tensor.data;
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
    lose(too_many ? loss::kRank : loss::kUnknownType, row);
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

void CaptureSession::measure(Event& event, const TensorView& view, RecordRow& row) {
  StatsOptions options = stats_options_;
  if (event.thinning.sample_limit != 0 && (options.sample_limit == 0 || options.sample_limit > event.thinning.sample_limit)) {
    options.sample_limit = event.thinning.sample_limit;
  }
  if (event.decision == nullptr) options.sample_limit = 0;
  options.parallel_for = {event.c.parallel_for, event.c.pool};
  row.stats = compute_stats(view, options);
  event.elements += row.stats.count;
  if ((row.stats.valid & kStatSampled) != 0 && event.thinning.sample_limit != 0) {
    event.skipped_elements += row.numel - std::min(row.numel, row.stats.count);
    governor_.count_sampled();
  }
  first_nonfinite_.look(row);
}

bool CaptureSession::passes_condition(const Event& event, const RecordRow& row) const {
  if (event.decision == nullptr) return true;
  const WhereExpression* where = plan_->where();
  return where == nullptr || where->matches(row, event.op.info);
}

bool CaptureSession::wants_data(const Event& event) const { return keeps_data_ || event.decision == nullptr; }

void CaptureSession::keep(Event& event, const TensorView& view, RecordRow& row) {
  const Limits& limits = options_.spec.limits;
  if (limits.max_records != 0 && taken_.fetch_add(1, std::memory_order_relaxed) >= limits.max_records) {
    lose(loss::kMaxRecords, row);
    return;
  }
  std::unique_ptr<ExponentHistogram> histogram;
  if (view.data != nullptr) {
    if (digest_ != DigestKind::kNone) {
      const Digest digest = compute_digest(view, digest_);
      std::ranges::copy(digest.bytes, row.digest);
      row.digest_kind = static_cast<uint8_t>(digest.kind);
    }
    if (options_.spec.histogram && (event.thinning.keep_data || event.decision == nullptr)) {
      histogram = std::make_unique<ExponentHistogram>();
      add_to_histogram(view, *histogram);
    }
  }
  if (event.decision != nullptr && !event.decision->outputs && event.decision->outputs_for_consumers) row.flags |= kRecordForReaders;
  const bool has_elements = view.data != nullptr || (row.numel == 0 && dtype_info(view.desc.dtype).bits != 0);
  if (gate_.has_value() && event.decision != nullptr) {
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
  keep_data(row, view, std::move(histogram));
}

}  // namespace tensortap
