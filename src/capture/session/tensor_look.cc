#include "session/tensor_look.h"

#include <tensortap/asking.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <optional>
#include <span>

#include "plan/where.h"
#include "session/copy_elements.h"
#include "session/event_view.h"
#include "stats/stats_compare.h"
#include "tensor/channel_blocks.h"
#include "tensor/memory_order.h"
#include "trace/scoped_name.h"

namespace tensortap {
namespace {

// Does the work of a missing pool, in the same parts.
void run_here(void* /*pool*/, void (*task)(void* context, size_t index), size_t count, void* context) {
  for (size_t i = 0; i < count; ++i) task(context, i);
}

bool has_elements(const TensorView& view, const RecordRow& row) {
  return view.data != nullptr || (row.numel == 0 && dtype_info(view.desc.dtype).bits != 0);
}

// Plans measure differently: one plan's results for a content are not valid for another.
ContentKey key_under(const ActivePlan& plan, const tensortap_tensor& tensor, const TensorView& view) {
  ContentKey key = content_key(tensor.storage, tensor.version, view, tensor.identity);
  key.place += uint64_t{plan.generation} * 0x9E3779B97F4A7C15U;
  return key;
}

// RecordRow::value_flags of what the source says of a tensor.
uint8_t value_flags_of(uint32_t flags) {
  uint8_t bits = 0;
  if ((flags & TENSORTAP_TENSOR_ROLE_KNOWN) != 0) bits |= kValueRoleKnown;
  if ((flags & TENSORTAP_TENSOR_PARAMETER) != 0) bits |= kValueParameter;
  if ((flags & TENSORTAP_TENSOR_OWN_NAME) != 0) bits |= kValueOwnName;
  if ((flags & TENSORTAP_TENSOR_OTHER_NAME) != 0) bits |= kValueOtherName;
  if ((flags & TENSORTAP_TENSOR_LEFT) != 0) bits |= kValueLeft;
  if ((flags & TENSORTAP_TENSOR_IN_COMPILED_CODE) != 0) bits |= kValueInCompiledCode;
  if ((flags & TENSORTAP_TENSOR_PARTLY_UNWRITTEN) != 0) bits |= kValuePartlyUnwritten;
  return bits;
}

// Gives a tensor the shape in which memory holds its elements.
void keep_memory_order(const tensortap_tensor& tensor, RecordRow& row, TensorView& view) {
  const uint32_t block = TENSORTAP_TENSOR_CHANNEL_BLOCK_OF(tensor.flags);
  if (view.strides == nullptr && has_channel_blocks(view.desc, block)) {
    view.desc.shape = blocked_shape(view.desc.shape, block);
    row.flags |= kRecordBlocked;
  } else if (const std::optional<TensorView> last = channels_last(view)) {
    row.element_order = view.desc.shape.rank() == 4 ? kOrderNhwc : kOrderNdhwc;
    view = *last;
  }
}

// Whether the plan wants tensors of this slot kind at this moment.
bool has_its_moment(const TakenEvent& event, const tensortap_tensor& tensor) {
  if (event.c.phase == TENSORTAP_PHASE_LOAD) return true;
  const bool before = event.c.moment == TENSORTAP_MOMENT_BEFORE || reads_first(event.c);
  if (event.plan.spec.moment == MomentChoice::kInBeforeOutAfter) return is_read(tensor) == before;
  return !before || event.plan.spec.moment != MomentChoice::kAfter || !looks_at_reads_after(event.plan.spec);
}

}  // namespace

TensorLook::TensorLook(const Parts& parts, bool gated) : parts_(parts), gated_(gated) {}

void TensorLook::take_all(TakenEvent& event) {
  const bool first = reads_first(event.c);
  const MomentChoice moment = event.plan.spec.moment;
  if (first && moment != MomentChoice::kAfter) event.row.moment = TENSORTAP_MOMENT_BEFORE;
  ListShift shift;
  for (uint64_t i = 0; i < std::min(event.c.tensor_count, kMostTensors); ++i) {
    const tensortap_tensor tensor = tensor_of(event.c, i);
    event.row.position = shift.position_of(tensor);
    if (!looks_at(event, tensor)) continue;
    ++event.tensors;
    take(event, tensor);
  }
  // What the op made may still come.
  if (event.tensors == 0 && !first) event.op.mark(kOpNoTensor);
  if (event.fires) parts_.last_ops.fire();
}

void TensorLook::describe_all(const tensortap_op_event& event, RecordRow row) {
  ListShift shift;
  for (uint64_t i = 0; i < std::min(event.tensor_count, kMostTensors); ++i) {
    const tensortap_tensor tensor = tensor_of(event, i);
    row.position = shift.position_of(tensor);
    if (tensor.rank > kMaxRank || (tensor.dims == nullptr && tensor.rank > 0)) continue;
    row.slot_kind = static_cast<uint8_t>(slot_kind_of(tensor));
    row.slot_index = static_cast<uint16_t>(std::min<uint32_t>(tensor.slot_index, UINT16_MAX));
    row.element = tensor.element;
    row.storage = tensor.storage;
    row.version = tensor.storage == 0 ? 0 : tensor.version;
    const TensorDesc desc{tensor.dtype < kDTypeCount ? static_cast<DType>(tensor.dtype) : DType::kUndefined,
                          Shape(std::span(tensor.dims, tensor.rank))};
    const std::optional<uint64_t> numel = desc.shape.numel();
    if (!numel.has_value()) continue;
    row.set_desc(desc, *numel, packed_bytes(desc.dtype, *numel).value_or(0));
    parts_.sink.described(row);
  }
}

bool TensorLook::looks_at(TakenEvent& event, const tensortap_tensor& tensor) const {
  if (event.decision == nullptr) return true;
  event.row.flags &= static_cast<uint8_t>(~kRecordForReaders);
  if (event.for_readers) {
    event.row.flags |= kRecordForReaders;
    // A weight comes before the program asks for anything.
    const bool asked = event.c.phase == TENSORTAP_PHASE_LOAD ||
                       (event.op.requested_outputs.load(std::memory_order_relaxed) & OpEntry::output_bit(tensor.slot_index)) != 0;
    return asked && slot_kind_of(tensor) == SlotKind::kOutput && event.decision->wants_slot(SlotKind::kOutput, tensor.slot_index);
  }
  if (event.decision->wants_slot(slot_kind_of(tensor), tensor.slot_index)) return has_its_moment(event, tensor);
  if (event.ring_only && event.plan.spec.trigger == Trigger::kWatch) return slot_kind_of(tensor) == SlotKind::kOutput;
  // The gate has to know what the op reads, asked for or not.
  if (!gated_ || !reads_first(event.c) || !is_read(tensor)) return false;
  event.row.flags |= kRecordForReaders;
  return true;
}

void TensorLook::take(TakenEvent& event, const tensortap_tensor& tensor) {
  Described it;
  it.row = event.row;
  it.flags = tensor.flags;
  if (!describe(event, tensor, it.row, it.view)) return;
  it.block = block_of(event, tensor, it.view);
  const bool blocked = it.block != 0;
  const std::unique_ptr<std::byte[]> plain = blocked ? put_in_order(event, it.block, it.row, it.view) : nullptr;
  it.is_ordered = plain != nullptr;
  it.in_part = take_head(event, it.view, it.row);
  it.row.sequence = next_sequence();
  if (!blocked) it.known = recall(event, tensor, it.view, it.row);
  Begun begun = Begun::kFetch;
  if (!blocked && is_remote(tensor) && may_be_late(event)) {
    begun = begin_late(event, tensor, it);
    if (begun == Begun::kDone) return;
  } else {
    it.is_due = it.known.found && parts_.contents.count_use();
  }
  Fetched fetched;
  if (begun == Begun::kFetch) {
    fetched = fetch(event, tensor, it.row, it.view, it.known.found && it.known.content.measured && !it.is_due);
    it.is_needless = fetched.is_needless;
  }
  look(event, it);
  if (fetched.data != nullptr) DeviceReads::release(tensor, fetched.data);
}

void TensorLook::look(TakenEvent& event, Described& it) {
  RecordRow& row = it.row;
  const TensorView& view = it.view;
  KnownContent& known = it.known;
  if (it.is_due && view.data != nullptr) check_content(event, view, row, known);
  event.sketch.reset();
  if (view.data == nullptr && row.numel > 0 && event.plan.sketch.asked()) row.sketch = static_cast<uint8_t>(SketchState::kNoNumbers);
  if (view.data == nullptr && row.numel > 0 && (row.flags & kRecordUnwritten) == 0 && !it.is_needless) {
    event.op.mark(kOpDescriptionOnly);
    note_not_looked_at(it.flags, row);
  } else {
    event.op.mark(kOpCaptured);
    if (event.plan.measures || event.decision == nullptr) measure(event, view, row, known);
    if (it.block != 0 && !it.is_ordered && row.stats.first_nonfinite >= 0) {
      const auto index = static_cast<uint64_t>(row.stats.first_nonfinite);
      row.stats.first_nonfinite = static_cast<int64_t>(unblocked_index(view.desc, it.block, index));
    }
  }
  if (it.in_part) row.stats.valid |= kStatSampled;
  look_for_news(event, row);
  const bool passes = passes_condition(event, row);
  if (parts_.last_ops.has_ring() && event.decision != nullptr && (event.ring_only || gated_ || !passes)) {
    parts_.last_ops.add(row, view, event.plan.digest);
  }
  if (event.ring_only) return;
  event.fires = event.fires || (passes && event.plan.writing_fires);
  if (passes) {
    keep(event, view, row, known);
  } else {
    filtered_.fetch_add(1, std::memory_order_relaxed);
  }
  if (known.learned) parts_.contents.put(known.key, known.content);
}

bool TensorLook::describe(const TakenEvent& event, const tensortap_tensor& tensor, RecordRow& row, TensorView& view) {
  row.slot_kind = static_cast<uint8_t>(slot_kind_of(tensor));
  row.slot_index = static_cast<uint16_t>(std::min<uint32_t>(tensor.slot_index, UINT16_MAX));
  row.element = tensor.element;
  row.storage = tensor.storage;
  row.version = tensor.storage == 0 ? 0 : tensor.version;
  row.sequence = sequence_.load(std::memory_order_relaxed);
  if (tensor.dims == nullptr && tensor.rank > 0) {
    parts_.sink.writer().lose(loss::kMalformed, row);
    return false;
  }
  view.desc.dtype = tensor.dtype < kDTypeCount ? static_cast<DType>(tensor.dtype) : DType::kUndefined;
  view.desc.shape = Shape(std::span(tensor.dims, std::min<uint32_t>(tensor.rank, kMaxRank)));
  const bool too_many = tensor.rank > kMaxRank || !RecordRow::holds(view.desc.shape);
  view.strides = tensor.strides;
  view.data = tensor.data;
  row.value_flags = value_flags_of(tensor.flags);
  row.element_order = static_cast<uint8_t>(TENSORTAP_TENSOR_ORDER_OF(tensor.flags));
  if (!event.plan.spec.plain_order && tensor.rank < kMaxRank) keep_memory_order(tensor, row, view);
  row.view = tensor.storage == 0 ? 0 : view_number(view, tensor.identity);
  if ((tensor.flags & TENSORTAP_TENSOR_UNWRITTEN) != 0) {
    row.flags |= kRecordUnwritten;
    view.data = nullptr;
  }
  const std::optional<uint64_t> numel = view.desc.shape.numel();
  const std::optional<uint64_t> bytes = numel.has_value() ? packed_bytes(view.desc.dtype, *numel) : std::nullopt;
  const bool unknown = view.desc.dtype == DType::kUndefined;
  const bool sized = bytes.has_value() || (numel.has_value() && (unknown || view.desc.dtype == DType::kString));
  if (!sized) {
    parts_.sink.writer().lose(loss::kMalformed, row);
    return false;
  }
  row.set_desc(view.desc, *numel, bytes.value_or(0));
  if (view.strides != nullptr) row.set_strides(view);
  if (too_many || unknown) {
    // Described as far as it goes, and never looked into.
    event.op.mark(kOpDescriptionOnly);
    parts_.sink.writer().lose(!too_many ? loss::kUnknownType : tensor.rank > kMaxRank ? loss::kRank : loss::kWideShape, row);
    view.data = nullptr;
  }
  return true;
}

KnownContent TensorLook::recall(const TakenEvent& event, const tensortap_tensor& tensor, const TensorView& view, const RecordRow& row) {
  KnownContent known;
  const bool has_values = view.data != nullptr || (is_remote(tensor) && (row.flags & kRecordUnwritten) == 0);
  const bool shared = event.plan.shares_statistics && tensor.storage != 0 && has_values && row.numel >= event.plan.least_shared;
  if (!shared || event.decision == nullptr || view.desc.dtype == DType::kString) return known;
  known.key = key_under(event.plan, tensor, view);
  known.shares_data = event.plan.shares_data;
  // The sums of full statistics change with every element; without them only the bytes show it.
  known.checks_bytes = (event.plan.stats.wanted & kStatL2) == 0;
  known.found = parts_.contents.find(known.key, known.content) || recall_reordered(event, tensor, view, known);
  return known;
}

// A transposed view has the statistics of the tensor whose view it is, except for the place of the first non-finite value; its bytes are
// others.
bool TensorLook::recall_reordered(const TakenEvent& event, const tensortap_tensor& tensor, const TensorView& view, KnownContent& known) {
  if (event.plan.stats.sample_limit != 0) return false;
  const std::optional<TensorView> reordered = in_memory_order(view);
  if (!reordered.has_value()) return false;
  Content base;
  if (!parts_.contents.find(key_under(event.plan, tensor, *reordered), base)) return false;
  if (!base.measured || base.stats.first_nonfinite >= 0) return false;
  known.content.stats = base.stats;
  known.content.measured = true;
  known.content.in_parts = base.in_parts;
  known.content.on_device = base.on_device;
  return true;
}

void TensorLook::check_content(const TakenEvent& event, const TensorView& view, const RecordRow& row, KnownContent& known) {
  bool same = true;
  if (known.content.measured) {
    StatsOptions options = event.plan.stats;
    if (known.content.in_parts) options.parallel_for = {event.c.parallel_for == nullptr ? run_here : event.c.parallel_for, event.c.pool};
    const TensorStats now = compute_stats(view, options);
    same = known.content.on_device ? difference(view.desc.dtype, now, known.content.stats).empty()
                                   : std::memcmp(&now, &known.content.stats, sizeof(now)) == 0;
  }
  if (same && known.content.check.kind != DigestKind::kNone) {
    same = compute_digest(view, known.content.check.kind).bytes == known.content.check.bytes;
  }
  if (same) return;
  parts_.contents.note_mismatch(known.key, record_name(row, event.op.info.name));
  known.found = false;
  known.content = Content{};
}

void TensorLook::look_for_news(const TakenEvent& event, const RecordRow& row) {
  if (row.numel == 0) return;
  const bool counted = (row.stats.valid & kStatNonFinite) == kStatNonFinite && (row.stats.valid & kStatSampled) == 0;
  const bool unwritten = (row.flags & kRecordUnwritten) != 0;
  const bool floating = !unwritten && is_floating(static_cast<DType>(row.dtype));
  if (floating && !counted) not_counted_.fetch_add(1, std::memory_order_relaxed);
  if (has_news_.load(std::memory_order_relaxed)) return;
  const auto kind = static_cast<SlotKind>(row.slot_kind);
  const bool is_garbage = unwritten || (row.value_flags & kValuePartlyUnwritten) != 0;
  const bool reads_garbage = is_garbage && kind == SlotKind::kInput && event.op.reads(kind, row.slot_index);
  const bool is_bad = !unwritten && floating && (!counted || row.stats.nan + row.stats.pos_inf + row.stats.neg_inf > 0);
  if (reads_garbage || is_bad) has_news_.store(true, std::memory_order_relaxed);
}

std::unique_ptr<SketchBuilder> TensorLook::begin_sketch(const TakenEvent& event, const TensorView& view, RecordRow& row) {
  if (event.decision == nullptr || !event.plan.sketch.asked()) return nullptr;
  SketchState state = sketch_state(view.desc, event.plan.sketch);
  std::atomic<bool>& seen = state == SketchState::kNoAxis ? without_axis_ : with_axis_;
  if (event.plan.sketch.axis.has_value() && state != SketchState::kNoNumbers && !seen.load(std::memory_order_relaxed)) seen.store(true);
  if (view.data == nullptr && row.numel > 0) state = SketchState::kNoNumbers;
  if (has_sketch(state) && event.thinning.sample_limit != 0 && row.numel > event.thinning.sample_limit) state = SketchState::kSampled;
  row.sketch = static_cast<uint8_t>(state);
  if (!has_sketch(state) || (state != SketchState::kThere && event.plan.sketch.block == 0)) return nullptr;
  try {
    return std::make_unique<SketchBuilder>(view.desc, event.plan.sketch);
  } catch (const std::bad_alloc&) {
    row.sketch = static_cast<uint8_t>(SketchState::kNotWritten);
    return nullptr;
  }
}

void TensorLook::measure(TakenEvent& event, const TensorView& view, RecordRow& row, KnownContent& known) {
  const std::unique_ptr<SketchBuilder> sketch = begin_sketch(event, view, row);
  if (known.found && known.content.measured && sketch == nullptr) {
    row.stats = known.content.stats;
    look_for_nonfinite(event, row);
    return;
  }
  StatsOptions options = event.plan.stats;
  options.sample_limit = event.sample_limit();
  options.parallel_for = {event.c.parallel_for, event.c.pool};
  options.sketch = sketch.get();
  row.stats = compute_stats(view, options);
  if (sketch != nullptr) event.sketch = std::make_unique<TensorSketch>(sketch->finish());
  event.elements += row.stats.count;
  if (known.key.valid() && options.sample_limit == event.plan.stats.sample_limit) {
    known.content.stats = row.stats;
    known.content.measured = known.learned = true;
    known.content.in_parts = event.c.parallel_for != nullptr;
  }
  if ((row.stats.valid & kStatSampled) != 0 && event.thinning.sample_limit != 0) {
    event.skipped_elements += row.numel - std::min(row.numel, row.stats.count);
    parts_.governor.count_sampled();
  }
  look_for_nonfinite(event, row);
}

bool TensorLook::passes_condition(const TakenEvent& event, const RecordRow& row) const {
  // Values that the gate needs are held for it.
  if (event.decision == nullptr || (gated_ && reads_first(event.c))) return true;
  const WhereExpression* where = event.plan.where;
  return where == nullptr || where->matches(row, event.op.info);
}

void TensorLook::add_digest(const TakenEvent& event, const TensorView& view, RecordRow& row, KnownContent& known) {
  const bool again = known.found && known.content.digest.kind == event.plan.digest;
  const Digest digest = again ? known.content.digest : compute_digest(view, event.plan.digest);
  put_digest(digest, row);
  if (again || !known.key.valid()) return;
  known.content.digest = digest;
  known.learned = true;
}

std::unique_ptr<ExponentHistogram> TensorLook::look_closer(const TakenEvent& event, const TensorView& view, RecordRow& row,
                                                           KnownContent& known) const {
  if (view.data == nullptr) return nullptr;
  if (event.plan.digest != DigestKind::kNone) add_digest(event, view, row, known);
  if (!event.plan.spec.histogram || !(event.thinning.keep_data || event.decision == nullptr)) return nullptr;
  auto histogram = std::make_unique<ExponentHistogram>();
  add_to_histogram(view, *histogram);
  return histogram;
}

void TensorLook::keep(TakenEvent& event, const TensorView& view, RecordRow& row, KnownContent& known) {
  if (event.at_gate == AtGate::kStops || !parts_.sink.admits(row)) return;
  std::unique_ptr<ExponentHistogram> histogram = look_closer(event, view, row, known);
  const bool is_output = row.slot_kind == static_cast<uint8_t>(SlotKind::kOutput);
  const bool own = event.decision == nullptr || !is_output || event.decision->is_own_output(row.slot_index);
  if (!own && event.decision->outputs_for_consumers) row.flags |= kRecordForReaders;
  const TensorView* data = event.wants_data() && has_elements(view, row) ? &view : nullptr;
  if (gated_ && event.decision != nullptr && event.at_gate == AtGate::kWaits) {
    event.held.push_back(parts_.sink.hold(row, data, std::move(histogram)));
    return;
  }
  if (data != nullptr && !event.thinning.keep_data) {
    row.flags |= kRecordDataLost;
    parts_.governor.count_data_left_out();
    data = nullptr;
  }
  if (event.sketch != nullptr) parts_.sink.add_sketch(row, *event.sketch);
  parts_.sink.take(row, data, std::move(histogram), known, event.on_writer);
}

}  // namespace tensortap
