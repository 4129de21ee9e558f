// `tensortap ls`: the records of a dump. Looks at rows where they are mapped and formats only the printed ones.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/command/command.h"
#include "cli/files/dump_access.h"
#include "cli/files/part_access.h"
#include "cli/text/arguments.h"
#include "cli/text/failure_text.h"
#include "cli/text/ls_table.h"
#include "cli/text/requests_text.h"
#include "cli/text/selection_options.h"
#include "find/nonfinite_origins.h"
#include "plan/capture_spec.h"
#include "query/record_json.h"
#include "query/row_query.h"
#include "query/step_requests.h"

namespace tensortap::cli {
namespace {

struct LsOptions {
  std::string dump;
  std::string part;
  RowQuery query;
  std::string columns;
  bool requests = false;
};

std::string count_text(size_t shown, const std::vector<OpenPart>& parts, const std::vector<std::string>& left_out) {
  size_t all = 0;
  uint64_t lost = 0;
  for (const OpenPart& one : parts) {
    all += one.dump->rows().size();
    lost += count_left_out(*one.dump);
  }
  std::string text = fmt::format("{} of {} records", shown, all);
  if (lost > 0) text += fmt::format("; a limit of the capture left out {} more", lost);
  if (!left_out.empty()) text += fmt::format("; too narrow for {} (--columns chooses)", join(left_out, ", "));
  return text;
}

// With names where the dump has several parts.
ListedDumps listed_dumps(const std::vector<OpenPart>& parts, bool are_several) {
  ListedDumps listed;
  for (const OpenPart& one : parts) {
    listed.dumps.push_back(one.dump.get());
    if (are_several) listed.names.push_back(one.part.name);
  }
  return listed;
}

Json row_json(const ListedDumps& listed, const RowOfDump& row) {
  Json json = record_json(*listed.dumps[row.dump], row.row);
  if (!listed.names.empty()) json["part"] = listed.names[row.dump];
  return json;
}

bool is_weight(const ListedDumps& listed, const RowOfDump& place) {
  const DumpIndex& dump = *listed.dumps[place.dump];
  const RecordRow& row = dump.rows()[place.row];
  return op_of(dump, row).type == kInitializerType || row.phase == static_cast<uint8_t>(Phase::kLoad);
}

// For people, what is not sorted has the weights of each dump behind its ops.
Result<std::vector<RowOfDump>> listed_rows(const ListedDumps& listed, RowQuery query, bool for_people) {
  const size_t limit = query.limit;
  const bool weights_last = for_people && query.sort.empty();
  if (weights_last) query.limit = 0;
  auto rows = select_rows(listed.dumps, query);
  if (!rows.ok()) return in_option_words(rows.status());
  if (!weights_last) return rows;
  for (auto begin = rows->begin(); begin != rows->end();) {
    const auto end = std::find_if(begin, rows->end(), [&](const RowOfDump& row) { return row.dump != begin->dump; });
    std::stable_partition(begin, end, [&](const RowOfDump& row) { return !is_weight(listed, row); });
    begin = end;
  }
  if (limit > 0 && rows->size() > limit) rows->resize(limit);
  return rows;
}

// The steps of a part that --steps and --last choose.
Status choose_steps(const RowQuery& query, std::vector<StepRequests>& steps) {
  if (!query.step.empty()) {
    const auto chosen = StepSet::parse(query.step);
    if (!chosen.ok()) return chosen.status().with_context("--steps");
    std::erase_if(steps, [&](const StepRequests& one) { return !chosen->contains(one.step); });
  }
  std::set<int64_t> last;
  for (const StepRequests& one : steps) last.insert(one.step);
  while (query.last > 0 && last.size() > query.last) last.erase(last.begin());
  std::erase_if(steps, [&](const StepRequests& one) { return !last.contains(one.step); });
  return {};
}

Result<ExitCode> list_requests(const LsOptions& options, Terminal& terminal) {
  RowQuery others = options.query;
  others.step.clear();
  others.last = 0;
  if (is_selection(others) || !options.query.sort.empty() || !options.columns.empty() || options.query.limit > 0) {
    return invalid_argument("--requests lists no records: of the options that choose, only --steps, --last and --part apply");
  }
  TENSORTAP_ASSIGN_OR_RETURN(const AskedParts asked, asked_parts(options.dump, options.part));
  AnsweredDumps dumps;
  TENSORTAP_ASSIGN_OR_RETURN(const std::vector<OpenPart> parts, open_parts(terminal, asked, dumps));
  std::vector<RequestsOfPart> listed;
  uint64_t count = 0;
  for (const auto& [part, dump] : parts) {
    TENSORTAP_ASSIGN_OR_RETURN(RequestsFile file, read_requests(*dump));
    if (file.unreadable > 0)
      terminal.warn(fmt::format("{}: {} of its requests cannot be read", part.path, counted(file.unreadable, "line")));
    TENSORTAP_RETURN_IF_ERROR(choose_steps(options.query, file.steps));
    count += file.steps.size();
    listed.push_back({asked.are_several ? part.name : "", std::move(file.steps)});
  }
  if (count > 0) print_requests(terminal, listed);
  terminal.flush();
  terminal.note(count > 0 ? fmt::format("requests of {}", counted(count, "step"))
                          : "no requests: a serving engine that is known tells them, in steps that are captured (docs/engines.md)");
  return ExitCode::kFine;
}

Result<ExitCode> list(const LsOptions& options, Terminal& terminal) {
  if (options.requests) return list_requests(options, terminal);
  TENSORTAP_ASSIGN_OR_RETURN(const auto columns, choose_columns(options.columns, sort_key(options.query.sort)));
  TENSORTAP_ASSIGN_OR_RETURN(const AskedParts asked, asked_parts(options.dump, options.part));
  AnsweredDumps dumps;
  TENSORTAP_ASSIGN_OR_RETURN(const std::vector<OpenPart> parts, open_parts(terminal, asked, dumps));
  dumps.warn_of_state(terminal);
  const ListedDumps listed = listed_dumps(parts, asked.are_several);
  const auto selected = listed_rows(listed, options.query, !terminal.json);
  if (!selected.ok()) return selected.status();
  std::vector<std::string> left_out;
  if (terminal.json) {
    for (const RowOfDump& row : *selected) terminal.json_line(row_json(listed, row));
    // One line more would be no record: it comes only where the records are not all.
    if (!dumps.hold_all()) terminal.json_line({{"dump", dumps.json()}});
  } else if (!selected->empty()) {
    left_out = print_rows(terminal, listed, *selected, columns, !options.columns.empty(), sort_key(options.query.sort) == "step");
  }
  terminal.flush();
  terminal.note(count_text(selected->size(), parts, left_out));
  if (const uint64_t undecided = count_undecided(listed.dumps, options.query); undecided > 0) {
    terminal.note(fmt::format("not known: {} that meet the rest lack a statistic that --where needs", counted(undecided, "record")));
  }
  const bool unmatched = warn_of_unmatched(terminal, listed.dumps, options.query);
  for (const OpenPart& one : parts) {
    const std::vector<std::string> unknown = one.dump->unknown_columns();
    if (!unknown.empty()) terminal.note(fmt::format("a later version wrote columns that this one does not know: {}", join(unknown, ", ")));
    for (const std::string& line : failure_lines(*one.dump, one.part.path)) terminal.note(line);
  }
  // An empty list would read as if nothing were wrong with what was meant. What an incomplete dump lacks may have been meant.
  const bool whole = std::ranges::all_of(parts, [](const OpenPart& one) { return one.dump->completeness().holds_all(); });
  return selected->empty() && unmatched && whole ? ExitCode::kUsage : ExitCode::kFine;
}

}  // namespace

Action declare_ls(CLI::App& app) {
  const auto options = std::make_shared<LsOptions>();
  app.add_option("dump", options->dump, "Folder of the dump")->type_name(kDump)->required();
  add_part_option(app, options->part);
  add_selection_options(app, options->query);
  app.add_option("--sort", options->query.sort, "Order by this column; -KEY for the largest first. One of: " + join(sort_keys(), ", "))
      ->type_name("KEY");
  app.add_option("--columns", options->columns, "Show these columns, such as op,slot,max. Of: " + column_names_text())->type_name("A,B");
  app.add_option("--limit", options->query.limit, "At most this many records")->type_name("N")->check(in_range(1, kMostListed));
  app.add_flag("--requests", options->requests,
               "List the requests of a serving engine instead of records: which rows of the batch each has, step by step");
  return [options](Terminal& terminal) { return list(*options, terminal); };
}

}  // namespace tensortap::cli
