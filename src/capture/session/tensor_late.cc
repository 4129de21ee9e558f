// Tensors whose elements come later: TensorLook without waiting for a device.

#include <tensortap/asking.h>

#include <span>
#include <utility>

#include "session/event_view.h"
#include "session/measured_parts.h"
#include "session/tensor_look.h"

namespace tensortap {
namespace {

// The pool of the op's event is gone when the elements come: the same parts, one after the other, so that sums have the same bits.
void run_in_turn(void* /*pool*/, void (*task)(void* context, size_t index), size_t count, void* context) {
  for (size_t i = 0; i < count; ++i) task(context, i);
}

// What is left of an event when its call has returned.
tensortap_op_event without_tensors(const tensortap_op_event& event) {
  tensortap_op_event kept = event;
  kept.tensors = nullptr;
  kept.tensor_count = 0;
  kept.parallel_for = event.parallel_for == nullptr ? nullptr : run_in_turn;
  kept.pool = nullptr;
  kept.show_reads = nullptr;
  kept.reads = nullptr;
  return kept;
}

bool is_first(const tensortap_op_event& event, const RecordRow& row) {
  return reads_first(event) || static_cast<SlotKind>(row.slot_kind) == SlotKind::kInput;
}

// Whether the plan wants the device to measure, which it does with whole tensors in the order of their dims.
bool is_measured_there(const TakenEvent& event, const tensortap_tensor& tensor, const TensorView& view) {
  if (!measures_there(event.plan.spec.device_stats) || !event.plan.measures || event.sample_limit() != 0) return false;
  return view.desc.shape == Shape(std::span(tensor.dims, tensor.rank));
}

constexpr const char* kLostWithEarlier = "tensor on a device whose earlier copy did not come";

}  // namespace

// Ops, plans and decisions live as long as the session, also those of a plan that was replaced.
class TensorLook::LateLook final : public LateWork {
 public:
  LateLook(TensorLook& look, const TakenEvent& event, const tensortap_tensor& tensor, const Described& it)
      : look_(look),
        event_(without_tensors(event.c)),
        op_(event.op),
        plan_(event.plan),
        decision_(event.decision),
        thinning_(event.thinning),
        execution_(event.execution),
        tensor_(tensor),
        it_(it) {
    if (it_.view.strides != nullptr) {
      const auto rank = static_cast<size_t>(it_.view.desc.shape.rank());
      strides_.assign(it_.view.strides, it_.view.strides + rank);
      it_.view.strides = strides_.data();
    }
    tensor_.dims = nullptr;
    tensor_.strides = nullptr;
    tensor_.source = nullptr;
  }
  ~LateLook() override {
    if (learns_ != nullptr) look_.late_contents_.end(it_.known.key, learns_.get());
  }

  bool is_over() override { return copy_ == nullptr || copy_->is_over(); }
  void give_up() override {
    if (copy_ != nullptr) copy_->give_up();
  }
  void finish(QueuedRecord& record) override;

  void begin(std::unique_ptr<LateCopy> given, std::shared_ptr<LateContent> learns, std::shared_ptr<LateContent> shares) {
    copy_ = std::move(given);
    learns_ = std::move(learns);
    shares_ = std::move(shares);
  }

 private:
  void adopt_elements(const TakenEvent& event);
  void adopt_measured();
  void adopt_shared();

  TensorLook& look_;
  const tensortap_op_event event_;
  OpEntry& op_;
  const ActivePlan& plan_;
  const OpDecision* const decision_;
  const Governor::Thinning thinning_;
  const Execution execution_;
  tensortap_tensor tensor_;
  std::vector<int64_t> strides_;
  Described it_;
  std::unique_ptr<LateCopy> copy_;       // null: all that is asked for is what an earlier look learns
  std::shared_ptr<LateContent> learns_;  // by this look, null = nothing that others could use
  std::shared_ptr<LateContent> shares_;  // by an earlier look at the same content, null = there is none
};

void TensorLook::LateLook::adopt_shared() {
  if (it_.known.found || shares_ == nullptr || !shares_->is_known) return;
  it_.known.content = shares_->content;
  it_.known.found = true;
}

void TensorLook::LateLook::adopt_elements(const TakenEvent& event) {
  if (copy_->data() == nullptr) return look_.parts_.devices.miss(event_.op, copy_->device(), copy_->why_not());
  look_.parts_.devices.came(*copy_, it_.row.bytes);
  if (copy_->is_measured()) return adopt_measured();
  // Looks that were still late when this one began have told the cache meanwhile.
  if (!it_.known.found) {
    const bool counted = shares_ != nullptr;
    it_.known = look_.recall(event, tensor_, it_.view, it_.row);
    if (it_.known.found && !counted) it_.is_due = look_.parts_.contents.count_use();
    adopt_shared();
  }
  it_.view.data = copy_->data();
  if (copy_->is_packed()) it_.view.strides = nullptr;
}

void TensorLook::LateLook::adopt_measured() {
  Content& content = it_.known.content;
  content.stats = join_parts(copy_->parts(), it_.view.desc.dtype, plan_.stats);
  content.measured = content.on_device = true;
  it_.known.found = true;
  it_.known.learned = it_.known.key.valid();
  it_.is_needless = true;
}

void TensorLook::LateLook::finish(QueuedRecord& /*record*/) {
  TakenEvent event{event_, op_, plan_, decision_, it_.row, thinning_};
  event.execution = execution_;
  event.on_writer = true;
  if (copy_ != nullptr) {
    adopt_elements(event);
  } else {
    adopt_shared();
    it_.is_needless = it_.known.found && it_.known.content.measured;
    if (!it_.is_needless) look_.parts_.devices.miss(event_.op, tensor_.device, kLostWithEarlier);
  }
  look_.look(event, it_);
  if (learns_ != nullptr && (it_.view.data != nullptr || it_.is_needless) && it_.known.content.measured) {
    learns_->content = it_.known.content;
    learns_->is_known = true;
  }
  look_.parts_.governor.spend(0, event.elements, event.skipped_elements);
  copy_.reset();
}

// The decision whether NaN or Inf in an output is news, when what the op read has come.
class TensorLook::LateNews final : public LateWork {
 public:
  LateNews(TensorLook& look, const RecordRow& row, const TakenEvent& event)
      : look_(look), row_(row), read_infinity_(event.execution.late_infinity), intended_(event.op.intended_infinities) {}
  bool is_over() override { return true; }
  void give_up() override {}
  void finish(QueuedRecord& /*record*/) override { look_.first_nonfinite_.look(row_, !*read_infinity_ && !intended_); }

