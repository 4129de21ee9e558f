// `tensortap watch-diff`: who wrote into the watched tensors.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/json.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/dump_access.h"
#include "cli/member_text.h"
#include "find/watch_diff.h"

namespace tensortap::cli {
namespace {

void print_one(Terminal& terminal, const Json& one) {
  terminal.line(fmt::format("{} of step {}: written by {}, whole after {}", member_text(one, "record"), member_text(one, "step"),
                            member_text(one, "writer"), member_text(one, "last_equal")));
  for (const Json& other : one.at("others")) {
    terminal.line(fmt::format("  or by {}, which ran between the two", printable(other.get<std::string>())));
  }
  if (one.at("bytes").is_null()) return;
  terminal.line(fmt::format("  bytes {} to {}, {} elements; the first at {}: {} became {}", one.at("bytes").at(0).dump(),
                            one.at("bytes").at(1).dump(), member_text(one, "elements"), one.at("index").dump(), member_text(one, "before"),
                            member_text(one, "after")));
}

void print_report(Terminal& terminal, const Json& report) {
  const Json& overwritten = report.at("overwritten");
  const Palette& palette = terminal.out_palette();
  const std::string_view sure = report.at("reused_or_overwritten").empty() ? "was" : "is known to have been";
  terminal.line(overwritten.empty() ? palette.green(fmt::format("no watched tensor {} overwritten while it was needed", sure))
                                    : palette.red(fmt::format("overwritten tensors: {}", overwritten.size())));
  for (const Json& one : overwritten) print_one(terminal, one);
  if (!report.at("reused").empty()) {
    terminal.line(palette.bold("memory that was used again after the last op that reads it"));
    for (const Json& one : report.at("reused")) print_one(terminal, one);
  }
  if (!report.at("reused_or_overwritten").empty()) {
    terminal.line(palette.bold("reused or overwritten: unknown, since the dump does not say which ops read these tensors"));
    for (const Json& one : report.at("reused_or_overwritten")) print_one(terminal, one);
  }
  terminal.line(fmt::format("{} looks at {} tensors", member_text(report, "looks"), member_text(report, "tensors")));
  if (report.at("estimated") != 0) {
    terminal.note(fmt::format("of {} looks only the statistics could be compared: what they do not show is not seen",
                              member_text(report, "estimated")));
  }
  if (report.at("unknown") != 0) terminal.note(fmt::format("{} looks had nothing to compare with", member_text(report, "unknown")));
}

Result<ExitCode> watch_difference(const std::string& folder, Terminal& terminal) {
  AnsweredDumps dumps;
  TENSORTAP_ASSIGN_OR_RETURN(const auto dump, dumps.open(terminal, folder));
  const WatchReport found = watch_diff(*dump);
  dumps.print_state(terminal);
  if (found.looks == 0 && !dumps.hold_all()) {
    return io_error(fmt::format("{}: the dump is incomplete, and the records that it has hold no look at a watched tensor", folder));
  }
  if (found.looks == 0) {
    return invalid_argument(fmt::format(
        "{}: no tensor of this dump was looked at again. Capture with \"trigger\": \"watch\", or AscendCL's dump_scene watcher", folder));
  }
  Json report = watch_diff_json(*dump, found);
  report["dump"] = dumps.json();
  if (terminal.json) {
    terminal.json_line(report);
  } else {
    print_report(terminal, report);
  }
  return dumps.code_of(report.at("overwritten").empty() ? ExitCode::kFine : ExitCode::kFound);
}

}  // namespace

Action declare_watch_diff(CLI::App& app) {
  const auto dump = std::make_shared<std::string>();
  app.add_option("dump", *dump, "Folder of the dump")->type_name(kDump)->required();
  return [dump](Terminal& terminal) { return watch_difference(*dump, terminal); };
}

}  // namespace tensortap::cli
