// What triggers do besides the way of an event: looking at watched tensors again, and the ring of the last ops.

#include <algorithm>
#include <new>

#include "base/text.h"
#include "capture/call_stack.h"
#include "capture/capture_session.h"
#include "capture/copy_elements.h"
#include "capture/event_scope.h"
#include "capture/event_view.h"
#include "capture/safe_memory.h"
#include "capture/watched_readers.h"
#include "layout/crash_session.h"

namespace tensortap {
namespace {

constexpr uint64_t kMostLooked = uint64_t{1} << 20;  // tensors of one event

// The name that AscendCL's watcher gives: what ran, then what was looked at.
OpInfo look_info(const OpInfo& watcher, const OpInfo& watched) {
  OpInfo info;
  info.name = concat(watcher.name, "_To_", watched.name);
  info.type = watched.type;
  info.graph = watched.graph;
  info.single = watched.single;
  info.outputs = watched.outputs;
  info.attributes = to_json_text(Json{{kWatcherOp, watcher.name}, {kWatchedOp, watched.name}});
  return info;
}

}  // namespace

void CaptureSession::watch(Event& event) {
  const RecordRow& row = event.row;
  const bool ran = (event.c.flags & TENSORTAP_EVENT_READ_FIRST) == 0 && row.moment == TENSORTAP_MOMENT_AFTER;
  if (!ran || event.c.phase == TENSORTAP_PHASE_LOAD) return;
  watch_->ran(event.c.run, event.c.op, event.c);
  bool changed = false;
  if (event.decision->watcher) {
    for (const WatchList::Watched& watched : watch_->watched(event.c.run)) changed = look_again(event, watched) || changed;
  }
  if (changed && ring_.has_value()) fire_ring();
  if (!event.decision->outputs) return;
  for (uint64_t i = 0; i < std::min(event.c.tensor_count, kMostLooked); ++i) {
    const tensortap_tensor tensor = tensor_of(event.c, i);
    if (tensor.slot_kind != TENSORTAP_SLOT_OUTPUT || !memory_span(tensor).has_value()) continue;
    if (!event.decision->wants_slot(SlotKind::kOutput, tensor.slot_index)) continue;
    RememberedTensor remembered(tensor);
    remembered.seen = watched_digest(tensor);
    watch_->remember(event.c.run, event.c.op, remembered);
  }
}

Digest CaptureSession::watched_digest(const tensortap_tensor& tensor) {
  const Shape shape(std::span(tensor.dims, tensor.rank));
  return compute_digest(TensorView{{static_cast<DType>(tensor.dtype), shape}, tensor.data, tensor.strides}, DigestKind::kXxh3);
}

bool CaptureSession::look_again(const Event& event, const WatchList::Watched& watched) {
  tensortap_tensor tensor = watched.tensor.c();
  const std::optional<MemorySpan> span = memory_span(tensor);
  if (!span.has_value()) return false;
  const std::unique_ptr<std::byte[]> copy(new (std::nothrow) std::byte[span->bytes]);
  if (copy == nullptr || !read_safely(span->begin, span->bytes, copy.get())) {
    watch_->lost(event.c.run, watched);
    lose(copy == nullptr ? loss::kNoMemory : loss::kWatchedGone, event.row);
    return false;
  }
  const OpId pseudo = look_op(event.c.op, watched.op);
  if (pseudo == kNoOp) return false;
  // Of the memory, not of a content that the source knows of.
  tensor.storage = tensor.version = 0;
  tensor.data = copy.get() + span->first;
  const bool changed = watch_->saw(event.c.run, watched, watched_digest(tensor));
  OpEntry& op = *ops_.find(pseudo);
  op.mark(kOpRan);
  tensortap_op_event seen = event.c;
  seen.op = pseudo;
  seen.duration_ns = -1;
  Event look{seen, op, op.decision.load(std::memory_order_acquire), event.row, event.thinning};
  look.row.op = pseudo;
  look.row.duration_ns = -1;
  // Of what the event told last, among that op's own outputs.
  look.row.position = 0;
  take_tensor(look, tensor);
  return changed;
}

OpId CaptureSession::look_op(OpId watcher, OpId watched) {
  const OpId known = watch_->pseudo_op(watcher, watched);
  if (known != kNoOp) return known;
  const std::lock_guard lock(registration_);
  if (const OpId made = watch_->pseudo_op(watcher, watched); made != kNoOp) return made;
  const OpId id = ops_.add(look_info(ops_.find(watcher)->info, ops_.find(watched)->info));
  if (id == kNoOp) return id;
  ops_.find(id)->is_look = true;
  note_error(layout_->add_op(id, ops_.find(id)->info));
  OpDecision decision;
  decision.wanted = decision.outputs = true;
  decide(id, std::move(decision));
  watch_->set_pseudo_op(watcher, watched, id);
  return id;
}

Json CaptureSession::still_read() {
  const std::lock_guard lock(registration_);
  const WatchedReaders readers(ops_);
  Json looks = Json::array();
  for (const auto& [pair, look] : watch_->pseudo_ops()) {
    Json slots = Json::array();
    for (uint32_t slot = 0; slot < ops_.find(look)->info.outputs.size(); ++slot) {
      const std::optional<bool> read = readers.read_after(pair.second, slot, pair.first);
      slots.push_back(read.has_value() ? Json(*read) : Json(nullptr));
    }
    looks.push_back({ops_.find(look)->info.name, std::move(slots)});
  }
  return looks;
}

bool CaptureSession::ring_only(const tensortap_op_event& event, const OpEntry& op, const OpDecision& decision) const {
  switch (options_.spec.trigger) {
    case Trigger::kException:
      return true;
    case Trigger::kOnRequest:
      return !op.requested.load(std::memory_order_relaxed);
    case Trigger::kWatch:
      return !decision.outputs && event.phase != TENSORTAP_PHASE_LOAD;
    default:
      return false;
  }
}

void CaptureSession::add_to_ring(const RecordRow& row, const TensorView& view) {
  const bool has_elements = view.data != nullptr || (row.numel == 0 && dtype_info(view.desc.dtype).bits != 0);
  RecordRow kept = row;
  kept.flags |= kRecordFromRing;
  Known unknown;
  if (digest_ != DigestKind::kNone && view.data != nullptr) add_digest(view, kept, unknown);
  const std::optional<uint64_t> bytes = has_elements ? copy_bytes(view, row.numel) : std::nullopt;
  ring_->add(kept, bytes, [&](std::byte* target) { copy_elements(view, row.numel, target); });
}

void CaptureSession::note_running(const tensortap_op_event& event) {
  const EventScope scope;
  if (!scope.entered()) return;
  if ((event.flags & TENSORTAP_EVENT_READ_FIRST) != 0) {
    crash_->running.begin(event, step_number(event));
  } else {
    crash_->running.end(event, step_number(event));
  }
}

Json CaptureSession::failure_details(const tensortap_op_event& event, const OpInfo& op) const {
  const ExceptionDetail detail = options_.spec.exception_detail;
  Json json = Json::object();
  if (detail == ExceptionDetail::kBrief) return json;
  const Json attributes = Json::parse(op.attributes, nullptr, false);
  json["attributes"] = attributes.is_discarded() ? Json(nullptr) : attributes;
  json["tensors"] = Json::array();
  for (uint64_t i = 0; i < std::min(event.tensor_count, kMostLooked); ++i) {
    const tensortap_tensor tensor = tensor_of(event, i);
    const auto dtype = tensor.dtype < kDTypeCount ? static_cast<DType>(tensor.dtype) : DType::kUndefined;
    const uint32_t rank = tensor.dims == nullptr ? 0 : std::min<uint32_t>(tensor.rank, kMaxRank);
    json["tensors"].push_back({{"slot", slot_name(static_cast<SlotKind>(tensor.slot_kind % 4), tensor.slot_index)},
                               {"dtype", dtype_name(dtype)},
                               {"shape", std::vector<int64_t>(tensor.dims, tensor.dims + rank)}});
  }
  if (detail != ExceptionDetail::kDetail) return json;
  json["registers"] = registers_here();
  json["stack"] = call_stack();
  return json;
}

Status CaptureSession::open_crash_recorder(const DumpInfo& info) {
  CrashSources sources;
  sources.ops = &ops_;
  sources.ring = ring_.has_value() ? &*ring_ : nullptr;
  sources.sequence = &sequence_;
  sources.off = &off_;
  sources.opened_ns = opened_ns_;
  sources.rank = options_.rank;
  sources.with_stack = options_.spec.exception_detail == ExceptionDetail::kDetail;
  sources.access = options_.spec.access;
  sources.session = crash_session_text(info, options_.spec);
  TENSORTAP_ASSIGN_OR_RETURN(crash_, CrashRecorder::open(folder_.path(), sources));
  return {};
}

void CaptureSession::fire_ring() {
  for (QueuedRecord& record : ring_->take()) write_passed(std::move(record));
}

}  // namespace tensortap
