// The generator of inputs that were not given: docs/onnxruntime.md, "Inputs that were not given".

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_RUN_INPUT_MAKER_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_RUN_INPUT_MAKER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "source/onnxruntime/model/onnx_model.h"
#include "source/onnxruntime/run/number_range.h"
#include "source/onnxruntime/runtime/ort_value.h"

namespace tensortap::onnxruntime {

// How an input is made.
struct MadeRange {
  uint64_t seed = 0;
  std::optional<NumberRange> numbers;  // nothing = the usual range of the type
  std::string reason;                  // the op whose table sets the range, "" = the caller did
};

// A tensor of `info`'s element type. The same seed, name, shape and range give the same bits everywhere. Errors: kInvalidArgument for
// impossible sizes and for ranges that the type cannot store.
Result<OwnedValue> make_input(const Api& api, const ValueInfo& info, const std::vector<int64_t>& dims, const MadeRange& range);

// Describes the values of make_input() for people: "uniform 0..1", "0..30521 from the height of Gather \"words\"".
std::string made_text(int32_t element_type, const MadeRange& range);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_RUN_INPUT_MAKER_H_
