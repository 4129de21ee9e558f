// Which elements of a tensor TensorLook looks at, and in which order.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "session/tensor_look.h"
#include "tensor/channel_blocks.h"

namespace tensortap {

uint32_t TensorLook::block_of(const TakenEvent& event, const tensortap_tensor& tensor, const TensorView& view) {
  const uint32_t block = TENSORTAP_TENSOR_CHANNEL_BLOCK_OF(tensor.flags);
  const bool blocked = view.data != nullptr && view.strides == nullptr && has_channel_blocks(view.desc, block);
  return blocked && event.plan.spec.plain_order ? block : 0;
}

std::unique_ptr<std::byte[]> TensorLook::put_in_order(const TakenEvent& event, uint32_t block, RecordRow& row, TensorView& view) {
  // Most statistics do not ask for the order.
  const bool order_counts =
      event.wants_data() || event.plan.sketch.asked() || event.plan.digest != DigestKind::kNone || event.plan.spec.sampling.head != 0;
  if (!order_counts) return nullptr;
  std::unique_ptr<std::byte[]> plain(new (std::nothrow) std::byte[std::max<uint64_t>(row.bytes, 1)]);
  if (plain == nullptr) {
    parts_.sink.writer().lose(loss::kNoMemory, row);
    view.data = nullptr;
    return nullptr;
  }
  unblock_channels(view, block, static_cast<uint64_t>(view.desc.shape[1]), plain.get());
  view.data = plain.get();
  return plain;
}

bool TensorLook::take_head(const TakenEvent& event, TensorView& view, RecordRow& row) {
  const uint64_t head = event.plan.spec.sampling.head;
  if (head == 0 || row.numel <= head || !view.is_contiguous()) return false;
  view.desc.shape = Shape(std::array{static_cast<int64_t>(head)});
  row.set_desc(view.desc);
  return true;
}

}  // namespace tensortap
