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
#include "cli/find_text.h"
#include "cli/member_text.h"
#include "cli/origin_text.h"
#include "cli/summary_text.h"
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
constexpr size_t kShownOfList = 3;

bool is_harmless(const Json& origin) { return origin.value("harmless", false); }

bool begin_alike(const Json& a, const Json& b) { return a.at("chain").back() == b.at("chain").back(); }

// What the way to the value that the program saw did not show yet.
void print_harmful(Terminal& terminal, const Json& report) {
  const Json& seen = report.at("seen");
  std::vector<const Json*> shown;
  for (const Json& origin : report.at("origins")) {
    if (!is_harmless(origin) && !(seen.is_object() && begin_alike(origin, seen))) shown.push_back(&origin);
  }
  if (shown.empty()) return;
  const char* title = report.at("first_nonfinite").is_null() ? "on purpose, as it seems" : seen.is_object() ? "others" : "where they begin";
  terminal.line(terminal.out_palette().bold(fmt::format("{}: {}", title, shown.size())));
  for (const Json* origin : shown) print_origin(terminal, *origin);
}

// What did no harm takes a line each.
void print_harmless(Terminal& terminal, const Json& origins) {
  const auto harmless = std::ranges::count_if(origins, is_harmless);
  if (harmless == 0) return;
  terminal.line(terminal.out_palette().bold(
      fmt::format("harmless: {}, nothing of which reached a value that the program read, a parameter or a result", harmless)));
  for (const Json& origin : origins) {
    if (!is_harmless(origin)) continue;
    const Json& begin = origin.at("chain").back();
    const std::string place = place_text(begin);
    terminal.line(fmt::format("  step {}, {}: {}{}{}", member_text(begin, "step"), record_text(begin), counts_text(begin),
                              place.empty() ? "" : ", ", place));
  }
}

// What a healthy dump is greeted with.
std::string_view healthy_text(const Json& report) {
  if (count_in(report, "harmless") > 0) return "no NaN and no Inf in what the program saw";
  return report.at("origins").empty() ? "no NaN and no Inf" : "no NaN and no Inf, but what is there on purpose";
}

void print_nonfinite(Terminal& terminal, const Json& report) {
  const Palette& palette = terminal.out_palette();
  const Json& first = report.at("first_nonfinite");
  terminal.line(first.is_object() ? palette.red("first non-finite value: ") + nonfinite_text(first) : palette.green(healthy_text(report)));
  if (first.is_object() && first.contains("told_by"))
    terminal.line(fmt::format("  told by {}: the record itself is not in the dump", member_text(first, "told_by")));
  if (first.is_object() && !(first.at("module").is_null() && first.at("forward").is_null())) terminal.line("  " + place_text(first));
  if (const Json* lead = member(report, "lead"); lead != nullptr) terminal.line("  " + lead_text(*lead, first));
  if (report.contains("first_in_time") && first.is_object())
    terminal.line("first in time, but there on purpose or without effect: " + nonfinite_text(report.at("first_in_time")));
  if (const Json& seen = report.at("seen"); seen.is_object()) {
    terminal.line(palette.bold("the way from there to what the program saw"));
    print_origin(terminal, seen);
  }
  print_harmful(terminal, report);
  print_harmless(terminal, report.at("origins"));
}

std::string absmax_text(const Json& one) {
  const Json absmax = one.value("absmax", Json());
  if (absmax.is_number()) return fmt::format("{:.4g}", absmax.get<double>());
  return one.value("holds_inf", false) ? "inf" : "unknown";
}

std::string headroom_text(const Json& one, const Palette& palette) {
  std::string text = fmt::format("{}: absmax {}", record_text(one), absmax_text(one));
  if (one.value("overflows", false)) {
    text += ", " + palette.red("overflows");
  } else if (const Json binades = one.value("binades", Json()); binades.is_number()) {
    text += fmt::format(", {:.1f} doublings left", binades.get<double>());
  }
  if (const Json share = one.value("subnormal_share", Json()); share.is_number() && share.get<double>() > 0) {
    text += fmt::format(", {:.2g} % subnormal", 100 * share.get<double>());
  }
  return text;
}

void print_headroom(Terminal& terminal, const Json& report, const char* target, bool all) {
  const Json& list = report.at("headroom").at(target);
  if (list.empty()) return;
  const Palette& palette = terminal.out_palette();
  const std::string title = palette.bold(fmt::format("closest to the limit of {}", target));
  if (!all) {
    // Where nothing but Inf is known the type's limit is no matter.
    const auto first = std::ranges::find_if(list, [](const Json& one) { return one.at("absmax").is_number(); });
    if (first != list.end()) terminal.line(fmt::format("{}: {}", title, headroom_text(*first, palette)));
    return;
  }
  terminal.line(title);
  for (const Json& one : list) terminal.line("  " + headroom_text(one, palette));
}

void print_list(Terminal& terminal, const Json& list, std::string_view title, bool all) {
  if (!list.is_array() || list.empty()) return;
  terminal.line(terminal.out_palette().bold(title));
  const size_t shown = all ? list.size() : std::min(list.size(), kShownOfList);
  for (size_t i = 0; i < shown; ++i) terminal.line("  " + record_text(list[i]));
  if (shown < list.size()) terminal.line(fmt::format("  and {} more (--all)", list.size() - shown));
}

void print_report(Terminal& terminal, const Json& report, bool all) {
  print_nonfinite(terminal, report);
  print_headroom(terminal, report, "float16", all);
  print_headroom(terminal, report, "bfloat16", all);
  print_list(terminal, report.at("dead_outputs"), "dead outputs: nothing but zeros", all);
  if (const Json& gradients = report.at("gradients"); gradients.is_object()) {
    print_list(terminal, gradients.value("exploding", Json()), "exploding gradients", all);
    print_list(terminal, gradients.value("vanishing", Json()), "vanishing gradients", all);
  }
}

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
  Json report = find_report(asked.index, options.limit == 0 ? kLimit : options.limit);
  report["dump"] = asked.state.json();
  terminal.json ? terminal.json_line(report) : print_report(terminal, report, options.all || options.limit > 0);
  return report.at("first_nonfinite").is_null() ? ExitCode::kFine : ExitCode::kFound;
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
  app.add_flag("--all", options->all, "Whole lists of what is close to a limit, dead, exploding or vanishing, not their beginnings");
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
