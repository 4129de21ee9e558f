// Orders in which accelerators keep the elements of a tensor, and the way from one to another: axes in other places, axes cut into blocks
// that are filled up with zeros.

#ifndef TENSORTAP_TENSOR_DATA_ORDER_H_
#define TENSORTAP_TENSOR_DATA_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/status.h"
#include "tensor/tensor.h"

namespace tensortap {

enum class DataOrder : uint8_t {
  kNd,         // as the author has it
  kNchw,       //
  kNhwc,       //
  kHwcn,       //
  kNcdhw,      //
  kNdhwc,      //
  kNc1hwc0,    // [N, C1, H, W, C0]: channels in blocks of C0
  kNdc1hwc0,   // [N, D, C1, H, W, C0]
  kFractalZ,   // [C1 * H * W, N1, N0, C0], with several groups of a convolution side by side
  kFractalNz,  // [..., C1, N1, N0, C0] of [..., N, C]
};

// "NC1HWC0", ignoring case.
std::optional<DataOrder> data_order_from_name(std::string_view name);
std::string_view data_order_name(DataOrder order);
// Whether axes are cut into blocks.
bool is_blocked(DataOrder order);

struct OrderChange {
  DataOrder from = DataOrder::kNd;
  DataOrder to = DataOrder::kNd;
  // The shape without blocks, as far as it does not follow from the tensor's: in the order of the side that has none. If it is empty (not
  // known), the padding of the last blocks counts as elements.
  Shape whole;
  uint32_t groups = 1;  // of kFractalZ
};

// A contiguous tensor that owns its memory.
struct OwnedTensor {
  TensorDesc desc;
  std::shared_ptr<std::byte[]> data;
};

// Returns the same elements in another order; exact, and reversible. `view` is contiguous, with elements of whole bytes. Errors:
// kUnsupported for pairs of orders that cannot be converted, kInvalidArgument when the shapes do not fit the orders or each other,
// kExhausted without memory.
Result<OwnedTensor> change_order(const TensorView& view, const OrderChange& change);

}  // namespace tensortap

#endif  // TENSORTAP_TENSOR_DATA_ORDER_H_
