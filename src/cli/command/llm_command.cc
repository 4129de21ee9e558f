// `tensortap llm dump`: the command line of `msit llm dump`.

#include <fmt/format.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/command/command.h"
#include "cli/launch/atb_home.h"
#include "cli/launch/captured_run.h"
#include "cli/llm/llm_checks.h"
#include "cli/llm/llm_config.h"
#include "cli/llm/llm_environment.h"
#include "cli/llm/llm_options.h"
#include "cli/text/exec_text.h"
#include "cli/text/help_text.h"
#include "plan/capture_plan.h"

namespace tensortap::cli {
namespace {

constexpr mode_t kUmask = 0027;

constexpr const char* kExamples =
    R"(  tensortap llm dump --exec "python train.py" --type model tensor -er 0,1 -o out
  tensortap llm dump --exec "python train.py" -ids 2,3_1 -child False        these operations alone, round 0
  tensortap llm dump --exec "python train.py" --type tensor stats            statistics, no data
  tensortap llm dump --exec "bash run.sh" -opname linear,mm -seed 7 --explain)";

// The umask that msit gives to the program, while this lives.
class ProgramsUmask {
 public:
  ProgramsUmask() : before_(umask(kUmask)) {}
  ~ProgramsUmask() { umask(before_); }
  ProgramsUmask(const ProgramsUmask&) = delete;
  ProgramsUmask& operator=(const ProgramsUmask&) = delete;

