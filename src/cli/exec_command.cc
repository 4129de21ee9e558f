// `tensortap exec`: an unmodified program under capture.

#include <fmt/format.h>

#include <unistd.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/adapter_build.h"
#include "cli/arguments.h"
#include "cli/capture_options.h"
#include "cli/child_process.h"
#include "cli/command.h"
#include "cli/exec_environment.h"
#include "cli/exec_summary.h"
#include "cli/failure_text.h"
#include "cli/installed_files.h"
#include "cli/json_members.h"
#include "cli/origin_text.h"
#include "cli/program_file.h"
#include "cli/run_summary.h"
#include "plan/capture_plan.h"
#include "read/repair.h"
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
  std::string summary;
};

// The folder of the dump, held from before the program starts.
class Place {
 public:
  // Makes the folder. Errors: kInvalidArgument when it is a dump's that has no room for another and holds something; kIo.
  static Result<Place> take(const CaptureSpec& spec) {
    Place place;
    const auto layout = std::ranges::find(layouts(), spec.layout, &Layout::name);
    place.shared_ = layout != layouts().end() && layout->shares_folder;
    std::string path = spec.out.empty() ? join_path("tensortap_dump", wall_clock_name()) : spec.out;
    path = std::filesystem::absolute(path).lexically_normal().string();
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    place.path_ = path;
    for (int attempt = 2; spec.out.empty() && path_exists(place.path_); ++attempt) place.path_ = concat(path, "-", attempt);
    for (std::string part = place.path_; !path_exists(part); part = parent_path(part)) place.made_.push_back(part);
    TENSORTAP_RETURN_IF_ERROR(make_directories(place.path_).with_context("output folder"));
    TENSORTAP_ASSIGN_OR_RETURN(const auto names, list_directory(place.path_));
    if (!place.shared_ && !names.empty()) {
      return invalid_argument(fmt::format("output folder {} is not empty (it holds {}{}). Choose another with --out, or remove it",
                                          quote(place.path_), quote(names.front()), names.size() > 1 ? ", ..." : ""));
    }
    return place;
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool shared() const { return shared_; }
  // Removes what take() made and nobody used.
  void give_back() const {
    for (const std::string& part : made_) rmdir(part.c_str());
  }

 private:
  std::string path_;
  bool shared_ = false;
  std::vector<std::string> made_;  // innermost first
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
          {"content_cache", !options.no_cache}};
}

// Before a Python program starts that has a torch without an adapter: builds it, or says how.
Status provide_adapter(const ExecOptions& options, const InstalledFiles& installed, const std::string& interpreter, Terminal& terminal) {
  if (!is_python(interpreter)) return {};
  const auto torch = torch_of_python(interpreter);
  if (!torch.ok()) {
    if (torch.status().code() != StatusCode::kNotFound) terminal.warn(printable(torch.status().message()));
    return {};
  }
  if (!adapter_for(*torch, adapter_folders(installed)).empty()) return {};
  const std::string missing = fmt::format("there is no adapter for torch {} of {}", torch->release.text, interpreter);
  if (options.no_build) return invalid_argument(fmt::format("{}. Build it once: `{}`", missing, build_command(*torch)));
  terminal.note(missing);
  const auto built = build_adapter(installed, *torch, {}, terminal);
  if (!built.ok()) return built.status();
  if (built->problem.empty()) return {};
  return unsupported(fmt::format("the adapter for torch {} fails its self-test: {}", torch->release.text, built->problem));
}

