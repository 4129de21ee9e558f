#include "session/first_nonfinite.h"

#include <vector>

#include "base/json.h"

namespace tensortap {
namespace {

Json unravelled(const RecordRow& row) {
  if (row.stats.first_nonfinite < 0) return nullptr;
  const Shape shape = row.desc().shape;
  std::vector<int64_t> index(static_cast<size_t>(shape.rank()), 0);
  auto flat = static_cast<uint64_t>(row.stats.first_nonfinite);
  for (size_t i = index.size(); i-- > 0;) {
    const auto extent = static_cast<uint64_t>(shape[static_cast<int>(i)]);
    if (extent == 0) return nullptr;
    index[i] = static_cast<int64_t>(flat % extent);
    flat /= extent;
  }
  return index;
}

}  // namespace

void FirstNonFinite::note(const RecordRow& row) {
  const bool of_weight = row.phase == static_cast<uint8_t>(Phase::kLoad);
  if (of_weight && row.stats.nan == 0) return;
  const std::lock_guard lock(mutex_);
  if (row.sequence >= sequence_.load(std::memory_order_relaxed)) return;
  sequence_.store(row.sequence, std::memory_order_relaxed);
  row_ = row;
}

Json FirstNonFinite::to_json(const OpTable& ops) const {
  const std::lock_guard lock(mutex_);
  if (sequence_.load(std::memory_order_relaxed) == UINT64_MAX) return nullptr;
  const OpEntry* entry = ops.find(row_.op);
  Json found = {{"step", row_.step}, {"op", nullptr}, {"type", nullptr}};
  if (entry != nullptr) {
    found["op"] = entry->info.name;
    found["type"] = entry->info.type;
  }
  found["slot"] = slot_name(static_cast<SlotKind>(row_.slot_kind), row_.slot_index);
  found["nan"] = row_.stats.nan;
  found["pos_inf"] = row_.stats.pos_inf;
  found["neg_inf"] = row_.stats.neg_inf;
  found["index"] = unravelled(row_);
  const bool located = entry != nullptr && !entry->info.source_location.empty();
  found["source"] = located ? Json(entry->info.source_location) : Json(nullptr);
  return found;
}

}  // namespace tensortap
