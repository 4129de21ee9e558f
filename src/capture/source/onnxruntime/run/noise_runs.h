// The further runs of `"noise": N`: the same model on inputs moved by their last bit, each with a separate dump.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_RUN_NOISE_RUNS_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_RUN_NOISE_RUNS_H_

#include "base/json_fwd.h"
#include "base/status.h"
#include "source/onnxruntime/run/run_request.h"
#include "tensortap/onnxruntime.h"

namespace tensortap::onnxruntime {

// Whether the runs can be made. Errors: kInvalidArgument; kUnsupported for configs of other systems.
Status check_noise(const RunRequest& request);

// Makes the further runs after a run that ended with `report`, and lists their folders in it as "noise". Errors: those of a run, with the
// number of the run. The message is then also "error" of the report, and the dumps made so far stay.
Status run_noise(const RunRequest& request, const tensortap_onnxruntime_run_options& options, Json& report);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_RUN_NOISE_RUNS_H_