 private:
  TensorLook& look_;
  const RecordRow row_;
  const std::shared_ptr<bool> read_infinity_;
  const bool intended_;
};

bool TensorLook::may_be_late(const TakenEvent& event) const {
  const CaptureSpec& spec = event.plan.spec;
  const bool asked = spec.device_stats != DeviceStats::kWait && spec.device_stats != DeviceStats::kOff;
  const bool decides_now = gated_ || parts_.last_ops.has_ring() || event.plan.writing_fires || event.ring_only ||
                           (spec.trigger != Trigger::kAlways && spec.trigger != Trigger::kOnRequest);
  return asked && event.decision != nullptr && !decides_now;
}

bool TensorLook::only_measures(const TakenEvent& event) const {
  const ActivePlan& plan = event.plan;
  const bool looks_closer = plan.sketch.asked() || plan.digest != DigestKind::kNone || plan.spec.histogram || parts_.last_ops.has_ring();
  return event.decision != nullptr && !event.wants_data() && !looks_closer;
}

TensorLook::Begun TensorLook::begin_late(TakenEvent& event, const tensortap_tensor& tensor, Described& it) {
  std::shared_ptr<LateContent> shares = it.known.found ? nullptr : late_contents_.under_way(it.known.key);
  it.is_due = (it.known.found || shares != nullptr) && parts_.contents.count_use();
  if (!can_be_copied(tensor, it.row, it.view)) return Begun::kFetch;
  const bool only_statistics = only_measures(event) && !it.is_due;
  const bool knows = it.known.found && it.known.content.measured;
  if (only_statistics && (knows || !event.plan.measures)) return Begun::kFetch;  // which finds that nothing is to fetch
  std::unique_ptr<LateCopy> copy;
  std::shared_ptr<LateContent> learns;
  if (shares == nullptr || !only_statistics) {
    const bool may_wait = event.plan.spec.device_stats == DeviceStats::kAuto;
    auto queued = DeviceReads::Queued::kFetchOnly;
    if (only_statistics && !it.in_part && is_measured_there(event, tensor, it.view)) {
      const bool by_kernel = event.plan.spec.device_stats == DeviceStats::kKernel;
      const uint32_t wanted = extras_of(event.plan.stats) | (by_kernel ? TENSORTAP_MEASURE_BY_KERNEL : 0U);
      queued = parts_.devices.measure(event.c.op, tensor, wanted, copy);
    }
    if (queued == DeviceReads::Queued::kFetchOnly) queued = parts_.devices.queue(event.c.op, tensor, may_wait, copy);
    if (queued != DeviceReads::Queued::kQueued) return queued == DeviceReads::Queued::kMissed ? Begun::kMissed : Begun::kFetch;
    const bool teaches = it.known.key.valid() && event.plan.measures && event.sample_limit() == event.plan.stats.sample_limit;
    if (teaches && !it.known.found && shares == nullptr) learns = std::make_shared<LateContent>();
  }
  const bool may_read_infinity = is_first(event.c, it.row) && is_floating(it.view.desc.dtype);
  if (may_read_infinity && event.execution.late_infinity == nullptr) event.execution.late_infinity = std::make_shared<bool>(false);
  const RecordRow row = it.row;
  const ContentKey key = it.known.key;
  auto late = std::make_unique<LateLook>(*this, event, tensor, it);
  if (learns != nullptr) late_contents_.begin(key, learns);
  late->begin(std::move(copy), std::move(learns), std::move(shares));
  parts_.sink.take_late(row, std::move(late));
  return Begun::kDone;
}

void TensorLook::look_for_nonfinite(TakenEvent& event, const RecordRow& row) {
  const uint64_t infinities = row.stats.pos_inf + row.stats.neg_inf;
  if (infinities + row.stats.nan == 0 || !event.op.reads(static_cast<SlotKind>(row.slot_kind), row.slot_index)) return;
  const bool first = is_first(event.c, row);
  Execution& execution = event.execution;
  if (first && infinities > 0) {
    execution.read_infinity = true;
    if (event.on_writer && execution.late_infinity != nullptr) *execution.late_infinity = true;
  }
  if (!first && !event.on_writer && execution.late_infinity != nullptr && !execution.read_infinity) {
    return parts_.sink.take_late(row, std::make_unique<LateNews>(*this, row, event));
  }
  const bool read_infinity = execution.read_infinity || (event.on_writer && execution.late_infinity != nullptr && *execution.late_infinity);
  // An op that passes on the infinities that it read makes none.
  first_nonfinite_.look(row, !first && !read_infinity && !event.op.intended_infinities);
}

}  // namespace tensortap
