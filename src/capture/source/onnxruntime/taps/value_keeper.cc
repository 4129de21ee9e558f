#include "source/onnxruntime/taps/value_keeper.h"

#include <algorithm>

namespace tensortap::onnxruntime {

bool ValueKeeper::wants(const Tap& tap, const Run&) {
  const uint32_t entry = entry_of(tap);
  return tap.kind == TapKind::kOutputs && std::ranges::any_of(tap.slots, [&](const TapSlot& slot) {
           return kept_.contains({entry, slot.output});
         });
}

void ValueKeeper::on_tap(const FiredTap& fired, const Run&) {
  const uint32_t entry = entry_of(fired.tap);
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < fired.values.size(); ++i) {
    const auto kept = kept_.find({entry, fired.tap.slots[i].output});
    if (kept == kept_.end() || fired.values[i] == nullptr) continue;
    auto copy = copy_value(fired.api, fired.values[i]);
    if (!copy.ok()) continue;
    api_ = fired.api;
    kept->second = *std::move(copy);
  }
}

OwnedValue ValueKeeper::take(uint32_t entry, uint32_t output) { return std::move(kept_[{entry, output}]); }

}  // namespace tensortap::onnxruntime
