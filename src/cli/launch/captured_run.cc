#include "cli/launch/captured_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/process.h"
#include "base/text.h"
#include "cli/launch/exec_environment.h"
#include "cli/launch/exec_place.h"
#include "cli/launch/exec_summary.h"
#include "cli/launch/other_users.h"
#include "cli/launch/program_file.h"
#include "cli/launch/provide_adapter.h"
#include "cli/live/running_sessions.h"
#include "cli/text/failure_text.h"
#include "cli/text/member_text.h"
#include "cli/text/summary_text.h"
#include "plan/capture_plan.h"
#include "read/repair_dump.h"
#include "registry/registry.h"

namespace tensortap::cli {
namespace {

Json make_request(const CapturedRun& run, const CaptureSpec& spec, const InstalledFiles& installed) {
  return {{"config", to_json_text(spec_to_json(spec))},
          {"config_name", run.config_name},
          {"out", spec.out},
          {"program", join(run.program, " ")},
          {"adapters", adapter_folders(installed)},
          {"python_package", installed.python_package},
          {"compile", run.compile},
          {"names", run.names},
          {"workers", run.workers},
          {"shared_tree", find_layout(spec.layout)->shares_folder},
          {"content_cache", !run.no_cache}};
}

AdapterPolicy adapter_policy(const CapturedRun& run) {
  if (run.no_torch) return AdapterPolicy::kNone;
  return run.no_build ? AdapterPolicy::kRefuse : AdapterPolicy::kBuild;
}

// For a program that can become another user: what keeps such processes from being captured.
std::vector<std::string> obstacles_of(const CapturedRun& run, const InstalledFiles& installed, const std::string& out, Access access) {
  if (run.own_user_only || !can_become_another_user()) return {};
  return obstacles_of_other_users(installed, out, access == Access::kShared);
}

// `spec` is what was asked for: an answer to a question about failures may be that there were none.
void say_nothing_captured(const Terminal& terminal, const CapturedRun& run, const CaptureSpec& spec, const Json& own_dumps) {
  const std::string& program = run.program.front();
  if (!own_dumps.empty()) {
    terminal.note(fmt::format("nothing was captured for `tensortap exec`: {} asks for dumps by its own calls", quote(printable(program))));
    return;
  }
  if (spec.trigger == Trigger::kException && run.preload.empty()) {
    terminal.note(
        fmt::format("nothing was captured: no op of {} failed in what the config watches, or none could be seen, as it uses neither torch, "
                    "ONNX Runtime nor ggml, no adapter fits its torch (said above), or it cleared LD_PRELOAD (env -i, sudo, a container)",
                    quote(printable(program))));
    return;
  }
  if (!run.preload.empty()) {
    terminal.warn(fmt::format(
        "nothing was captured: no process of {} ran an operation of ATB that could be seen. Likely reasons: it uses another library than "
        "the one in ATB_HOME_PATH, or none; it ended before; it cleared LD_PRELOAD (env -i, sudo, a container)",
        quote(printable(program))));
    return;
  }
  terminal.warn(fmt::format(
      "nothing was captured: no process of {} ran an operator of torch, or a model with ONNX Runtime or ggml, that could be seen. Likely "
      "reasons: it uses none of them; it ended before; no adapter fits its torch (said above); it cleared LD_PRELOAD (env -i, sudo, a "
      "container); its torch, its ONNX Runtime or its ggml is linked statically",
      quote(printable(program))));
}

ExitCode verdict(const CapturedRun& run, const Json& summary) {
  if (!run.strict) return ExitCode::kFine;
  const Json* ops = member(summary, "ops");
  const Json* gaps = ops == nullptr ? nullptr : member(*ops, "not_captured");
  const Json* lost = member(summary, "lost");
  const Json* unmatched = member(summary, "unmatched");
  const bool seen = count_in(summary, "not_looked_at") == 0;
  const bool complete = seen && summary.value("complete", false) && (gaps == nullptr || gaps->empty()) && (lost == nullptr || *lost == 0) &&
                        (unmatched == nullptr || unmatched->empty());
  return complete ? ExitCode::kFine : ExitCode::kFound;
}

// Adds the signal that killed a program, and how to learn the op that it died in.
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
Status tell(const CapturedRun& run, const Json& summary, Terminal& terminal) {
  if (terminal.json) terminal.json_line(summary);
  return run.summary.empty() ? Status() : write_file_atomically(run.summary, to_json_text(summary) + "\n", Access::kShared);
}

// The folders of dumps that the program asked for itself, outside of `out`.
Json own_dumps(const std::set<std::string>& told, const std::string& out) {
  Json own = Json::array();
  for (const std::string& dump : told) {
    if (dump != out && !dump.starts_with(out + "/") && path_exists(dump)) own.push_back(dump);
  }
  return own;
}

// The summary for people on stderr, and for programs.
Status report(const CapturedRun& run, const CaptureSpec& spec, const ExecPlace& place, const Json& summary, Terminal& terminal) {
  if (!place.still_there() && summary.at("dump").is_null()) {
    terminal.error(
        fmt::format("output folder {} was removed or renamed while the program ran; the capture is lost", quote(printable(place.path()))));
  } else if (summary.at("dump").is_null()) {
    say_nothing_captured(terminal, run, spec, summary.at("own_dumps"));
  } else {
    terminal.note(trim(summary_text(summary, terminal.error_palette())));
  }
  const bool has_dump = !summary.at("dump").is_null();
  if (run.names != "own" && has_dump && !member_text(summary, "source").starts_with("ggml"))
    terminal.note("--names has no effect here: it is for programs over ggml, and no model of these was captured first");
  for (const Json& dump : summary.at("own_dumps")) {
    terminal.note(fmt::format("the program wrote a dump by its own calls: {}", printable(dump.get<std::string>())));
  }
  return tell(run, summary, terminal);
}

// A config of another system may ask for nothing, which is no mistake there: the program runs as it would without us.
Result<ExitCode> run_without_capture(const CapturedRun& run, const std::string& path, Terminal& terminal) {
  TENSORTAP_ASSIGN_OR_RETURN(const ProgramEnd end, run_program(path, run.program, run.variables));
  const Json summary = {{"dump", nullptr}, {"notes", {kNothingAsked}}, {"program", join(run.program, " ")}, {"exit_code", end.exit_code}};
  terminal.note(kNothingAsked);
  if (const Status status = tell(run, summary, terminal); !status.ok()) terminal.error(status.message());
  return static_cast<ExitCode>(end.exit_code);
}

}  // namespace

Result<FoundProgram> find_captured_program(const std::string& word) {
  FoundProgram found;
  TENSORTAP_ASSIGN_OR_RETURN(found.path, find_program(word));
  TENSORTAP_ASSIGN_OR_RETURN(found.interpreter, interpreter_of(found.path));
  if (const Status status = check_preloadable(found.interpreter); !status.ok()) return invalid_argument(status.message());
  TENSORTAP_ASSIGN_OR_RETURN(found.installed, find_installed_files());
  return found;
}

Status check_for_programs(const CaptureSpec& spec) {
  return CapturePlan::compile(spec, {.layouts = {}, .models = {}, .modules = true}).status();
}

Result<ExitCode> run_captured(const CapturedRun& run, const FoundProgram& found, CaptureSpec spec, Terminal& terminal) {
  if (spec.steps.is_never() && spec.follow.path.empty() && !spec.idle) return run_without_capture(run, found.path, terminal);
  RunningExec exec{own_process(), "", join(run.program, " "), "", wall_clock_iso()};
  // An adapter may have to be compiled first, which takes its time.
  const ExecNotice notice = ExecNotice::leave(exec);
  TENSORTAP_RETURN_IF_ERROR(provide_adapter(adapter_policy(run), found.installed, found.interpreter, terminal));
  TENSORTAP_ASSIGN_OR_RETURN(const ExecPlace place, ExecPlace::take(spec));
  spec.out = place.path();
  const Access access = run.own_user_only ? Access::kPrivate : spec.access;
  const std::vector<std::string> obstacles = obstacles_of(run, found.installed, place.path(), access);
  TENSORTAP_ASSIGN_OR_RETURN(const ExecFolder folder, ExecFolder::create(make_request(run, spec, found.installed), access));
  InstalledFiles installed = found.installed;
  if (!run.preload.empty()) installed.preload_library = run.preload;
  TENSORTAP_ASSIGN_OR_RETURN(Variables variables, folder.variables(installed));
  variables.insert(variables.end(), run.variables.begin(), run.variables.end());
  std::string begin = wall_clock_name();
  std::erase(begin, '-');
  exec.name = folder.name();
  exec.dump = place.path();
  notice.tell(exec);
  bool other_users = false;
  const auto look = [&other_users] { return other_users = starts_another_user(); };
  const auto end = run_program(found.path, run.program, variables, obstacles.empty() ? std::function<bool()>() : look);
  if (!end.ok()) {
    place.give_back();
    return end.status();
  }
  if (other_users) {
    terminal.note(printable(concat("processes that ran as another user were not captured: ", join(obstacles, "; "))));
  }
  Json summary = {{"dump", nullptr}};
  if (place.still_ours()) {
    tell_crashes(settle_crashes(place.path(), false), terminal);
    const auto dumps = process_dumps(place.path(), place.shared(), begin, folder.name());
    summary = summarise_dumps(terminal, dumps, place.path(), folder.reports());
  }
  summary["own_dumps"] = own_dumps(folder.dumps(), place.path());
  summary["program"] = join(run.program, " ");
  summary["exit_code"] = end->exit_code;
  if (end->signal != 0) tell_signal(end->signal, summary);
  Status followed;
  if (run.afterwards && end->exit_code == 0 && !summary["dump"].is_null()) followed = run.afterwards(summary);
  if (const Status status = report(run, spec, place, summary, terminal); !status.ok()) terminal.error(status.message());
  if (summary["dump"].is_null()) place.give_back();
  TENSORTAP_RETURN_IF_ERROR(followed);
  return end->exit_code != 0 ? static_cast<ExitCode>(end->exit_code) : verdict(run, summary);
}

}  // namespace tensortap::cli
