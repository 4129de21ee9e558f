// `tensortap repair`: a dump whose program died.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/arguments.h"
#include "cli/command.h"
#include "read/repair.h"

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
          {"lost", report.lost},
          {"actions", report.actions}};
}

void print_repair(Terminal& terminal, const RepairReport& report, bool dry_run) {
  if (report.healthy) {
    terminal.line(fmt::format("whole: {} records, {} tensors; nothing to mend", report.records_kept, report.tensors_kept));
    return;
  }
  terminal.line(fmt::format("{}: {} records, {} tensors", dry_run ? "would keep" : "kept", report.records_kept, report.tensors_kept));
  terminal.line(fmt::format("lost: {} records, {} tensors", report.records_lost, report.tensors_lost));
  for (const std::string& name : report.lost) terminal.line("  " + printable(name));
  for (const std::string& action : report.actions) terminal.line("- " + printable(action));
}

}  // namespace

Action declare_repair(CLI::App& app) {
  const auto options = std::make_shared<RepairOptions>();
  app.add_option("dump", options->dump, "Folder of the dump")->type_name(kDump)->required();
  app.add_flag("--dry-run", options->dry_run, "Only say what would be kept and what is lost");
  return [options](Terminal& terminal) -> Result<ExitCode> {
    TENSORTAP_ASSIGN_OR_RETURN(const RepairReport report, repair_dump(options->dump, options->dry_run));
    if (terminal.json) {
      terminal.json_line(report_json(report, options->dry_run));
    } else {
      print_repair(terminal, report, options->dry_run);
    }
    return ExitCode::kFine;
  };
}

}  // namespace tensortap::cli
