// The C functions of include/tensortap/ggml.h.

#include <tensortap/ggml.h>

#include "base/silenced.h"
#include "source/ggml/graph_run.h"
#include "source/ggml/process_capture.h"

using tensortap::silenced;
using tensortap::ggml::compute_really;
using tensortap::ggml::ProcessCapture;

extern "C" {

void tensortap_ggml_start(const uint64_t* missed) noexcept { ProcessCapture::set_missed(missed); }

int tensortap_ggml_compute(const tensortap_ggml_call* call) {
  ProcessCapture* capture = silenced(static_cast<ProcessCapture*>(nullptr), [] { return ProcessCapture::of_process(); });
  return capture == nullptr ? compute_really(*call, call->graph) : capture->compute(*call);
}
}
