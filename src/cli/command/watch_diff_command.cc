// `tensortap watch-diff`: who wrote into the watched tensors.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/json.h"
#include "cli/command/command.h"
#include "cli/files/find_parts.h"
#include "cli/files/part_access.h"
#include "cli/text/arguments.h"
#include "cli/text/member_text.h"
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
    terminal.line(palette.bold("reused or overwritten: unknown, since the dump does not record which ops read these tensors"));
    for (const Json& one : report.at("reused_or_overwritten")) print_one(terminal, one);
  }
  terminal.line(fmt::format("{} looks at {} tensors", member_text(report, "looks"), member_text(report, "tensors")));
  if (report.at("estimated") != 0) {
    terminal.note(fmt::format("of {} looks only the statistics could be compared: changes that they do not show are missed",
                              member_text(report, "estimated")));
  }
  if (report.at("unknown") != 0) terminal.note(fmt::format("{} looks had nothing to compare with", member_text(report, "unknown")));
}

// Errors: kInvalidArgument for a dump without watched tensors, kIo for one that is not complete and may have lost them.
Result<Json> ask(const DumpIndex& dump) {
  const WatchReport found = watch_diff(dump);
  if (found.looks > 0) return watch_diff_json(dump, found);
  if (!dump.completeness().holds_all())
    return io_error("the dump is incomplete, and the records that it has hold no look at a watched tensor");
  return invalid_argument(
      "no tensor of this dump was looked at again. Capture with \"trigger\": \"watch\", or AscendCL's dump_scene watcher");
}

Result<ExitCode> watch_difference(const FindTarget& target, Terminal& terminal) {
  const FindQuestion question = {.ask = ask,
                                 .finds = [](const Json& report) { return !report.at("overwritten").empty(); },
                                 .print = [&terminal](const Json& report) { print_report(terminal, report); },
                                 .found = "overwritten tensors",
                                 .none = "no watched tensor was overwritten while it was needed"};
  return ask_find(target, question, terminal);
}

}  // namespace

Action declare_watch_diff(CLI::App& app) {
  const auto target = std::make_shared<FindTarget>();
  app.add_option("dump", target->path, "Folder of the dump")->type_name(kDump)->required();
  add_part_option(app, target->part);
  return [target](Terminal& terminal) { return watch_difference(*target, terminal); };
}

}  // namespace tensortap::cli
