// `tensortap ps`: the captures that run.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "cli/command/command.h"
#include "cli/live/running_sessions.h"
#include "cli/text/table.h"

namespace tensortap::cli {
namespace {

// The programs under `exec` of which no process has run an operator yet.
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
          {"role", nullptr},
          {"source", nullptr},
          {"model", nullptr},
          {"dump", exec.dump},
          {"started", exec.started},
          {"state", "waiting"},
          {"steps", {{"seen", 0}, {"captured", 0}}},
          {"records", 0}};
}

// "2026-11-27T09:48:36Z"; on a terminal, where a line has little room, the time of today or the day.
std::string since_text(const std::string& started, const Terminal& terminal) {
  constexpr size_t kDate = 10;
  if (terminal.width() == 0 || started.size() < kDate + 6) return printable(started);
  const bool is_today = wall_clock_iso().starts_with(started.substr(0, kDate));
  return printable(is_today ? started.substr(kDate + 1, 5) : started.substr(5, 5));
}

void print_table(const RunningCaptures& found, const std::vector<RunningExec>& waiting, Terminal& terminal) {
  // Most programs have one process, or processes without a name.
  const bool has_roles = std::ranges::any_of(found.sessions, [](const RunningSession& session) { return !session.role.empty(); });
  std::vector<Column> columns = {{.title = "pid", .right = true},
                                 {.title = "program", .may_shrink = true, .least = 10},
                                 {.title = "source", .may_shrink = true, .least = 6},
                                 {.title = "since"},
                                 {.title = "steps", .right = true},
                                 {.title = "records", .right = true},
                                 {.title = "state"},
                                 {.title = "dump", .may_shrink = true, .least = 10, .keeps_end = true}};
  if (has_roles) columns.insert(columns.begin() + 1, {.title = "process", .may_shrink = true, .least = 10});
  TablePrinter table(terminal, std::move(columns));
  const auto add = [&](std::vector<std::string> cells, const std::string& role) {
    if (has_roles) cells.insert(cells.begin() + 1, role.empty() ? "-" : printable(role));
    table.add(std::move(cells));
  };
  for (const RunningSession& session : found.sessions) {
    add({fmt::format("{}", session.process.number), printable(session.program), printable(session.source),
         since_text(session.started, terminal), fmt::format("{} of {}", session.steps_captured, session.steps_seen),
         fmt::format("{}", session.records), session.on ? "on" : "off", printable(session.dump)},
        session.role);
  }
  for (const RunningExec& exec : waiting) {
    add({fmt::format("{}", exec.process.number), printable(exec.program), "-", since_text(exec.started, terminal), "0 of 0", "0", "waiting",
         printable(exec.dump)},
        "");
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
