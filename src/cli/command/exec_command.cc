// `tensortap exec`: an unmodified program under capture.

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/command/capture_options.h"
#include "cli/command/command.h"
#include "cli/launch/captured_run.h"
#include "cli/launch/exec_noise.h"
#include "cli/text/arguments.h"
#include "registry/registry.h"

namespace tensortap::cli {
namespace {

constexpr const char* kNodesNote =
    "--compile inductor-nodes keeps every node's value in memory: less is fused, the program is slower, and rounding may differ from the "
    "program without capture";

struct ExecOptions {
  CaptureArguments capture;
  bool idle = false;
  int64_t noise = 0;  // further runs whose numbers are moved
  CapturedRun run;
};

// A capture that waits must be able to change.
Status make_idle(CaptureSpec& spec) {
  if (!find_layout(spec.layout)->takes_plan_changes) {
    return invalid_argument(concat("--idle: the layout ", quote(spec.layout), " takes no other plan while it is written; use tap or msit"));
  }
  if (spec.trigger == Trigger::kOverflow || spec.trigger == Trigger::kWatch) {
    return invalid_argument("--idle: a capture with the trigger \"overflow\" or \"watch\" takes no other plan while the program runs");
  }
  spec.idle = true;
  if (spec.steps.is_never()) spec.steps = StepSet::all();
  return {};
}

// What is captured and where, checked as far as it can be before a program runs.
Result<CaptureSpec> checked_spec(const ExecOptions& options, const Terminal& terminal) {
  TENSORTAP_ASSIGN_OR_RETURN(CaptureSpec spec, make_spec(options.capture));
  for (const std::string& note : spec.notes) terminal.note(printable(note));
  if (options.run.compile == "inductor-nodes") terminal.note(kNodesNote);
  if (options.idle) TENSORTAP_RETURN_IF_ERROR(make_idle(spec));
  if (options.noise > 0) TENSORTAP_RETURN_IF_ERROR(check_noise_spec(spec));
  TENSORTAP_RETURN_IF_ERROR(check_for_programs(spec));
  return spec;
}

Result<ExitCode> exec(const ExecOptions& options, Terminal& terminal) {
  CapturedRun run = options.run;
  if (run.program.empty()) return invalid_argument("name the program after `--`: tensortap exec [options] -- PROGRAM ARG...");
  TENSORTAP_ASSIGN_OR_RETURN(const FoundProgram found, find_captured_program(run.program.front()));
  TENSORTAP_ASSIGN_OR_RETURN(CaptureSpec spec, checked_spec(options, terminal));
  run.config_name = config_name(options.capture);
  run.strict = options.capture.options.strict;
  if (options.noise > 0) {
    run.afterwards = [&, asked = spec](Json& summary) {
      return run_program_noise(options.run, found, asked, options.noise, summary, terminal);
    };
  }
  return run_captured(run, found, std::move(spec), terminal);
}

}  // namespace

Action declare_exec(CLI::App& app) {
  const auto options = std::make_shared<ExecOptions>();
  options->capture.default_slots = "in,out";
  add_words(app, "program", options->run.program, "-- PROGRAM ARG...", "The program and its arguments, behind `--`");
  add_capture_options(app, options->capture);
  add_step_at_option(app, options->capture.options);
  const char* group = "The program";
  add_choice(app, "--compile", options->run.compile, {"eager", "aot", "inductor", "inductor-kernels", "inductor-nodes"},
             "How torch.compile is treated: run eagerly, the graph before fusion, as it is (inductor), the same with its kernels captured, "
             "or with every node reported, which costs fusion")
      ->group(group);
  add_choice(app, "--names", options->run.names, {"own", "transformers"},
             "What modules and weights of llama.cpp are called: as GGUF files do (own), or as the model's original in transformers does")
      ->group(group);
  auto* idle =
      app.add_flag("--idle", options->idle, "Capture nothing until `tensortap set` selects something while the program runs")->group(group);
  app.add_flag("--workers", options->run.workers, "Also capture the worker processes of a DataLoader")->group(group);
  app.add_flag("--no-cache", options->run.no_cache, "Measure unchanged memory again: for programs that write to it without torch")
      ->group(group);
  app.add_flag("--no-build", options->run.no_build,
               "If an adapter is missing, do not compile it: print the command for that, and start nothing")
      ->group(group);
  app.add_flag("--no-torch", options->run.no_torch,
               "The program does not use torch: start it without an adapter for the torch of its Python")
      ->group(group);
  app.add_option("--noise", options->noise, "Then run it this many more times, its numbers moved by their last bit, for compare")
      ->type_name("N")
      ->check(in_range(1, kMostNoise))
      ->excludes(idle)
      ->group(group);
  app.add_option("--summary", options->run.summary, "Write the summary as JSON into this file")
      ->type_name(kFile)
      ->group("Where it goes, and limits");
  return [options](Terminal& terminal) { return exec(*options, terminal); };
}

}  // namespace tensortap::cli
