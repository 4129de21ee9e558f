// `tensortap exec`: an unmodified program under capture.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/capture_options.h"
#include "cli/child_process.h"
#include "cli/command.h"
#include "cli/exec_environment.h"
#include "cli/exec_place.h"
#include "cli/exec_summary.h"
#include "cli/failure_text.h"
#include "cli/installed_files.h"
#include "cli/json_members.h"
#include "cli/other_users.h"
#include "cli/program_file.h"
#include "cli/provide_adapter.h"
#include "cli/summary_text.h"
#include "plan/capture_plan.h"
#include "read/repair_dump.h"
#include "registry/registry.h"

namespace tensortap::cli {
namespace {

constexpr const char* kNodesNote =
    "--compile inductor-nodes keeps every node's value in memory: less is fused, the program is slower, and rounding may differ from the "
    "program without capture";

struct ExecOptions {
  CaptureArguments capture;
  std::vector<std::string> program;
  std::string compile = "inductor";
  bool workers = false;
  bool no_cache = false;
  bool no_build = false;
  bool no_torch = false;
  std::string summary;
};

Json make_request(const ExecOptions& options, const CaptureSpec& spec, const InstalledFiles& installed) {
  return {{"config", to_json_text(spec_to_json(spec))},
          {"config_name", config_name(options.capture)},
          {"out", spec.out},
          {"program", join(options.program, " ")},
          {"adapters", adapter_folders(installed)},
          {"python_package", installed.python_package},
          {"compile", options.compile},
          {"workers", options.workers},
          {"shared_tree", find_layout(spec.layout)->shares_folder},
          {"content_cache", !options.no_cache}};
}

// What is captured and where, checked as far as it can be before a program runs.
Result<CaptureSpec> checked_spec(const ExecOptions& options, const Terminal& terminal) {
  TENSORTAP_ASSIGN_OR_RETURN(CaptureSpec spec, make_spec(options.capture));
  for (const std::string& note : spec.notes) terminal.note(printable(note));
  if (options.compile == "inductor-nodes") terminal.note(kNodesNote);
  TENSORTAP_ASSIGN_OR_RETURN(const auto plan, CapturePlan::compile(spec, {.layouts = {}, .models = {}, .modules = true}));
  return spec;
}

AdapterPolicy adapter_policy(const ExecOptions& options) {
  if (options.no_torch) return AdapterPolicy::kNone;
  return options.no_build ? AdapterPolicy::kRefuse : AdapterPolicy::kBuild;
}

// For a program that can become another user. Whether it does is not known before.
void note_other_users(const InstalledFiles& installed, const std::string& out, bool admitted, const Terminal& terminal) {
  if (!can_become_another_user()) return;
  const std::vector<std::string> obstacles = obstacles_of_other_users(installed, out, admitted);
  if (obstacles.empty()) return;
  terminal.note(printable(concat("processes that the program starts as another user are not captured: ", join(obstacles, "; "))));
}

void say_nothing_captured(const Terminal& terminal, const std::string& program) {
  terminal.warn(fmt::format(
      "nothing was captured: no process of {} ran an operator of torch, or a model with ONNX Runtime, that could be seen. Likely reasons: "
      "it uses neither; it ended before; no adapter fits its torch (said above); it cleared LD_PRELOAD (env -i, sudo, a container); "
      "its torch or its ONNX Runtime is linked statically",
      quote(printable(program))));
}

ExitCode verdict(const ExecOptions& options, const Json& summary) {
  if (!options.capture.options.strict) return ExitCode::kFine;
  const Json* ops = member(summary, "ops");
  const Json* gaps = ops == nullptr ? nullptr : member(*ops, "not_captured");
  const Json* lost = member(summary, "lost");
  const bool complete = summary.value("complete", false) && (gaps == nullptr || gaps->empty()) && (lost == nullptr || *lost == 0);
  return complete ? ExitCode::kFine : ExitCode::kFound;
}

// Of a program that a signal killed: which one, and how to learn the op that it died in.
void tell_signal(int signal, Json& summary) {
  const char* name = sigabbrev_np(signal);
  summary["signal"] = name == nullptr ? fmt::format("signal {}", signal) : fmt::format("SIG{}", name);
  constexpr std::array kCrashes = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
  const bool crashed = std::ranges::find(kCrashes, signal) != kCrashes.end();
  if (!crashed || summary["dump"].is_null() || !summary.value("failed_op", Json()).is_null()) return;
  if (!summary["notes"].is_array()) summary["notes"] = Json::array();
  summary["notes"].push_back(R"(a config with "trigger": "exception" shows in which op a program crashed, and what that op read)");
}

// The summary for programs: behind the program's own output, or in a file.
Status tell(const ExecOptions& options, const Json& summary, Terminal& terminal) {
  if (terminal.json) terminal.json_line(summary);
  return options.summary.empty() ? Status() : write_file_atomically(options.summary, to_json_text(summary) + "\n", Access::kShared);
}

// The summary for people on stderr, and for programs.
Status report(const ExecOptions& options, const ExecPlace& place, const Json& summary, Terminal& terminal) {
  if (!is_directory(place.path())) {
    terminal.error(
        fmt::format("output folder {} was removed or renamed while the program ran; the capture is lost", quote(printable(place.path()))));
  } else if (summary.at("dump").is_null()) {
    say_nothing_captured(terminal, options.program.front());
  } else {
    terminal.note(trim(summary_text(summary, terminal.error_palette())));
  }
  return tell(options, summary, terminal);
}

// A config of another system may ask for nothing, which is no mistake there: the program runs as it would without us.
Result<ExitCode> run_without_capture(const ExecOptions& options, const std::string& path, Terminal& terminal) {
  TENSORTAP_ASSIGN_OR_RETURN(const ProgramEnd end, run_program(path, options.program, {}));
  const Json summary = {
      {"dump", nullptr}, {"notes", {kNothingAsked}}, {"program", join(options.program, " ")}, {"exit_code", end.exit_code}};
  terminal.note(kNothingAsked);
  if (const Status status = tell(options, summary, terminal); !status.ok()) terminal.error(status.message());
  return static_cast<ExitCode>(end.exit_code);
}

Result<ExitCode> exec(const ExecOptions& options, Terminal& terminal) {
  if (options.program.empty()) return invalid_argument("name the program after `--`: tensortap exec [options] -- PROGRAM ARG...");
  TENSORTAP_ASSIGN_OR_RETURN(const std::string path, find_program(options.program.front()));
  TENSORTAP_ASSIGN_OR_RETURN(const std::string interpreter, interpreter_of(path));
  if (const Status status = check_preloadable(interpreter); !status.ok()) return invalid_argument(status.message());
  TENSORTAP_ASSIGN_OR_RETURN(const InstalledFiles installed, find_installed_files());
  TENSORTAP_ASSIGN_OR_RETURN(CaptureSpec spec, checked_spec(options, terminal));
  if (spec.steps.is_never()) return run_without_capture(options, path, terminal);
  TENSORTAP_RETURN_IF_ERROR(provide_adapter(adapter_policy(options), installed, interpreter, terminal));
  TENSORTAP_ASSIGN_OR_RETURN(const ExecPlace place, ExecPlace::take(spec));
  spec.out = place.path();
  note_other_users(installed, place.path(), spec.access == Access::kShared, terminal);
  TENSORTAP_ASSIGN_OR_RETURN(const ExecFolder folder, ExecFolder::create(make_request(options, spec, installed), spec.access));
  TENSORTAP_ASSIGN_OR_RETURN(const auto variables, folder.variables(installed));
  std::string begin = wall_clock_name();
  std::erase(begin, '-');
  const auto end = run_program(path, options.program, variables);
  if (!end.ok()) {
    place.give_back();
    return end.status();
  }
  tell_crashes(settle_crashes(place.path(), false), terminal);
  Json summary = summarise_dumps(terminal, process_dumps(place.path(), place.shared(), begin, folder.name()), place.path());
  summary["program"] = join(options.program, " ");
  summary["exit_code"] = end->exit_code;
  if (end->signal != 0) tell_signal(end->signal, summary);
  if (const Status status = report(options, place, summary, terminal); !status.ok()) terminal.error(status.message());
  if (summary["dump"].is_null()) place.give_back();
  return end->exit_code != 0 ? static_cast<ExitCode>(end->exit_code) : verdict(options, summary);
}

}  // namespace

Action declare_exec(CLI::App& app) {
  const auto options = std::make_shared<ExecOptions>();
  options->capture.default_slots = "in,out";
  add_words(app, "program", options->program, "-- PROGRAM ARG...", "The program and its arguments, behind `--`");
  add_capture_options(app, options->capture);
  const char* group = "The program";
  add_choice(app, "--compile", options->compile, {"eager", "aot", "inductor", "inductor-nodes"},
             "How torch.compile is treated: run eagerly, the graph before fusion, as it is (inductor), or with every node reported, which "
             "costs fusion")
      ->group(group);
  app.add_flag("--workers", options->workers, "Also capture the worker processes of a DataLoader")->group(group);
  app.add_flag("--no-cache", options->no_cache, "Measure memory again that no operator wrote, for programs that write it past torch")
      ->group(group);
  app.add_flag("--no-build", options->no_build, "Do not compile an adapter that is missing: say how, and start nothing")->group(group);
  app.add_flag("--no-torch", options->no_torch, "The program does not use torch: start it without an adapter for the torch of its Python")
      ->group(group);
  app.add_option("--summary", options->summary, "Write the summary as JSON into this file")
      ->type_name(kFile)
      ->group("Where it goes, and limits");
  return [options](Terminal& terminal) { return exec(*options, terminal); };
}

}  // namespace tensortap::cli
