// `tensortap ranks`: the ranks of a job beside each other.

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "cli/command/command.h"
#include "cli/files/dump_access.h"
#include "cli/text/arguments.h"
#include "cli/text/ranks_text.h"
#include "cli/text/selection_options.h"
#include "ranks/rank_groups.h"
#include "ranks/ranks_report.h"

namespace tensortap::cli {
namespace {

struct RanksOptions {
  std::vector<std::string> dumps;
  std::vector<std::string> groups;
  size_t limit = RanksRequest().limit;
  RowQuery query;
};

Result<ExitCode> run_ranks(const RanksOptions& options, Terminal& terminal) {
  if (options.dumps.empty()) return invalid_argument("give the folder of a job, or the dumps of its ranks");
  RanksRequest request{options.dumps, {}, options.limit, options.query};
  TENSORTAP_ASSIGN_OR_RETURN(request.groups, parse_rank_groups(options.groups));
  Progress progress(terminal);
  const auto tell = [&progress](size_t done, size_t all) {
    progress.update("reading dumps", done, all);
    return true;
  };
  std::vector<NamedCompleteness> states;
  if (const Status query = check_query(options.query); !query.ok()) return in_option_words(query);
  TENSORTAP_ASSIGN_OR_RETURN(const Json report, ranks_report(request, tell, &states));
  progress.finish();
  AnsweredDumps dumps;
  dumps.add(std::move(states));
  dumps.print_state(terminal);
  terminal.json ? terminal.json_line(report) : print_ranks(terminal, report);
  return dumps.code_of(code_of_ranks(report));
}

}  // namespace

Action declare_ranks(CLI::App& app) {
  const auto options = std::make_shared<RanksOptions>();
  add_words(app, "dumps", options->dumps, "JOB...", "The folder of a job, or the dumps of its ranks");
  add_repeated(app, "--groups", options->groups, "NAME=RANKS",
               "Ranks that must hold the same weights and gradients, such as dp=0-3,4-7 or dp=0+2,1+3");
  app.add_option("--limit", options->limit, "At most this many examples of each kind (10)")
      ->type_name("N")
      ->check(in_range(1, kMostListed));
  add_op_options(app, options->query);
  add_step_options(app, options->query);
  return [options](Terminal& terminal) { return run_ranks(*options, terminal); };
}

}  // namespace tensortap::cli
