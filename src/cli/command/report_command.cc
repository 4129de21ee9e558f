// `tensortap report`: what the web view shows of a dump, or of two, as one HTML file.

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/command/command.h"
#include "cli/files/dump_access.h"
#include "cli/files/report_file.h"
#include "cli/files/source_roots.h"
#include "cli/text/arguments.h"
#include "cli/text/selection_options.h"
#include "report/write_report.h"
#include "serve/part_answers.h"
#include "serve/web_answers.h"

namespace tensortap::cli {
namespace {

struct ReportOptions {
  std::string a;
  std::string b;
  std::string out = "report.html";
  std::vector<std::string> source_roots;
  RowQuery query;
};

Result<ExitCode> report(const ReportOptions& options, Terminal& terminal) {
  TENSORTAP_RETURN_IF_ERROR(check_report_path(options.out).with_context("--out"));
  TENSORTAP_ASSIGN_OR_RETURN(const SourceFiles sources, source_files(options.source_roots));
  TENSORTAP_ASSIGN_OR_RETURN(const auto answers,
                             options.b.empty() ? open_telling_part(options.a, sources) : WebAnswers::open(options.a, options.b, sources));
  AnsweredDumps dumps;
  for (const auto& dump : answers->dumps()) {
    warn_of_problems(terminal, dump->index(), dump->path());
    dumps.add(dump->path(), dump->index().completeness());
  }
  dumps.print_state(terminal);
  TENSORTAP_ASSIGN_OR_RETURN(Json done, write_report_file(*answers, options.out, terminal, options.query));
  done["dump"] = dumps.json();
  if (terminal.json) {
    terminal.json_line(done);
  } else {
    terminal.line(report_line(done));
  }
  return ExitCode::kFine;
}

}  // namespace

Action declare_report(CLI::App& app) {
  const auto options = std::make_shared<ReportOptions>();
  app.add_option("dump", options->a, "Folder of the dump; of two, the one that is judged")->type_name(kDump)->required();
  app.add_option("reference", options->b, "Folder of the dump that is the reference")->type_name(kDump);
  app.add_option("--out", options->out, "The file to write (report.html); an existing file is replaced")->type_name(kFile);
  add_source_roots(app, options->source_roots);
  add_op_options(app, options->query);
  add_step_options(app, options->query);
  return [options](Terminal& terminal) { return report(*options, terminal); };
}

}  // namespace tensortap::cli
