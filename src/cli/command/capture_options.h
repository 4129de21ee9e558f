// The options that select the tensors to capture, shared by `run`, `exec` and `explain`.

#ifndef TENSORTAP_CLI_COMMAND_CAPTURE_OPTIONS_H_
#define TENSORTAP_CLI_COMMAND_CAPTURE_OPTIONS_H_

#include <string>

#include "base/status.h"
#include "plan/capture_spec.h"
#include "plan/selection.h"

namespace CLI {
class App;
}

namespace tensortap::cli {

// What was typed.
struct CaptureArguments {
  std::string config;  // path of a file, "" = none
  std::string dialect;
  std::string profile;          // as which version of another system the config is read
  bool profile_strict = false;  // and refused what that one refuses
  // Slots without a config and without --slots; set before the options are added.
  std::string default_slots = "out";
  CaptureOptions options;
};

// What to capture and where it goes; with --config.
void add_capture_options(CLI::App& app, CaptureArguments& arguments);
// The same without --config.
void add_selection_options(CLI::App& app, CaptureArguments& arguments);

// Some of them, for commands that take no others: what to keep of a tensor, and which ops.
void add_payload_options(CLI::App& app, CaptureOptions& options);
void add_op_options(CLI::App& app, CaptureOptions& options);
// For commands whose programs have modules.
void add_step_at_option(CLI::App& app, CaptureOptions& options);

// The config file, if there is one, and what the options say on top of it. Without --config it is
// the file that MINDSPORE_DUMP_CONFIG names. Errors name the option or the variable, or file, line and column.
Result<CaptureSpec> make_spec(const CaptureArguments& arguments);

// What to call the configuration in messages.
std::string config_name(const CaptureArguments& arguments);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_COMMAND_CAPTURE_OPTIONS_H_