 private:
  mode_t before_;
};

// Reports an error and returns 1, with which msit ends for each of its failures.
ExitCode refuse(const Status& status, Terminal& terminal) {
  terminal.error(printable(status.message()));
  if (terminal.json) terminal.json_line(Json{{"error", status.message()}});
  return ExitCode::kFound;
}

// "20261122_151532", in UTC.
std::string timestamp_now() {
  std::string text = wall_clock_iso();
  std::replace(text.begin(), text.end(), 'T', '_');
  std::erase_if(text, [](char c) { return c == '-' || c == ':' || c == 'Z'; });
  return text;
}

void print_help(Terminal& terminal) {
  const size_t width = help_width(terminal.width());
  std::string text = "Run a program as `msit llm dump` does, and capture what its operations do\n\n";
  text += "Usage: tensortap llm dump --exec \"COMMAND\" [OPTIONS]\n";
  for (const bool ours : {false, true}) {
    text += ours ? "\nBesides, by their whole names:\n" : "\nOptions of msit, which may be shortened as in msit:\n";
    for (const LlmOption& option : llm_options()) {
      if (option.ours != ours) continue;
      const std::string comma = option.name.empty() || option.short_name.empty() ? "" : ", ";
      const std::string value = option.value_name.empty()                       ? ""
                                : option.values == LlmOption::Values::kOptional ? concat(" [", option.value_name, "]")
                                                                                : concat(" ", option.value_name);
      text += help_row(concat(option.short_name, comma, option.name, value), option.meaning, width);
    }
  }
  terminal.out(concat(text, "\nExamples:\n", fitted_lines(kExamples, width)));
}

void set_levels(const LlmWords& words, Terminal& terminal) {
  const std::string level = words.text("log-level", "info");
  const bool notes = level == "debug" || level == "info";
  terminal.json = terminal.json || words.has("json");
  terminal.quiet = terminal.quiet || words.has("quiet") || !notes;
  terminal.errors_only = !notes && level != "warning";
}

// What a command line comes to, checked in msit's order.
struct LlmRun {
  CaptureSpec spec;
  std::vector<std::string> program;
  Variables variables;
};

Result<LlmRun> prepare(const LlmWords& words, const Terminal& terminal) {
  const std::string given = words.text("output", "./");
  std::vector<std::string> warnings;
  TENSORTAP_RETURN_IF_ERROR(check_output_folder(given, warnings));
  for (const std::string& warning : warnings) terminal.warn(printable(warning));
  TENSORTAP_RETURN_IF_ERROR(check_disk_room(given));
  std::string output = std::filesystem::absolute(given).lexically_normal().string();
  if (output.size() > 1 && output.ends_with('/')) output.pop_back();
  LlmRun run;
  const std::string timestamp = timestamp_now();
  TENSORTAP_ASSIGN_OR_RETURN(run.spec, llm_spec(words, output, timestamp));
  run.variables = llm_variables(words, output, timestamp);
  TENSORTAP_ASSIGN_OR_RETURN(run.program, split_exec_text(words.text("exec")));
  return run;
}

Result<ExitCode> explain_run(const LlmRun& run, Terminal& terminal) {
  const std::vector<std::string> lines = explain(run.spec);
  if (terminal.json) {
    Json variables = Json::object();
    for (const auto& [name, value] : run.variables) variables[name] = value ? Json(*value) : Json();
    terminal.json_line({{"plan", lines}, {"notes", run.spec.notes}, {"program", run.program}, {"environment", variables}});
    return ExitCode::kFine;
  }
  if (!run.program.empty()) terminal.line(printable(concat("The program is started as: ", join(run.program, " "))));
  for (const std::string& line : lines) terminal.line(printable(line));
  return ExitCode::kFine;
}

// What the options come to, before the program starts.
void tell_decisions(const LlmRun& run, const Terminal& terminal) {
  terminal.note(printable(concat("the program is started as: ", join(run.program, " "))));
  for (const std::string& line : explain(run.spec)) terminal.note(printable(line));
  for (const auto& [name, value] : run.variables) terminal.note(printable(concat("environment: ", name, "=", value.value_or(""))));
}

// As by the route that reports every node's module: a dump has the operations below it.
CapturedRun captured_run(LlmRun& run) {
  CapturedRun captured;
  captured.program = std::move(run.program);
  captured.config_name = "llm dump";
  captured.compile = "aot";
  captured.strict = run.spec.strict;
  captured.own_user_only = true;
  captured.variables = std::move(run.variables);
  return captured;
}

Result<ExitCode> dump(const std::vector<std::string>& typed, Terminal& terminal) {
  terminal.json = terminal.json || std::ranges::find(typed, "--json") != typed.end();
  TENSORTAP_ASSIGN_OR_RETURN(const LlmWords words, parse_llm_words(typed));
  if (words.help) {
    print_help(terminal);
    return ExitCode::kFine;
  }
  set_levels(words, terminal);
  const bool explains = words.has("explain");
  if (!explains && words.text("exec").empty()) return ExitCode::kFine;
  if (!explains) terminal.warn("Please ensure that your execution command is secure.");
  const ProgramsUmask with_umask;
  Result<LlmRun> run = prepare(words, terminal);
  if (!run.ok()) return refuse(run.status(), terminal);
  for (const std::string& note : run->spec.notes) terminal.note(printable(note));
  if (explains) return explain_run(*run, terminal);
  if (words.text("log-level", "info") == "debug") tell_decisions(*run, terminal);
  if (run->program.empty()) return refuse(invalid_argument("--exec holds blanks alone; name a program"), terminal);
  TENSORTAP_ASSIGN_OR_RETURN(const FoundProgram found, find_captured_program(run->program.front()));
  TENSORTAP_RETURN_IF_ERROR(check_for_programs(run->spec));
  for (auto& variable : seeding_variables(words, found.installed.python_package)) run->variables.push_back(std::move(variable));
  std::string warning;
  TENSORTAP_ASSIGN_OR_RETURN(const std::string atb, atb_preload(find_atb_files(), warning));
  if (!warning.empty()) terminal.warn(printable(warning));
  CaptureSpec spec = std::move(run->spec);
  CapturedRun captured = captured_run(*run);
  captured.preload = atb;
  captured.no_torch = !atb.empty();
  return run_captured(captured, found, std::move(spec), terminal);
}

Result<ExitCode> llm(std::vector<std::string> words, Terminal& terminal) {
  const std::vector<std::string> known = {"dump", "dd"};
  if (words.empty()) return invalid_argument("tensortap llm needs `dump`: tensortap llm dump --exec \"COMMAND\" [OPTIONS]");
  const std::string word = std::move(words.front());
  words.erase(words.begin());
  if (std::ranges::find(known, word) != known.end()) return dump(words, terminal);
  return invalid_argument(fmt::format("tensortap llm has no {}; it has dump, dd for short.{}", quote(word), did_you_mean(word, known)));
}

}  // namespace

Action declare_llm(CLI::App& app) {
  // Words after `llm` follow argparse's rules, not CLI11's.
  app.prefix_command();
  return [&app](Terminal& terminal) { return llm(app.remaining(), terminal); };
}

}  // namespace tensortap::cli
