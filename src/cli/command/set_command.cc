// `tensortap set`: changes the capture of a running program.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/json_members.h"
#include "base/text.h"
#include "cli/command/capture_options.h"
#include "cli/command/command.h"
#include "cli/live/capture_talk.h"
#include "cli/text/arguments.h"
#include "cli/text/member_text.h"

namespace tensortap::cli {
namespace {

struct SetOptions {
  std::string target;
  CaptureOptions capture;
  std::string steps;
  bool on = false;
  bool off = false;
  bool flush = false;
  bool snapshot = false;
  double wait = 5;
  std::vector<std::pair<std::string, std::string>> fixed;  // options that a running session does not take, and what was given
};

// What cannot change, and why.
struct FixedOption {
  const char* name;
  const char* reason;
};
constexpr FixedOption kFixed[] = {
    {"--layout", "the dump is being written in one layout"},
    {"--out", "the dump is being written where it is"},
    {"--profile", "the dump is being written as one release has it"},
    {"--dialect", "it is the language of the config that the program was started with"},
    {"--config", "a config belongs to a start; give what is to change as options"},
    {"--levels", "the program fixes its levels when it starts"},
    {"--trigger", "the program sets up its trigger when it starts"},
    {"--source", "it is what the program uses"},
    {"--mode", "the dump's folders have their rights"},
};

// The keys of a native config whose values the options say.
std::vector<std::string> keys_given(const CaptureOptions& options) {
  std::vector<std::string> keys;
  if (!options.ops.empty() || !options.types.empty()) keys.emplace_back("include");
  if (options.slots) keys.emplace_back("slots");
  if (options.where) keys.emplace_back("where");
  if (options.stats || options.tensors || options.full || options.describe) keys.emplace_back("payload");
  if (!options.statistics.empty()) keys.emplace_back("stats");
  if (options.budget) keys.emplace_back("budget");
  return keys;
}

Result<Json> make_request(const SetOptions& options) {
  for (const FixedOption& fixed : kFixed) {
    for (const auto& [name, value] : options.fixed) {
      if (name == fixed.name && !value.empty()) {
        return invalid_argument(fmt::format("{}: cannot change while the program runs: {}", fixed.name, fixed.reason));
      }
    }
  }
  Json request = Json::object();
  CaptureOptions capture = options.capture;
  if (capture.where && capture.where->empty()) {
    capture.where.reset();
    request["config"]["where"] = "";
  }
  TENSORTAP_ASSIGN_OR_RETURN(const CaptureSpec spec, spec_from_options(capture));
  const Json all = spec_to_json(spec);
  for (const std::string& key : keys_given(capture)) request["config"][key] = all.at(key);
  if (!options.steps.empty()) request["steps"] = options.steps;
  if (options.on || options.off) request["on"] = options.on;
  if (options.flush) request["flush"] = true;
  if (options.snapshot) request["snapshot"] = true;
  if (request.empty()) return invalid_argument("nothing to change: give --ops, --steps, --full, --on or --off; `--help` lists all");
  return request;
}

// "python train.py (process 7, model_b)"
std::string name_of(const RunningSession& session) {
  std::string name = fmt::format("process {} ({})", session.process.number, printable(session.program));
  if (!session.model.empty() && session.source.starts_with("onnxruntime")) name += fmt::format(", model {}", printable(session.model));
  return name;
}

std::string progress_text(const Json& reply) {
  const Json* steps = member(reply, "steps");
  const std::string seen = steps == nullptr ? "" : member_text(*steps, "seen");
  const std::string captured = steps == nullptr ? "" : member_text(*steps, "captured");
  return fmt::format("so far {} of {} steps captured, {} records", captured, seen, member_text(reply, "records"));
}

// One line for a session. Says what goes wrong on stderr.
ExitCode tell(const RunningSession& session, const ControlAnswer& answer, const SetOptions& options, Terminal& terminal) {
  const std::string name = name_of(session);
  switch (answer.kind) {
    case ControlAnswer::Kind::kAccepted:
      if (!terminal.json) {
        const std::string from = answer.from_step ? fmt::format("from step {} on", *answer.from_step) : "done";
        terminal.line(fmt::format("{}: {}; {}", name, from, progress_text(answer.reply)));
      }
      for (const std::string& text : strings_in(answer.reply, "unmatched"))
        terminal.warn(fmt::format("{}: so far {}", name, printable(text)));
      return ExitCode::kFine;
    case ControlAnswer::Kind::kRefused:
      terminal.error(fmt::format("{}: refused: {}", name, answer.reason));
      return ExitCode::kUsage;
    case ControlAnswer::Kind::kEnded:
      terminal.error(fmt::format("{}: ended before it took the change", name));
      return ExitCode::kUsage;
    case ControlAnswer::Kind::kNone:
      break;
  }
  terminal.warn(fmt::format("{}: no step began within {} s; the change is taken at the next step", name, options.wait));
  return ExitCode::kFound;
}

const char* word_of(ControlAnswer::Kind kind) {
  switch (kind) {
    case ControlAnswer::Kind::kAccepted:
      return "accepted";
    case ControlAnswer::Kind::kRefused:
      return "refused";
    case ControlAnswer::Kind::kEnded:
      return "ended";
    default:
      return "waiting";
  }
}

Result<ExitCode> set(const SetOptions& options, Terminal& terminal) {
  TENSORTAP_ASSIGN_OR_RETURN(const Json request, make_request(options));
  const int64_t until = monotonic_ns() + static_cast<int64_t>(options.wait * 1e9);
  std::string pending;
  TENSORTAP_ASSIGN_OR_RETURN(const std::vector<RunningSession> sessions, find_sessions(options.target, until, pending));
  if (sessions.empty()) {
    terminal.warn(
        fmt::format("{} has run no operator yet, so there is nothing to change; try again when `tensortap ps` shows its source", pending));
    if (terminal.json) terminal.json_line({{"sessions", Json::array()}});
    return ExitCode::kFound;
  }
  TENSORTAP_ASSIGN_OR_RETURN(const std::vector<ControlAnswer> answers, ask_sessions(sessions, request, until));
  ExitCode worst = ExitCode::kFine;
  Json told = Json::array();
  for (size_t i = 0; i < sessions.size(); ++i) {
    worst = std::max(worst, tell(sessions[i], answers[i], options, terminal));
    const Json step = answers[i].from_step ? Json(*answers[i].from_step) : Json(nullptr);
    told.push_back({{"pid", sessions[i].process.number},
                    {"dump", sessions[i].dump},
                    {"answer", word_of(answers[i].kind)},
                    {"reason", answers[i].reason.empty() ? Json(nullptr) : Json(answers[i].reason)},
                    {"from_step", step}});
  }
  if (terminal.json) terminal.json_line({{"sessions", std::move(told)}});
  return worst;
}

void add_selection(CLI::App& app, SetOptions& options) {
  add_payload_options(app, options.capture);
  const char* group = "Which tensors";
  add_op_options(app, options.capture);
  app.add_option("--slots", options.capture.slots, "in, out or in,out")->type_name("SLOTS")->group(group);
  app.add_option("--where", options.capture.where, "Keep a record only if this holds; an empty text for every record")
      ->type_name("EXPR")
      ->group(group);
  app.add_option("--steps", options.steps,
                 "From now on these: now..+3 (the step that begins and three more), now.., 120-140, all; steps that were captured stay")
      ->type_name("STEPS")
      ->group(group);
  app.add_option("--budget", options.capture.budget, "Change the bound of a program that was started with a budget")
      ->type_name("PERCENT")
      ->group(group);
}

}  // namespace

Action declare_set(CLI::App& app) {
  const auto options = std::make_shared<SetOptions>();
  app.add_option("target", options->target, "A process (its number, or that of the `tensortap exec` that started it), or a dump")
      ->type_name("PID|DUMP")
      ->required();
  add_selection(app, *options);
  const char* group = "The capture";
  CLI::Option* on = app.add_flag("--on", options->on, "Capture the selected ops again")->group(group);
  CLI::Option* off = app.add_flag("--off", options->off, "Capture nothing until --on, or until a new selection")->group(group);
  on->excludes(off);
  app.add_flag("--flush", options->flush, "Write waiting records, so that readers see them")->group(group);
  app.add_flag("--snapshot", options->snapshot, "Write the last ops that are kept in memory (limits.ring_ops of the config)")->group(group);
  app.add_option("--wait", options->wait, "Seconds to wait for an answer (5)")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e6).description(""))
      ->group(group);
  options->fixed.reserve(std::size(kFixed));
  for (const FixedOption& fixed : kFixed) {
    auto& [name, value] = options->fixed.emplace_back(fixed.name, "");
    app.add_option(name, value)->group("");
  }
  return [options](Terminal& terminal) { return set(*options, terminal); };
}

}  // namespace tensortap::cli
