// What `doctor` says about capturing PyTorch here.

#ifndef TENSORTAP_CLI_LAUNCH_TORCH_CHECK_H_
#define TENSORTAP_CLI_LAUNCH_TORCH_CHECK_H_

#include <string>

#include "base/json_fwd.h"

namespace tensortap::cli {

// {"preload": path or null, "library": path or null, "onnxruntime_library" and "ggml_library": the same, "problem": text or null,
// "adapters": [{"folder", "file"}],
// "releases": those of torch that came with the package, as text, "torch": null or {"python",
// "version", "library", "adapter": path or null, "adapter_problem": why the existing one is refused, or null, "command": what to type
// when there is none, "devices": [{"device": "cuda:0", "name"}], or null where the interpreter cannot import this torch},
// "torch_problem": text or null}.
Json examine_torch(const std::string& python);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_LAUNCH_TORCH_CHECK_H_
