// `tensortap ps`: the captures that run.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/command.h"
#include "cli/running_sessions.h"
#include "cli/table.h"

namespace tensortap::cli {
namespace {

// Of a program under `exec` of which no process has run an operator yet.
std::vector<RunningExec> waiting_execs(const RunningCaptures& found) {
  std::vector<RunningExec> waiting;
  std::ranges::copy_if(found.execs, std::back_inserter(waiting), [&](const RunningExec& exec) {
    return std::ranges::find(found.sessions, exec.name, &RunningSession::exec) == found.sessions.end();
  });
  return waiting;
}

Json waiting_json(const RunningExec& exec) {
  return {{"pid", exec.process.number},
          {"program", exec.program},
          {"source", nullptr},
          {"model", nullptr},
          {"dump", exec.dump},
          {"started", exec.started},
          {"state", "waiting"},
          {"steps", {{"seen", 0}, {"captured", 0}}},
          {"records", 0}};
}

void print_table(const RunningCaptures& found, const std::vector<RunningExec>& waiting, Terminal& terminal) {
  TablePrinter table(terminal, {{.title = "pid", .right = true},
                                {.title = "program", .may_shrink = true, .least = 16},
                                {.title = "source"},
                                {.title = "since"},
                                {.title = "steps", .right = true},
                                {.title = "captured", .right = true},
                                {.title = "records", .right = true},
                                {.title = "state"},
                                {.title = "dump", .may_shrink = true, .least = 16, .keeps_end = true}});
  for (const RunningSession& session : found.sessions) {
    table.add({fmt::format("{}", session.process.number), printable(session.program), printable(session.source), printable(session.started),
               fmt::format("{}", session.steps_seen), fmt::format("{}", session.steps_captured), fmt::format("{}", session.records),
               session.on ? "on" : "off", printable(session.dump)});
  }
  for (const RunningExec& exec : waiting) {
    table.add({fmt::format("{}", exec.process.number), printable(exec.program), "-", printable(exec.started), "0", "0", "0", "waiting",
               printable(exec.dump)});
  }
  table.finish();
}

Result<ExitCode> list_captures(Terminal& terminal) {
  const RunningCaptures found = running_captures();
  const std::vector<RunningExec> waiting = waiting_execs(found);
  if (terminal.json) {
    for (const RunningSession& session : found.sessions) terminal.json_line(session_json(session));
    for (const RunningExec& exec : waiting) terminal.json_line(waiting_json(exec));
    return ExitCode::kFine;
  }
  if (found.sessions.empty() && waiting.empty()) {
    terminal.note("no capture of yours runs");
  } else {
    print_table(found, waiting, terminal);
  }
  return ExitCode::kFine;
}

}  // namespace

Action declare_ps(CLI::App& /*app*/) { return list_captures; }

}  // namespace tensortap::cli
