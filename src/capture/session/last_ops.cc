#include "session/last_ops.h"

#include <algorithm>

#include "base/json.h"
#include "session/copy_elements.h"
#include "session/event_scope.h"
#include "session/event_view.h"
#include "session/signal_stack.h"

namespace tensortap {

LastOps::LastOps(uint64_t ring_ops, PoolAccount& pool, RecordSink& sink) : sink_(sink) {
  if (ring_ops > 0) ring_.emplace(ring_ops, pool);
}

void LastOps::add(const RecordRow& row, const TensorView& view, DigestKind digest) {
  const bool has_elements = view.data != nullptr || (row.numel == 0 && dtype_info(view.desc.dtype).bits != 0);
  RecordRow kept = row;
  kept.flags |= kRecordFromRing;
  if (digest != DigestKind::kNone && view.data != nullptr) put_digest(compute_digest(view, digest), kept);
  const std::optional<uint64_t> bytes = has_elements ? copy_bytes(view, row.numel) : std::nullopt;
  ring_->add(kept, bytes, [&](std::byte* target) { copy_elements(view, row.numel, target); });
}

void LastOps::fire() {
  for (QueuedRecord& record : ring_->take()) sink_.release(std::move(record));
}

void LastOps::failed(const RecordRow& row) {
  ring_->forget(row);
  fire();
}

Status LastOps::record_crashes(const std::string& folder, CrashSources sources) {
  sources.ring = ring_.has_value() ? &*ring_ : nullptr;
  TENSORTAP_ASSIGN_OR_RETURN(crash_, CrashRecorder::open(folder, sources));
  give_thread_signal_stack();
  return {};
}

void LastOps::note_running(const tensortap_op_event& event, int64_t step) {
  const EventScope scope;
  if (!scope.entered()) return;
  give_thread_signal_stack();
  if (reads_first(event)) {
    crash_->running.begin(event, step);
  } else {
    crash_->running.end(event, step);
  }
}

void LastOps::bind(std::span<const OpInfo> ops) {
  if (crash_ != nullptr) crash_->running.bind(ops);
}

Json LastOps::report() const { return ring_.has_value() ? ring_->report() : Json(nullptr); }

}  // namespace tensortap
