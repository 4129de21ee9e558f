// `tensortap find`: what is wrong with the values of a dump, or may become so.

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
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/dump_access.h"
#include "cli/find_report_text.h"
#include "cli/find_text.h"
#include "cli/member_text.h"
#include "find/find_report.h"
#include "find/suspects.h"
#include "find/trends.h"
#include "find/trends_json.h"
#include "find/watch_json.h"
#include "registry/registry.h"

namespace tensortap::cli {
namespace {

struct FindOptions {
  std::string dump;
  std::string source;
  size_t limit = 0;  // 0 = not given
  bool suspects = false;
  bool all = false;  // whole lists
  std::string dialect = "tensortap";
  std::string config_out;
  bool trends = false;
  uint64_t last = 0;  // steps; 0 = all
  WatchQuestion watch;
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
    terminal.line(terminal.out_palette().bold(fmt::format("{} ({})", member_text(one, "op"), member_text(one, "type"))));
    for (const Json& reason : one.at("reasons")) terminal.line("  " + printable(reason.get<std::string>()));
  }
  if (suspects.empty()) {
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
  for (const Json& one : suspects) ops.push_back(one.at("op").get<std::string>());
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

// A dump whose questions are answered, and how far the answers hold.
struct AskedDump {
  const DumpIndex& index;
  const AnsweredDumps& state;
};

Result<ExitCode> suspects(const AskedDump& asked, const FindOptions& options, Terminal& terminal) {
  const DumpIndex& dump = asked.index;
  Json answer = suspects_json(dump, find_suspects(dump, options.limit == 0 ? kSuspectsLimit : options.limit));
  TENSORTAP_ASSIGN_OR_RETURN(const Json config, full_capture_config(answer.at("suspects"), options.dialect));
  const bool found = !answer.at("suspects").empty();
  answer["config"] = found ? config : Json(nullptr);
  answer["dump"] = asked.state.json();
  if (found && !options.config_out.empty()) {
    TENSORTAP_RETURN_IF_ERROR(write_file_atomically(options.config_out, config.dump(2) + "\n", Access::kShared));
  }
  if (terminal.json) {
    terminal.json_line(answer);
  } else {
    print_suspects(terminal, answer, options.config_out);
  }
  return found ? ExitCode::kFound : ExitCode::kFine;
}

Result<ExitCode> trends(const AskedDump& asked, const FindOptions& options, Terminal& terminal) {
  Json report = trends_json(asked.index, find_trends(asked.index, options.last), options.limit == 0 ? kLimit : options.limit);
  report["dump"] = asked.state.json();
  terminal.json ? terminal.json_line(report) : print_trends(terminal, report);
  return report.at("trends").empty() && report.at("depth").is_null() ? ExitCode::kFine : ExitCode::kFound;
}

Result<ExitCode> watch(const AskedDump& asked, const FindOptions& options, Terminal& terminal) {
  auto report = watch_json(asked.index, options.watch, options.limit == 0 ? kLimit : options.limit);
  if (!report.ok()) return Status(report.status().code(), concat("--", report.status().message()));
  (*report)["dump"] = asked.state.json();
  terminal.json ? terminal.json_line(*report) : print_watch(terminal, *report);
  return report->at("hits") == 0 ? ExitCode::kFine : ExitCode::kFound;
}

Result<ExitCode> answer(const AskedDump& asked, const FindOptions& options, Terminal& terminal) {
  if (!options.source.empty()) {
    TENSORTAP_ASSIGN_OR_RETURN(Json answer, find_source(asked.index, options.source));
    answer["dump"] = asked.state.json();
    terminal.json ? terminal.json_line(answer) : print_source(terminal, answer);
    return ExitCode::kFine;
  }
  if (options.suspects) return suspects(asked, options, terminal);
  if (options.trends) return trends(asked, options, terminal);
  if (!options.watch.conditions.empty()) return watch(asked, options, terminal);
  const size_t otherwise = options.all ? kAllLimit : kLimit;
  Json report = find_report(asked.index, options.limit == 0 ? otherwise : options.limit);
  report["dump"] = asked.state.json();
  terminal.json ? terminal.json_line(report) : print_find_report(terminal, report, options.all || options.limit > 0);
  return has_finding(report) ? ExitCode::kFound : ExitCode::kFine;
}

Result<ExitCode> find(const FindOptions& options, Terminal& terminal) {
  if (const Status known = check_conditions(options.watch); !known.ok()) return Status(known.code(), concat("--", known.message()));
  AnsweredDumps dumps;
  TENSORTAP_ASSIGN_OR_RETURN(const auto dump, dumps.open(terminal, options.dump));
  dumps.print_state(terminal);
  TENSORTAP_ASSIGN_OR_RETURN(const ExitCode code, answer({*dump, dumps}, options, terminal));
  // Where ops come from is no verdict about their values.
  return options.source.empty() ? dumps.code_of(code) : code;
}

}  // namespace

Action declare_find(CLI::App& app) {
  const auto options = std::make_shared<FindOptions>();
  app.add_option("dump", options->dump, "Folder of the dump")->type_name(kDump)->required();
  app.add_option("--source", options->source, "Only the ops made by this line of the program, such as train.py:41; or an op, for its line")
      ->type_name("FILE:LINE");
  app.add_option("--limit", options->limit, "At most this many of each kind (10), or suspects (100)")
      ->type_name("N")
      ->check(in_range(1, kMostListed));
  app.add_flag("--all", options->all, "The whole way of each value and whole lists, not what fits on one screen");
  auto* suspects_flag = app.add_flag("--suspects", options->suspects, "The ops worth a full capture, and the config that makes it");
  app.add_option("--dialect", options->dialect, "Language of that config: tensortap, acl or mindspore")
      ->type_name("NAME")
      ->needs(suspects_flag);
  app.add_option("--config-out", options->config_out, "Write that config to this file")->type_name("FILE")->needs(suspects_flag);
  auto* trends_flag = app.add_flag("--trends", options->trends, "What grows, leaps, vanishes, dies or freezes over the steps");
  app.add_option("--last", options->last, "Only the last steps, this many")
      ->type_name("STEPS")
      ->check(in_range(1, kMostListed))
      ->needs(trends_flag);
  auto* watch_option = add_repeated(app, "--watch", options->watch.conditions, "CONDITION",
                                    "A watchpoint of MindInsight's debugger, such as tensor_too_large:max_gt=1; or recommended");
  app.add_option("--ops", options->watch.ops, "Watch ops whose name is, or matches, this regular expression")
      ->type_name("REGEX")
      ->needs(watch_option);
  app.add_option("--steps", options->watch.steps, "Watch these steps, such as 0,3-5")->type_name("STEPS")->needs(watch_option);
  for (CLI::Option* one : {suspects_flag, trends_flag}) one->excludes(watch_option);
  trends_flag->excludes(suspects_flag);
  return [options](Terminal& terminal) { return find(*options, terminal); };
}

}  // namespace tensortap::cli
