// A model in words: what tensortap_onnxruntime_describe() gives.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_MODEL_DESCRIPTION_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_MODEL_DESCRIPTION_H_

#include "base/json_fwd.h"
#include "source/onnxruntime/taps/captured_model.h"

namespace tensortap::onnxruntime {

Json describe_model(const PreparedModel& model);
Json describe_value(const ValueInfo& info);
Json describe_op(const OpEntry& entry);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_MODEL_DESCRIPTION_H_
