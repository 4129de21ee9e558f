// `tensortap find`: values of a dump that are wrong, or may soon be.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/command/command.h"
#include "cli/files/find_parts.h"
#include "cli/files/part_access.h"
#include "cli/text/arguments.h"
#include "cli/text/find_report_text.h"
#include "cli/text/find_text.h"
#include "cli/text/member_text.h"
#include "cli/text/selection_options.h"
#include "find/chosen_records.h"
#include "find/find_report.h"
#include "find/suspects.h"
#include "find/trends.h"
#include "find/trends_json.h"
#include "query/row_query.h"
#include "registry/registry.h"

namespace tensortap::cli {
namespace {

struct FindOptions {
  std::string dump;
  std::string part;
  std::string source;
  size_t limit = 0;  // 0 = not given
  bool suspects = false;
  bool all = false;  // whole lists
  std::string dialect = "tensortap";
  std::string config_out;
  bool trends = false;
  RowQuery query;  // of trends and watchpoints
  std::vector<std::string> conditions;
  [[nodiscard]] bool watches() const { return !conditions.empty(); }
  [[nodiscard]] WatchQuestion watch() const { return {conditions, query.op, query.step, query.type, query.module, query.last}; }
};

constexpr size_t kLimit = 10;
constexpr size_t kSuspectsLimit = 100;
constexpr size_t kAllLimit = 1000;

void print_source(Terminal& terminal, const Json& answer) {
  for (const Json& op : answer.at("ops")) {
    const std::string source = member_text(op, "source");
    terminal.line(
        fmt::format("{} ({}): {}", member_text(op, "op"), member_text(op, "type"), source.empty() ? "source line not known" : source));
  }
}

void print_suspects(Terminal& terminal, const Json& answer, const std::string& config_out) {
  const Json& suspects = answer.at("suspects");
  for (const Json& one : suspects) {
    const std::string part = member_text(one, "part");
    terminal.line(terminal.out_palette().bold(
        fmt::format("{} ({}){}", member_text(one, "op"), member_text(one, "type"), part.empty() ? "" : fmt::format(" in {}", part))));
    for (const Json& reason : one.at("reasons")) terminal.line("  " + printable(reason.get<std::string>()));
  }
  if (suspects.empty() && count_in(answer, "records") == 0) {
    terminal.line("nothing to judge: the dump has no records");
  } else if (suspects.empty() && is_partial(answer)) {
    terminal.line(fmt::format("not known: {}; otherwise no op stands out: no config is proposed", member_text(answer, "not_known")));
  } else if (suspects.empty()) {
    terminal.line("no op stands out: no config is proposed");
  } else if (config_out.empty()) {
    terminal.line(terminal.out_palette().bold("config of a full capture of these ops"));
    terminal.line(to_json_text(answer.at("config"), 2));
  } else {
    terminal.line(fmt::format("config of a full capture of these ops: {}", printable(config_out)));
  }
}

// Errors: kInvalidArgument for a dialect that does not exist, or that has no full captures.
Result<Json> full_capture_config(const Json& suspects, const std::string& dialect) {
  std::vector<std::string> ops;
  for (const Json& one : suspects) {
    std::string op = one.at("op").get<std::string>();
    if (std::ranges::find(ops, op) == ops.end()) ops.push_back(std::move(op));
  }
  std::error_code error;
  const std::string folder = std::filesystem::current_path(error).string();
  std::vector<std::string> offered;
  for (const Dialect& one : dialects()) {
    if (one.full_capture == nullptr) continue;
    if (one.name == dialect) return parse_json(one.full_capture(ops, folder), "the proposed config");
    offered.emplace_back(one.name);
  }
  const std::string last = offered.back();
  offered.pop_back();
  return invalid_argument(fmt::format("--dialect {}: configs are proposed in {} and {}", dialect, join(offered, ", "), last));
}

// The suspects of all parts; an op that several have is one to capture.
Json suspects_of_parts(const Json& answer) {
  if (!answer.contains("parts")) return answer.at("suspects");
  Json all = Json::array();
  for (const Json& part : answer.at("parts")) {
    const Json* suspects = member(part, "suspects");
    for (const Json& one : suspects == nullptr ? Json::array() : *suspects) {
      all.push_back(one);
      all.back()["part"] = part.at("part");
    }
  }
  return all;
}

Status propose_config(const FindOptions& options, Json& answer) {
  answer["suspects"] = suspects_of_parts(answer);
  const bool found = !answer.at("suspects").empty();
  TENSORTAP_ASSIGN_OR_RETURN(const Json config, full_capture_config(answer.at("suspects"), options.dialect));
  answer["config"] = found ? config : Json(nullptr);
  if (!found || options.config_out.empty()) return {};
  return write_file_atomically(options.config_out, config.dump(2) + "\n", Access::kShared);
}

FindQuestion suspects_question(const FindOptions& options, Terminal& terminal) {
  const auto ask = [&options](const DumpIndex& dump) -> Result<Json> {
    Json answer = suspects_json(dump, find_suspects(dump, options.limit == 0 ? kSuspectsLimit : options.limit));
    add_unseen(dump, answer);
    return answer;
  };
  return {.ask = ask,
          .finds = [](const Json& answer) { return !answer.at("suspects").empty(); },
          .print = [&](const Json& answer) { print_suspects(terminal, answer, options.config_out); },
          .found = "suspects",
          .none = "no op stands out",
          .is_blind = [](const Json& answer) { return count_in(answer, "records") == 0; },
          .finish = [&options](Json& answer) { return propose_config(options, answer); }};
}

FindQuestion trends_question(const FindOptions& options, Terminal& terminal) {
  const auto ask = [&options](const DumpIndex& dump) -> Result<Json> {
    auto report = chosen_trends_json(dump, options.query, options.limit == 0 ? kLimit : options.limit);
    if (!report.ok()) return in_option_words(report.status());
    return report;
  };
  return {.ask = ask,
          .finds = finds_trend,
          .print = [&terminal](const Json& report) { print_trends(terminal, report); },
          .found = "trends",
          .none = "no trend stands out",
          .is_blind = [](const Json& report) { return count_in(report, "judged") == 0; }};
}

FindQuestion watch_question(const FindOptions& options, Terminal& terminal) {
  const auto ask = [&options](const DumpIndex& dump) -> Result<Json> {
    auto report = chosen_watch_json(dump, options.watch(), options.limit == 0 ? kLimit : options.limit);
    if (!report.ok()) return in_option_words(report.status());
    return report;
  };
  return {.ask = ask,
          .finds = has_hits,
          .print = [&terminal](const Json& report) { print_watch(terminal, report); },
          .found = "hits",
          .none = "no hit",
          .is_blind =
              [](const Json& report) {
                return std::ranges::all_of(report.at("watchpoints"), [](const Json& one) { return count_in(one, "checked") == 0; });
              }};
}

FindQuestion source_question(const FindOptions& options, Terminal& terminal) {
  return {.ask = [&options](const DumpIndex& dump) { return find_source(dump, options.source); },
          .finds = nullptr,
          .print = [&terminal](const Json& answer) { print_source(terminal, answer); },
          .found = {},
          .none = {}};
}

FindQuestion values_question(const FindOptions& options, Terminal& terminal) {
  const size_t otherwise = options.all ? kAllLimit : kLimit;
  const size_t limit = options.limit == 0 ? otherwise : options.limit;
  return {.ask = [limit](const DumpIndex& dump) -> Result<Json> { return find_report(dump, limit); },
          .finds = has_finding,
          .print = [&](const Json& report) { print_find_report(terminal, report, options.all || options.limit > 0); },
          .found = "findings",
          .none = "no NaN and no Inf",
          .brief = finding_line,
          .is_blind = saw_nothing};
}

FindQuestion question_of(const FindOptions& options, Terminal& terminal) {
  if (!options.source.empty()) return source_question(options, terminal);
  if (options.suspects) return suspects_question(options, terminal);
  if (options.trends) return trends_question(options, terminal);
  return options.watches() ? watch_question(options, terminal) : values_question(options, terminal);
}

Result<ExitCode> find(const FindOptions& options, Terminal& terminal) {
  const bool selects = options.query.last > 0 || chooses_ops(options.query);
  if (selects && !options.trends && !options.watches()) {
    const char* name = options.query.last > 0        ? "--last"
                       : !options.query.op.empty()   ? "--ops"
                       : !options.query.type.empty() ? "--types"
                                                     : "--modules";
    return invalid_argument(fmt::format("{} requires --trends or --watch: where a NaN began is asked of the whole dump", name));
  }
  if (const Status known = check_conditions(options.watch()); !known.ok()) return in_option_words(known);
  return ask_find({options.dump, options.part, options.all}, question_of(options, terminal), terminal);
}

}  // namespace

Action declare_find(CLI::App& app) {
  const auto options = std::make_shared<FindOptions>();
  app.add_option("dump", options->dump, "Folder of the dump")->type_name(kDump)->required();
  add_part_option(app, options->part);
  app.add_option("--source", options->source, "Only the ops made by this line of the program, such as train.py:41; or an op, for its line")
      ->type_name("FILE:LINE");
  app.add_option("--limit", options->limit, "At most this many of each kind (10), or suspects (100)")
      ->type_name("N")
      ->check(in_range(1, kMostListed));
  app.add_flag("--all", options->all, "The whole path of each value and whole lists, not only one screen");
  auto* suspects_flag = app.add_flag("--suspects", options->suspects, "The ops that deserve a full capture, and a config for it");
  app.add_option("--dialect", options->dialect, "Language of that config: tensortap, acl or mindspore")
      ->type_name("NAME")
      ->needs(suspects_flag);
  app.add_option("--config-out", options->config_out, "Write that config to this file")->type_name("FILE")->needs(suspects_flag);
  auto* trends_flag = app.add_flag("--trends", options->trends, "Values that grow, jump, vanish, die or freeze over the steps");
  auto* watch_option = add_repeated(app, "--watch", options->conditions, "CONDITION",
                                    "A watchpoint of MindInsight's debugger, such as tensor_too_large:max_gt=1; or recommended");
  add_op_options(app, options->query);
  add_step_options(app, options->query).front()->needs(watch_option);
  for (CLI::Option* one : {suspects_flag, trends_flag}) one->excludes(watch_option);
  trends_flag->excludes(suspects_flag);
  return [options](Terminal& terminal) { return find(*options, terminal); };
}

}  // namespace tensortap::cli
