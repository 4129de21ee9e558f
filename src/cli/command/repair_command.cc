// `tensortap repair`: a dump whose program died.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/counted.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/command/command.h"
#include "cli/text/arguments.h"
#include "read/repair_dump.h"

namespace tensortap::cli {
namespace {

struct RepairOptions {
  std::string dump;
  bool dry_run = false;
};

Json report_json(const RepairReport& report, bool dry_run) {
  return {{"healthy", report.healthy},
          {"dry_run", dry_run},
          {"records_kept", report.records_kept},
          {"records_lost", report.records_lost},
          {"tensors_kept", report.tensors_kept},
          {"tensors_lost", report.tensors_lost},
          {"tensors_on_the_way", report.tensors_on_the_way},
          {"counted_losses", report.counted_losses},
          {"lost", report.lost},
          {"missing", report.missing},
          {"actions", report.actions}};
}

// Several parts in one report, which says of each action and each loss where it is.
RepairReport sum_of(const std::vector<RepairedPart>& parts) {
  RepairReport sum;
  sum.healthy = true;
  for (const RepairedPart& part : parts) {
    sum.healthy = sum.healthy && part.report.healthy;
    sum.records_kept += part.report.records_kept;
    sum.records_lost += part.report.records_lost;
    sum.tensors_kept += part.report.tensors_kept;
    sum.tensors_lost += part.report.tensors_lost;
    for (const std::string& text : part.report.missing) sum.missing.push_back(fmt::format("{}: {}", part.folder, text));
    sum.tensors_on_the_way += part.report.tensors_on_the_way;
    sum.counted_losses += part.report.counted_losses;
    for (const std::string& name : part.report.lost) sum.lost.push_back(fmt::format("{}: {}", part.folder, name));
    for (const std::string& action : part.report.actions) sum.actions.push_back(fmt::format("{}: {}", part.folder, action));
  }
  return sum;
}

Json parts_json(const std::vector<RepairedPart>& parts, bool dry_run) {
  if (parts.size() == 1) return report_json(parts.front().report, dry_run);
  Json json = report_json(sum_of(parts), dry_run);
  json["parts"] = Json::array();
  for (const RepairedPart& part : parts) {
    Json one = report_json(part.report, dry_run);
    one["folder"] = part.folder;
    json["parts"].push_back(std::move(one));
  }
  return json;
}

std::string counts_text(uint64_t records, uint64_t tensors) { return concat(counted(records, "record"), ", ", counted(tensors, "tensor")); }

void print_repair(Terminal& terminal, const RepairReport& report, bool dry_run) {
  if (report.healthy) {
    const char* state = report.missing.empty() ? "whole" : "incomplete for good";
    terminal.line(fmt::format("{}: {}; nothing to repair", state, counts_text(report.records_kept, report.tensors_kept)));
    for (const std::string& text : report.missing) terminal.line("  " + printable(text));
    return;
  }
  terminal.line(fmt::format("{}: {}", dry_run ? "would keep" : "kept", counts_text(report.records_kept, report.tensors_kept)));
  terminal.line(fmt::format("lost: {}", counts_text(report.records_lost, report.tensors_lost)));
  for (const std::string& name : report.lost) terminal.line("  " + printable(name));
  for (const std::string& action : report.actions) terminal.line("- " + printable(action));
}

void print_parts(Terminal& terminal, const std::vector<RepairedPart>& parts, bool dry_run) {
  for (const RepairedPart& part : parts) {
    if (parts.size() > 1) terminal.line(printable(part.folder) + ":");
    print_repair(terminal, part.report, dry_run);
  }
}

}  // namespace

Action declare_repair(CLI::App& app) {
  const auto options = std::make_shared<RepairOptions>();
  app.add_option("dump", options->dump, "Folder of the dump; of a run with several processes, ranks or models each part is repaired")
      ->type_name(kDump)
      ->required();
  app.add_flag("--dry-run", options->dry_run, "Change nothing; only list kept and lost records");
  return [options](Terminal& terminal) -> Result<ExitCode> {
    TENSORTAP_ASSIGN_OR_RETURN(const auto parts, repair_parts(options->dump, options->dry_run));
    if (terminal.json) {
      terminal.json_line(parts_json(parts, options->dry_run));
    } else {
      print_parts(terminal, parts, options->dry_run);
    }
    return ExitCode::kFine;
  };
}

}  // namespace tensortap::cli
