// Values of a tensor as JSON.

#ifndef TENSORTAP_CLI_TEXT_VALUES_JSON_H_
#define TENSORTAP_CLI_TEXT_VALUES_JSON_H_

#include "base/json_fwd.h"
#include "tensor/tensor.h"

namespace tensortap::cli {

// Nested lists as the shape has them. Non-finite numbers are "nan", "inf", "-inf"; a complex number is [real, imaginary]; null data gives
// null. `view` is contiguous.
Json values_json(const TensorView& view);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_TEXT_VALUES_JSON_H_
