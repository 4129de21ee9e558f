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
#include "cli/text/selection_options.h"
#include "find/watch_diff.h"
#include "query/chosen_dump.h"
#include "query/row_query.h"

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
  const std::string unknown = member_text(report, "not_known");
  if (!overwritten.empty()) {
    terminal.line(palette.red(fmt::format("overwritten tensors: {}", overwritten.size())));
  } else if (unknown.empty()) {
    terminal.line(palette.green("no watched tensor was overwritten while it was needed"));
  } else {
    terminal.line(palette.yellow(
        fmt::format("not known: {}; otherwise no watched tensor is known to have been overwritten while it was needed", unknown)));
  }
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

// Errors: kInvalidArgument for a dump without watched tensors, kIo for one that is not complete and may have lost them; those of a
// selection.
Result<Json> ask(const DumpIndex& dump, const RowQuery& query) {
  if (const Status chosen = check_choice(dump, query); !chosen.ok()) return in_option_words(chosen);
  TENSORTAP_ASSIGN_OR_RETURN(const RowFilter filter, RowFilter::make(query, dump));
  const WatchReport found = watch_diff(dump, &filter);
  if (found.looks > 0) return watch_diff_json(dump, found);
  if (is_selection(query) && watch_diff(dump).looks > 0) return not_found("no watched tensor is among the records that are chosen");
  if (!dump.completeness().holds_all())
    return io_error("the dump is incomplete, and the records that it has hold no look at a watched tensor");
  return invalid_argument(
      "no tensor of this dump was looked at again. Capture with \"trigger\": \"watch\", or AscendCL's dump_scene watcher");
}

struct WatchDiffOptions {
  FindTarget target;
  RowQuery query;
};

Result<ExitCode> watch_difference(const WatchDiffOptions& options, Terminal& terminal) {
  const FindQuestion question = {.ask = [&options](const DumpIndex& dump) { return ask(dump, options.query); },
                                 .finds = [](const Json& report) { return !report.at("overwritten").empty(); },
                                 .print = [&terminal](const Json& report) { print_report(terminal, report); },
                                 .found = "overwritten tensors",
                                 .none = "no watched tensor was overwritten while it was needed"};
  return ask_find(options.target, question, terminal);
}

}  // namespace

Action declare_watch_diff(CLI::App& app) {
  const auto options = std::make_shared<WatchDiffOptions>();
  app.add_option("dump", options->target.path, "Folder of the dump")->type_name(kDump)->required();
  add_part_option(app, options->target.part);
  add_op_options(app, options->query);
  add_step_options(app, options->query);
  return [options](Terminal& terminal) { return watch_difference(*options, terminal); };
}

}  // namespace tensortap::cli
