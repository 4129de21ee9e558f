#include <tensortap/asking.h>

#include "session/tensor_look.h"

namespace tensortap {

bool can_be_copied(const tensortap_tensor& tensor, const RecordRow& row, const TensorView& view) {
  const bool has_values = row.numel > 0 && row.bytes > 0 && (row.flags & kRecordUnwritten) == 0 && view.desc.dtype != DType::kUndefined;
  return has_values && tensor.rank <= kMaxRank;
}

// A content of which all is known that the plan asks for is not fetched again.
TensorLook::Fetched TensorLook::fetch(const TakenEvent& event, const tensortap_tensor& tensor, const RecordRow& row, TensorView& view,
                                      bool is_measured) {
  Fetched fetched;
  if (!is_remote(tensor) || view.data != nullptr || !can_be_copied(tensor, row, view)) return fetched;
  const ActivePlan& plan = event.plan;
  fetched.is_needless = only_measures(event) && (is_measured || !plan.measures);
  if (fetched.is_needless) return fetched;
  bool packed = false;
  fetched.data = parts_.devices.fetch(event.c.op, tensor, row.bytes, plan.spec.device_stats != DeviceStats::kOff, packed);
  view.data = fetched.data;
  if (packed) view.strides = nullptr;
  return fetched;
}

void TensorLook::note_not_looked_at(uint32_t tensor_flags, RecordRow& row) {
  if ((tensor_flags & TENSORTAP_TENSOR_ON_DEVICE) == 0) return;
  row.value_flags |= kValueNotLookedAt;
  not_looked_at_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace tensortap
