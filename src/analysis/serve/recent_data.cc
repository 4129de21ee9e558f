#include "serve/recent_data.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tensor/dtype.h"

namespace tensortap {

Result<RecordData> RecentData::get(size_t row, const std::function<Result<RecordData>()>& read) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(kept_, row, &Kept::row);
    if (found != kept_.end()) return found->data;
  }
  auto data = read();
  if (!data.ok() || data->owner == nullptr) return data;
  const TensorDesc& desc = data->view.desc;
  const auto elements = desc.shape.numel();
  const auto bytes = elements ? packed_bytes(desc.dtype, *elements) : std::nullopt;
  keep({row, bytes.value_or(kMostBytes), *data});
  return data;
}

void RecentData::keep(Kept one) {
  const std::lock_guard lock(mutex_);
  if (one.bytes > kMostBytes || std::ranges::find(kept_, one.row, &Kept::row) != kept_.end()) return;
  bytes_ += one.bytes;
  kept_.push_back(std::move(one));
  while (kept_.size() > kMostKept || bytes_ > kMostBytes) {
    bytes_ -= kept_.front().bytes;
    kept_.pop_front();
  }
}

}  // namespace tensortap