// What is captured and where, checked as far as it can be before a program runs.
Result<CaptureSpec> checked_spec(const ExecOptions& options, const Terminal& terminal) {
  TENSORTAP_ASSIGN_OR_RETURN(CaptureSpec spec, make_spec(options.capture));
  for (const std::string& note : spec.notes) terminal.note(printable(note));
  if (options.compile == "inductor-nodes") terminal.note(kNodesNote);
  TENSORTAP_ASSIGN_OR_RETURN(const auto plan, CapturePlan::compile(spec));
  return spec;
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

// The summary for people on stderr, for programs behind the program's own output, or in a file.
Status report(const ExecOptions& options, const Json& summary, Terminal& terminal) {
  if (summary.at("dump").is_null()) {
    say_nothing_captured(terminal, options.program.front());
  } else {
    terminal.note(trim(summary_text(summary, terminal.error_palette()) + origin_text(summary, terminal.error_palette())));
  }
  if (terminal.json) terminal.json_line(summary);
  return options.summary.empty() ? Status() : write_file_atomically(options.summary, to_json_text(summary) + "\n");
}

Result<ExitCode> exec(const ExecOptions& options, Terminal& terminal) {
  if (options.program.empty()) return invalid_argument("name the program after `--`: tensortap exec [options] -- PROGRAM ARG...");
  TENSORTAP_ASSIGN_OR_RETURN(const std::string path, find_program(options.program.front()));
  TENSORTAP_ASSIGN_OR_RETURN(const std::string interpreter, interpreter_of(path));
  if (const Status status = check_preloadable(interpreter); !status.ok()) return invalid_argument(status.message());
  TENSORTAP_ASSIGN_OR_RETURN(const InstalledFiles installed, find_installed_files());
  TENSORTAP_ASSIGN_OR_RETURN(CaptureSpec spec, checked_spec(options, terminal));
  if (const Status status = provide_adapter(options, installed, interpreter, terminal); !status.ok())
    return invalid_argument(status.message());
  TENSORTAP_ASSIGN_OR_RETURN(const Place place, Place::take(spec));
  spec.out = place.path();
  TENSORTAP_ASSIGN_OR_RETURN(const ExecFolder folder, ExecFolder::create(make_request(options, spec, installed)));
  TENSORTAP_ASSIGN_OR_RETURN(const auto variables, folder.variables(installed));
  std::string begin = wall_clock_name();
  std::erase(begin, '-');
  const auto end = run_program(path, options.program, variables);
  if (!end.ok()) {
    place.give_back();
    return end.status();
  }
  tell_crashes(settle_crashes(place.path(), false), terminal);
  Json summary = summarise_dumps(terminal, process_dumps(place.path(), place.shared(), begin), place.path());
  if (summary["dump"].is_null()) place.give_back();
  summary["program"] = join(options.program, " ");
  summary["exit_code"] = end->exit_code;
  if (const Status status = report(options, summary, terminal); !status.ok()) terminal.error(status.message());
  return end->exit_code != 0 ? static_cast<ExitCode>(end->exit_code) : verdict(options, summary);
}

}  // namespace

Action declare_exec(CLI::App& app) {
  const auto options = std::make_shared<ExecOptions>();
  options->capture.default_slots = "in,out";
  app.add_option("program", options->program, "The program and its arguments, behind `--`")->type_name("-- PROGRAM ARG...");
  add_capture_options(app, options->capture);
  const char* group = "The program";
  add_choice(app, "--compile", options->compile, {"eager", "aot", "inductor", "inductor-nodes"},
             "What becomes of torch.compile: run eagerly, the graph before fusion, as it is (inductor), or with every node told, which "
             "costs fusion")
      ->group(group);
  app.add_flag("--workers", options->workers, "Capture the worker processes of a DataLoader, too")->group(group);
  app.add_flag("--no-cache", options->no_cache, "Measure memory again that no operator wrote, for programs that write it past torch")
      ->group(group);
  app.add_flag("--no-build", options->no_build, "Do not compile an adapter that is missing: say how, and start nothing")->group(group);
  app.add_option("--summary", options->summary, "Write the summary as JSON into this file")
      ->type_name(kFile)
      ->group("Where it goes, and limits");
  return [options](Terminal& terminal) { return exec(*options, terminal); };
}

}  // namespace tensortap::cli
