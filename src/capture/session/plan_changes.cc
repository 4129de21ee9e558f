#include "session/plan_changes.h"

#include <utility>

#include "base/clock.h"
#include "base/json.h"

namespace tensortap {

void PlanChanges::add(uint32_t generation, PlanChange change, CaptureSpec spec) {
  const std::lock_guard lock(mutex_);
  asked_ = std::move(spec);
  if (kept_.size() >= kMostKept) return;
  kept_.push_back({generation, -1, wall_clock_iso(), std::move(change)});
  waiting_.store(true, std::memory_order_relaxed);
}

CaptureSpec PlanChanges::asked() const {
  const std::lock_guard lock(mutex_);
  return asked_;
}

void PlanChanges::begun(uint32_t generation, int64_t step) {
  const std::lock_guard lock(mutex_);
  bool waits = false;
  for (Kept& kept : kept_) {
    if (kept.step < 0 && kept.generation <= generation) kept.step = step;
    waits = waits || kept.step < 0;
  }
  waiting_.store(waits, std::memory_order_relaxed);
}

Json PlanChanges::to_json() const {
  const std::lock_guard lock(mutex_);
  Json list = Json::array();
  for (const Kept& kept : kept_) {
    Json asked = Json::parse(kept.change.asked, nullptr, false);
    if (asked.is_discarded()) asked = nullptr;
    list.push_back({{"step", kept.step < 0 ? Json(nullptr) : Json(kept.step)},
                    {"time", kept.time},
                    {"by", kept.change.by},
                    {"asked", std::move(asked)}});
  }
  return list;
}

}  // namespace tensortap
