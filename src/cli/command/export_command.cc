// `tensortap export`: the records of a job as tables for analysis engines.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "cli/command/command.h"
#include "cli/files/dump_access.h"
#include "cli/text/arguments.h"
#include "cli/text/selection_options.h"
#include "table/export_job.h"

namespace tensortap::cli {
namespace {

constexpr size_t kMostSaid = 5;  // problems that are printed

struct ExportOptions {
  std::vector<std::string> dumps;
  std::string to = "parquet";
  std::string out;
  uint32_t group_rows = ExportRequest().group_rows;
  RowQuery query;
};

Json export_json(const ExportRequest& request, const ExportReport& report) {
  Json failed = Json::array();
  for (const ExportFailure& failure : report.failed) failed.push_back({{"dump", failure.dump}, {"reason", failure.reason}});
  return {{"target", request.target},
          {"form", std::string(form_name(request.form))},
          {"dumps", report.dumps},
          {"ranks", report.ranks},
          {"missing_ranks", report.missing_ranks},
          {"records", report.records},
          {"job_ops", report.job_ops},
          {"files", report.files},
          {"bytes", report.bytes},
          {"problems", report.problems},
          {"failed", std::move(failed)},
          {"dump", completeness_json(report.states)}};
}

void print_troubles(const Terminal& terminal, const ExportReport& report) {
  for (const ExportFailure& failure : report.failed) {
    terminal.warn(printable(failure.reason.starts_with(failure.dump) ? failure.reason : concat(failure.dump, ": ", failure.reason)));
  }
  for (size_t i = 0; i < std::min(report.problems.size(), kMostSaid); ++i) terminal.warn(printable(report.problems[i]));
  if (report.problems.size() > kMostSaid) {
    terminal.warn(fmt::format("and {} more like these, in _tensortap.json", report.problems.size() - kMostSaid));
  }
  if (!report.missing_ranks.empty()) {
    terminal.warn(fmt::format("{} of {} ranks have no dump, the first of them rank {}", report.missing_ranks.size(),
                              report.missing_ranks.size() + report.ranks.size(), report.missing_ranks.front()));
  }
}

Result<ExitCode> run_export(const ExportOptions& options, Terminal& terminal) {
  if (options.dumps.empty()) return invalid_argument("give one or more dumps, or the folder of a job");
  ExportRequest request{options.dumps, options.out, TableForm::kParquet, options.group_rows, options.query};
  if (options.to == form_name(TableForm::kArrow)) request.form = TableForm::kArrow;
  Progress progress(terminal);
  // How many a selection chooses is not known before.
  const bool selects = is_selection(options.query);
  const auto tell = [&](uint64_t records, uint64_t total) { progress.update("exporting records", records, selects ? 0 : total); };
  TENSORTAP_ASSIGN_OR_RETURN(const ExportReport report, export_job(request, tell));
  progress.finish();
  print_troubles(terminal, report);
  const bool unmatched = selects && report.records == 0 && !report.chooses;
  for (const std::string& sentence : unmatched ? report.unmatched : std::vector<std::string>()) terminal.warn(printable(sentence));
  if (selects && report.records == 0) terminal.warn("the selection chooses no record: the tables of records are empty");
  AnsweredDumps dumps;
  dumps.add(report.states);
  dumps.print_state(terminal);
  if (terminal.json) {
    terminal.json_line(export_json(request, report));
  } else {
    terminal.line(fmt::format("{}: {} records of {} {} and {} ops, {} files, {}", request.target, report.records, report.ranks.size(),
                              report.ranks.size() == 1 ? "rank" : "ranks", report.job_ops, report.files, bytes_text(report.bytes)));
  }
  if (!report.failed.empty()) return ExitCode::kFailed;
  return unmatched ? ExitCode::kUsage : ExitCode::kFine;
}

}  // namespace

Action declare_export(CLI::App& app) {
  const auto options = std::make_shared<ExportOptions>();
  add_words(app, "dumps", options->dumps, "DUMP...", "Dumps, or folders with the dumps of a job's ranks");
  add_choice(app, "--to", options->to, {"parquet", "arrow"}, "Form of the files (parquet)");
  app.add_option("-o,--out", options->out, "The folder to make")->type_name(kDirectory)->required();
  app.add_option("--group", options->group_rows, "Rows that engines skip or read at once (131072)")
      ->type_name("N")
      ->check(in_range(1, int64_t{1} << 24));
  add_selection_options(app, options->query);
  return [options](Terminal& terminal) { return run_export(*options, terminal); };
}

}  // namespace tensortap::cli
