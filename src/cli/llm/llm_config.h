// The words of `llm dump` as a config of the dialect "msit".

#ifndef TENSORTAP_CLI_LLM_LLM_CONFIG_H_
#define TENSORTAP_CLI_LLM_LLM_CONFIG_H_

#include <string>

#include "base/status.h"
#include "cli/llm/llm_options.h"
#include "plan/capture_spec.h"

namespace tensortap::cli {

// The spec of a capture into the folder `output`, in a dump named after `timestamp` ("20261122_151532"). With -config the file selects
// operations, rounds and devices, as in msit, also when it changes later. Errors: kInvalidArgument with the option, or with file, line and
// column.
Result<CaptureSpec> llm_spec(const LlmWords& words, const std::string& output, const std::string& timestamp);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_LLM_LLM_CONFIG_H_
