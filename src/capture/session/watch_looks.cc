#include "session/watch_looks.h"

#include <algorithm>
#include <memory>
#include <new>

#include "base/json.h"
#include "base/safe_memory.h"
#include "base/text.h"
#include "session/event_view.h"
#include "session/watched_readers.h"

namespace tensortap {
namespace {

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

Digest watched_digest(const tensortap_tensor& tensor) {
  const Shape shape(std::span(tensor.dims, tensor.rank));
  return compute_digest(TensorView{{static_cast<DType>(tensor.dtype), shape}, tensor.data, tensor.strides}, DigestKind::kXxh3);
}

}  // namespace

void WatchLooks::ran(const TakenEvent& event) {
  const RecordRow& row = event.row;
  const bool ran = !reads_first(event.c) && row.moment == TENSORTAP_MOMENT_AFTER;
  if (!ran || event.c.phase == TENSORTAP_PHASE_LOAD) return;
  list_.ran(event.c.run, event.c.op, event.c);
  bool changed = false;
  if (event.decision->watcher) {
    for (const WatchList::Watched& watched : list_.watched(event.c.run)) changed = look_again(event, watched) || changed;
  }
  if (changed && parts_.last_ops.has_ring()) parts_.last_ops.fire();
  if (!event.decision->outputs) return;
  for (uint64_t i = 0; i < std::min(event.c.tensor_count, kMostTensors); ++i) {
    const tensortap_tensor tensor = tensor_of(event.c, i);
    if (tensor.slot_kind != TENSORTAP_SLOT_OUTPUT || !event.decision->wants_slot(SlotKind::kOutput, tensor.slot_index)) continue;
    if (is_remote(tensor)) on_devices_.fetch_add(1, std::memory_order_relaxed);
    if (!memory_span(tensor).has_value()) continue;
    RememberedTensor remembered(tensor);
    remembered.seen = watched_digest(tensor);
    list_.remember(event.c.run, event.c.op, remembered);
  }
}

bool WatchLooks::look_again(const TakenEvent& event, const WatchList::Watched& watched) {
  tensortap_tensor tensor = watched.tensor.c();
  const std::optional<MemorySpan> span = memory_span(tensor);
  if (!span.has_value()) return false;
  const std::unique_ptr<std::byte[]> copy(new (std::nothrow) std::byte[span->bytes]);
  if (copy == nullptr || !read_safely(span->begin, span->bytes, copy.get())) {
    list_.lost(event.c.run, watched);
    parts_.sink.writer().lose(copy == nullptr ? loss::kNoMemory : loss::kWatchedGone, event.row);
    return false;
  }
  const OpId pseudo = look_op(event.c.op, watched.op);
  if (pseudo == kNoOp) return false;
  // The record describes the memory, not a content that the source knows.
  tensor.storage = tensor.version = 0;
  tensor.data = copy.get() + span->first;
  const bool changed = list_.saw(event.c.run, watched, watched_digest(tensor));
  OpEntry& op = *parts_.ops.find(pseudo);
  op.mark(kOpRan);
  tensortap_op_event seen = event.c;
  seen.op = pseudo;
  seen.duration_ns = -1;
  TakenEvent look{seen, op, event.plan, op.decisions[0].load(std::memory_order_acquire), event.row, event.thinning};
  look.row.op = pseudo;
  look.row.duration_ns = -1;
  // event.row has the position of the last reported tensor, among the outputs of its op.
  look.row.position = 0;
  parts_.look.take(look, tensor);
  return changed;
}

OpId WatchLooks::look_op(OpId watcher, OpId watched) {
  const OpId known = list_.pseudo_op(watcher, watched);
  if (known != kNoOp) return known;
  return parts_.ops.while_still([&] {
    if (const OpId made = list_.pseudo_op(watcher, watched); made != kNoOp) return made;
    const OpId id = parts_.ops.add_look(look_info(parts_.ops.find(watcher)->info, parts_.ops.find(watched)->info));
    if (id != kNoOp) list_.set_pseudo_op(watcher, watched, id);
    return id;
  });
}

Json WatchLooks::report() const {
  Json json = list_.report();
  json["still_read"] = parts_.ops.while_still([this] {
    const WatchedReaders readers(parts_.ops.table());
    Json looks = Json::array();
    for (const auto& [pair, look] : list_.pseudo_ops()) {
      Json slots = Json::array();
      for (uint32_t slot = 0; slot < parts_.ops.find(look)->info.outputs.size(); ++slot) {
        const std::optional<bool> read = readers.read_after(pair.second, slot, pair.first);
        slots.push_back(read.has_value() ? Json(*read) : Json(nullptr));
      }
      looks.push_back({parts_.ops.find(look)->info.name, std::move(slots)});
    }
    return looks;
  });
  return json;
}

}  // namespace tensortap
