// Type, order and dimensions of a tensor as ATB tells them: decimal numbers as text.

#ifndef TENSORTAP_SOURCE_ATB_TENSOR_TEXT_H_
#define TENSORTAP_SOURCE_ATB_TENSOR_TEXT_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "source/atb/entry.h"

namespace tensortap::atb {

struct TensorFacts {
  uint32_t type = 0;   // enum tensortap_dtype
  uint32_t order = 0;  // bits of tensortap_tensor::flags
  std::vector<int64_t> dims;
};

// Checks the three texts, and that elements of this type and these dimensions take `bytes`. Errors: kUnsupported with the short reason why
// the tensor cannot be captured: a type that we do not have, other numbers than these, another size.
Result<TensorFacts> tensor_facts(const ToldTensor& tensor, uint64_t bytes);

}  // namespace tensortap::atb

#endif  // TENSORTAP_SOURCE_ATB_TENSOR_TEXT_H_
