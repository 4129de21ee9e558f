// A program under capture, from before its start to the summary of its dump: the common part of `exec` and `llm dump`.

#ifndef TENSORTAP_CLI_LAUNCH_CAPTURED_RUN_H_
#define TENSORTAP_CLI_LAUNCH_CAPTURED_RUN_H_

#include <functional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/status.h"
#include "cli/launch/child_process.h"
#include "cli/launch/installed_files.h"
#include "cli/text/exit_code.h"
#include "cli/text/terminal.h"
#include "plan/capture_spec.h"

namespace tensortap::cli {

// The program behind the first word of a command, which can be captured.
struct FoundProgram {
  std::string path;
  std::string interpreter;  // what the kernel runs for it
  InstalledFiles installed;
};
// Errors: kNotFound, kInvalidArgument with the name and what to do.
Result<FoundProgram> find_captured_program(const std::string& word);

struct CapturedRun {
  std::vector<std::string> program;  // its words
  std::string config_name;
  std::string compile = "inductor";
  std::string names = "own";  // of ggml's modules and weights; "transformers"
  bool workers = false;
  bool no_cache = false;
  bool no_build = false;
  bool no_torch = false;
  bool strict = false;
  bool own_user_only = false;  // no process of another user takes part, even where others may use the dump
  std::string preload;         // the library to preload, "" = the one for torch and ONNX Runtime
  std::string summary;         // the file to write the summary into, "" = none
  Variables variables;         // for the program, on top of our own
  // Called with the summary of a dump after a program that ended with 0. Its error fails the run, once the summary is printed.
  std::function<Status(Json& summary)> afterwards;
};

// Errors: kInvalidArgument where no source could do what the spec asks for.
Status check_for_programs(const CaptureSpec& spec);

// Runs the program and reports what was captured. Returns its exit code; kFound if the program ended with 0, `strict` is set and something
// is missing.
// Errors: kInvalidArgument when it cannot be started or captured; kIo.
Result<ExitCode> run_captured(const CapturedRun& run, const FoundProgram& found, CaptureSpec spec, Terminal& terminal);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_LAUNCH_CAPTURED_RUN_H_
