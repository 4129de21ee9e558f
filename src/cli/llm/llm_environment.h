// The variables that msit gives to the program: wrapper scripts and programs over ATB read them.

#ifndef TENSORTAP_CLI_LLM_LLM_ENVIRONMENT_H_
#define TENSORTAP_CLI_LLM_LLM_ENVIRONMENT_H_

#include <string>

#include "cli/launch/child_process.h"
#include "cli/llm/llm_options.h"

namespace tensortap::cli {

// `output`: absolute path of the folder of -o, without a "/" at its end; `timestamp`: of the dump. LD_PRELOAD is not among them.
Variables llm_variables(const LlmWords& words, const std::string& output, const std::string& timestamp);

// What makes the program's random numbers begin with the seed of -seed: the package in `python_package` in front of the program's own
// PYTHONPATH. Nothing without -seed or without a package.
Variables seeding_variables(const LlmWords& words, const std::string& python_package);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_LLM_LLM_ENVIRONMENT_H_
