// `tensortap compare`: the values of one dump beside those of another.

#include <fmt/format.h>
#include <re2/re2.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "cli/command/command.h"
#include "cli/files/compare_parts.h"
#include "cli/files/dump_access.h"
#include "cli/files/report_file.h"
#include "cli/files/shard_dumps.h"
#include "cli/launch/own_errors.h"
#include "cli/text/arguments.h"
#include "cli/text/compare_text.h"
#include "cli/text/member_text.h"
#include "cli/text/selection_options.h"
#include "compare/chosen_values.h"
#include "compare/comparison_csv.h"
#include "compare/comparison_json.h"
#include "compare/dump_comparison.h"
#include "compare/name_map.h"
#include "compare/tolerance_rules.h"
#include "query/row_query.h"
#include "read/dump_parts.h"
#include "report/write_report.h"
#include "serve/served_comparison.h"
#include "serve/served_dump.h"
#include "serve/web_answers.h"
#include "trace/model_phase.h"

namespace tensortap::cli {
namespace {

constexpr std::string_view kAutomatic = "auto";
constexpr std::string_view kNoNoise = "none";
constexpr size_t kTableLines = 20;

struct CompareOptions {
  std::string a;
  std::string b;
  std::string map;
  std::string tolerance = std::string(kAutomatic);
  double allow = 1;
  std::vector<std::string> noise;
  std::string steps;
  std::string ops;
  RowQuery query;    // of --types, --modules and --last
  std::string only;  // "" = not given
  std::string sort;
  size_t limit = 0;  // 0 = not given
  std::string csv;
  std::string csv_style = "tensortap";
  bool replay = false;
  bool all = false;
  std::string runtime;
  std::string report;
  ShardOptions shards;
  [[nodiscard]] CsvStyle style() const { return csv_style == "msprobe" ? CsvStyle::kMsprobe : CsvStyle::kOwn; }
  // The noise dumps in the folders of A and B set the tolerance, unless the options set another one.
  [[nodiscard]] bool without_noise() const { return noise.size() == 1 && noise.front() == kNoNoise; }
  [[nodiscard]] bool finds_noise() const { return noise.empty() && tolerance == kAutomatic; }
  [[nodiscard]] PairsOnly which() const {
    return only == "differing" ? PairsOnly::kDiffering : only == "first" ? PairsOnly::kFirst : PairsOnly::kAll;
  }
  [[nodiscard]] PairsSort order() const {
    return sort == "error" ? PairsSort::kError : sort == "own" ? PairsSort::kOwn : PairsSort::kOrder;
  }
  [[nodiscard]] bool selects() const { return is_selection(query) || !ops.empty(); }
  [[nodiscard]] bool wants_table() const { return selects() || !only.empty() || !sort.empty() || limit > 0; }
};

// The output of all parts.
struct Shown {
  std::string csv;
  size_t values = 0;  // that the options choose
};

// The last of the steps of A that are compared.
std::set<int64_t> last_compared(const ChosenSteps& steps, uint64_t count) {
  std::set<int64_t> last;
  for (const StepPair& pair : steps.pairs) last.insert(pair.a);
  while (last.size() > count) last.erase(last.begin());
  return last;
}

// Which of the compared pairs are shown, and in which order.
class Chosen {
 public:
  // `shown` gets a line of CSV for each. `own` may be null.
  Chosen(const CompareOptions& options, const DumpComparison& comparison, const OwnErrors* own, Terminal& terminal, Shown& shown)
      : options_(options), comparison_(comparison), own_(own), terminal_(terminal), all_shown_(shown) {
    if (options.query.last > 0) steps_ = last_compared(comparison.steps(), options.query.last);
    RowQuery of_ops = options.query;
    of_ops.last = 0;
    for (const DumpIndex* dump : {&comparison.a(), &comparison.b()}) {
      auto filter = RowFilter::make(of_ops, *dump);
      if (!filter.ok()) status_ = in_option_words(filter.status());
      if (filter.ok()) filters_.push_back(*std::move(filter));
    }
    if (options.ops.empty()) return;
    RE2::Options quiet;
    quiet.set_log_errors(false);
    pattern_ = std::make_unique<RE2>(options.ops, quiet);
    if (!pattern_->ok()) status_ = invalid_argument(fmt::format("--ops {}: not a regular expression: {}", options.ops, pattern_->error()));
  }
  [[nodiscard]] const Status& status() const { return status_; }

  void add(const ComparedValue& value) {
    if (!keeps(value)) return;
    ++kept_values_;
    if (!is_chosen(value, options_.which())) return;
    One one{key_of(value), next_++, {}, {}};
    if (is_sorted() && limit() > 0 && kept_.size() >= limit() && !(one < kept_.front())) return;
    if (terminal_.json || options_.wants_table()) one.json = compared_json(comparison_, value);
    if (own_ != nullptr && one.json.is_object()) one.json["own"] = own_->json_of(value.row_a);
    if (!options_.csv.empty()) one.csv = csv_text(value);
    if (!is_sorted()) {
      if (limit() == 0 || shown_ < limit()) give_out(std::move(one));
      ++shown_;
      return;
    }
    // A heap with the last of those that are shown on top.
    kept_.push_back(std::move(one));
    std::push_heap(kept_.begin(), kept_.end());
    if (limit() > 0 && kept_.size() > limit()) {
      std::pop_heap(kept_.begin(), kept_.end());
      kept_.pop_back();
    }
  }

  void finish() {
    all_shown_.values += kept_values_;
    warn_of_nothing();
    std::sort(kept_.begin(), kept_.end());
    for (One& one : kept_) give_out(std::move(one));
    if (!terminal_.json && options_.wants_table()) {
      terminal_.line();
      print_compared(terminal_, table_);
    }
  }

 private:
  // Reports what the options name and no op has.
  void warn_of_nothing() const {
    if (!options_.selects()) return;
    RowQuery query = options_.query;
    query.op = options_.ops;
    query.last = 0;
    const DumpIndex* const dumps[] = {&comparison_.a(), &comparison_.b()};
    if (kept_values_ == 0) terminal_.warn("the options choose none of the compared values; the verdict is about all values");
    warn_of_unmatched(terminal_, dumps, query);
  }

  struct One {
    double key;  // the smallest stands first
    size_t number;
    Json json;
    std::string csv;
    friend bool operator<(const One& a, const One& b) { return a.key != b.key ? a.key < b.key : a.number < b.number; }
  };

  [[nodiscard]] bool is_sorted() const { return options_.order() != PairsSort::kOrder; }
  [[nodiscard]] size_t limit() const {
    if (options_.which() == PairsOnly::kFirst) return 1;
    if (options_.limit > 0) return options_.limit;
    return terminal_.json || !options_.csv.empty() ? 0 : kTableLines;
  }
  [[nodiscard]] double key_of(const ComparedValue& value) const {
    return order_key(value, options_.order(), own_ == nullptr ? own_error(value) : own_->error_of(value.row_a).value_or(-1));
  }
  [[nodiscard]] std::string csv_text(const ComparedValue& value) const {
    std::string line = csv_line(options_.style(), comparison_, value);
    if (own_ != nullptr && options_.style() == CsvStyle::kOwn) line.insert(line.size() - 1, own_->csv_cells(value.row_a));
    return line;
  }
  [[nodiscard]] bool keeps(const ComparedValue& value) const {
    if (pattern_ && !RE2::PartialMatch(record_name_of(comparison_.a(), value.row_a), *pattern_) &&
        !RE2::PartialMatch(record_name_of(comparison_.b(), value.row_b), *pattern_)) {
      return false;
    }
    if (steps_ && !steps_->contains(comparison_.a().rows()[value.row_a].step)) return false;
    return filters_[0].keeps(comparison_.a().rows()[value.row_a]) || filters_[1].keeps(comparison_.b().rows()[value.row_b]);
  }
  void give_out(One one) {
    if (terminal_.json) {
      terminal_.json_line(one.json);
    } else if (options_.wants_table()) {
      table_.push_back(std::move(one.json));
    }
    all_shown_.csv += one.csv;
  }

  const CompareOptions& options_;
  const DumpComparison& comparison_;
  const OwnErrors* own_;
  Terminal& terminal_;
  std::unique_ptr<RE2> pattern_;
  std::vector<RowFilter> filters_;          // of A and of B
  std::optional<std::set<int64_t>> steps_;  // of A; nothing = all
  size_t kept_values_ = 0;
  Status status_;
  std::vector<One> kept_;
  std::vector<Json> table_;
  Shown& all_shown_;
  size_t next_ = 0;
  size_t shown_ = 0;
};

using Dump = std::unique_ptr<DumpIndex>;
using Opened = std::vector<Dump>;

// The files and dumps that a comparison needs beside A and B.
struct Prepared {
  std::optional<ToleranceRules> rules;
  Opened noise;
  ComparisonOptions options;
};

// Of which program a dump of noise is, as its place tells.
NoiseDump::Of noise_of(const CompareOptions& options, const std::string& folder) {
  if (is_noise_of(options.a, folder)) return NoiseDump::Of::kA;
  return is_noise_of(options.b, folder) ? NoiseDump::Of::kB : NoiseDump::Of::kEither;
}

// Adds the dumps of noise that lie in the folder of one side.
Status add_found_noise(const std::string& path, NoiseDump::Of of, const Terminal& terminal, Opened& opened, ComparisonOptions& asked) {
  for (const std::string& folder : noise_dumps(path)) {
    TENSORTAP_ASSIGN_OR_RETURN(auto dump, open_for_reading(terminal, folder));
    asked.noise.push_back({dump.get(), of});
    opened.push_back(std::move(dump));
  }
  return {};
}

Status prepare(const CompareOptions& options, const Terminal& terminal, Prepared& prepared) {
  const bool of_phase = model_phase_of(options.steps) != ModelPhase::kNone;
  auto steps = parse_step_pairs(of_phase ? "" : options.steps);
  if (!steps.ok()) return Status(steps.status().code(), "--" + steps.status().message());
  prepared.options.steps = *std::move(steps);
  if (!options.map.empty()) {
    TENSORTAP_ASSIGN_OR_RETURN(const std::string text, read_file(options.map));
    TENSORTAP_ASSIGN_OR_RETURN(prepared.options.map, parse_name_map(text, options.map));
    prepared.options.map_name = options.map;
  }
  if (!(options.allow >= 1 && std::isfinite(options.allow))) {
    return invalid_argument(fmt::format("--allow {:g}: give a number from 1 on", options.allow));
  }
  if (options.allow != 1 && options.tolerance != kAutomatic) {
    return invalid_argument("--allow multiplies the tolerance auto: leave out --tolerance");
  }
  prepared.options.allow = options.allow;
  if (options.tolerance != kAutomatic) {
    TENSORTAP_ASSIGN_OR_RETURN(const std::string text, read_file(options.tolerance));
    TENSORTAP_ASSIGN_OR_RETURN(prepared.rules, ToleranceRules::parse(text, options.tolerance));
    prepared.options.rules = &*prepared.rules;
  }
  if (options.without_noise()) return {};
  for (const std::string& folder : options.noise) {
    auto dump = open_for_reading(terminal, folder);
    if (!dump.ok()) return dump.status();
    prepared.options.noise.push_back({dump->get(), noise_of(options, folder)});
    prepared.noise.push_back(*std::move(dump));
  }
  return {};
}

void print_unpaired(Terminal& terminal, const DumpComparison& comparison) {
  for (const Unpaired& one : comparison.unpaired_a()) terminal.json_line(unpaired_json(comparison, one, true));
  for (const Unpaired& one : comparison.unpaired_b()) terminal.json_line(unpaired_json(comparison, one, false));
}

// Records that could not be compared are never a success, whatever the rest is.
ExitCode comparison_code(const ComparisonSummary& summary, const std::string& unknown, const Terminal& terminal) {
  if (summary.unreadable > 0) {
    terminal.warn(printable(
        fmt::format("a dump is damaged: the tensors of {} of {} records could not be read, only statistics are compared; the first: {}",
                    summary.unreadable, summary.records, summary.first_unreadable)));
  }
  if (summary.outside()) return ExitCode::kFound;
  if (summary.judged() == 0) terminal.error(printable(unknown));
  return unknown.empty() ? ExitCode::kFine : ExitCode::kFailed;
}

// The same comparison as a page: it takes the dumps that were compared.
Status report_part(const CompareOptions& options, const ComparedPart& part, Dump a, Dump b, std::unique_ptr<ComparedPairs> pairs,
                   Terminal& terminal) {
  const auto answers = WebAnswers::of(ServedDump::opened(part.a, std::move(a)), ServedDump::opened(part.b, std::move(b)), std::move(pairs));
  TENSORTAP_ASSIGN_OR_RETURN(const Json done, write_report_file(*answers, options.report, terminal));
  terminal.note(report_line(done));
  return {};
}

// kFound when something is outside of the tolerance, kFailed when not all that the dumps have could be compared.
Result<ExitCode> compare_part(const CompareOptions& options, const ComparedPart& part, const Prepared& prepared, Terminal& terminal,
                              Shown& shown) {
  AnsweredDumps dumps;
  auto b = open_for_reading(terminal, part.b);
  if (!b.ok()) return b.status();
  auto a = part.of_shards ? open_shards(terminal, options.shards, part.a, **b) : open_for_reading(terminal, part.a);
  if (!a.ok()) return a.status();
  dumps.add(part.a, (*a)->completeness());
  dumps.add(part.b, (*b)->completeness());
  dumps.print_state(terminal);
  Progress progress(terminal);
  ComparisonOptions asked = prepared.options;
  if (const ModelPhase phase = model_phase_of(options.steps); phase != ModelPhase::kNone) {
    TENSORTAP_ASSIGN_OR_RETURN(asked.steps, step_pairs_of_phase(**a, **b, phase));
  }
  Opened noise;
  if (options.finds_noise()) {
    TENSORTAP_RETURN_IF_ERROR(add_found_noise(part.a, NoiseDump::Of::kA, terminal, noise, asked));
    TENSORTAP_RETURN_IF_ERROR(add_found_noise(part.b, NoiseDump::Of::kB, terminal, noise, asked));
  }
  asked.progress = [&progress](std::string_view stage, size_t done, size_t all) { progress.update(stage, done, all); };
  auto made = DumpComparison::make(**a, **b, std::move(asked));
  progress.finish();
  if (!made.ok()) return made.status();
  DumpComparison& comparison = **made;
  std::unique_ptr<ComparedPairs> kept;
  if (!options.report.empty()) kept = std::make_unique<ComparedPairs>(*std::move(made));
  std::optional<OwnErrors> own;
  if (options.replay) {
    TENSORTAP_ASSIGN_OR_RETURN(own, OwnErrors::measure(**a, **b, options.runtime, terminal));
  }
  Chosen chosen(options, comparison, own ? &*own : nullptr, terminal, shown);
  TENSORTAP_RETURN_IF_ERROR(chosen.status());
  const auto visit = [&](const ComparedValue& value) { chosen.add(value); };
  kept != nullptr ? kept->run(visit) : comparison.run(visit);
  progress.finish();
  Json summary = summary_json(comparison);
  if (own) summary["summary"]["replay"] = own->summary();
  summary["summary"]["dump"] = dumps.json();
  if (!part.name.empty()) summary["part"] = part.name;
  if (!terminal.json && !part.name.empty()) terminal.line(terminal.out_palette().bold(part.name));
  if (!terminal.json) print_comparison(terminal, summary.at("summary"), options.all);
  chosen.finish();
  if (terminal.json) {
    print_unpaired(terminal, comparison);
    terminal.json_line(summary);
  }
  if (comparison.steps().by_order) {
    terminal.note("no step is in both dumps: steps are compared in their order (--steps changes that)");
  }
  const std::string unknown = member_text(summary.at("summary"), "not_known");
  const ExitCode code = dumps.code_of(comparison_code(comparison.summary(), unknown, terminal));
  if (kept != nullptr) TENSORTAP_RETURN_IF_ERROR(report_part(options, part, *std::move(a), *std::move(b), std::move(kept), terminal));
  return code;
}

Result<ExitCode> compare(const CompareOptions& options, Terminal& terminal) {
  Prepared prepared;
  if (!options.report.empty()) TENSORTAP_RETURN_IF_ERROR(check_report_path(options.report).with_context("--report"));
  TENSORTAP_RETURN_IF_ERROR(prepare(options, terminal, prepared));
  TENSORTAP_ASSIGN_OR_RETURN(const ComparedParts asked, compared_parts(options.a, options.b, options.shards, terminal));
  const std::vector<ComparedPart>& parts = asked.pairs;
  if (!options.report.empty() && parts.size() > 1) {
    return invalid_argument(fmt::format("--report shows one pair of dumps, and these have {}: compare {} with {}, and so on", parts.size(),
                                        parts.front().a, parts.front().b));
  }
  ExitCode code = asked.has_all ? ExitCode::kFine : ExitCode::kFailed;
  Shown shown;
  for (const ComparedPart& part : parts) {
    TENSORTAP_ASSIGN_OR_RETURN(const ExitCode of_part, compare_part(options, part, prepared, terminal, shown));
    if (code != ExitCode::kFound && of_part != ExitCode::kFine) code = of_part;
  }
  if (!options.csv.empty()) {
    std::string header = csv_header(options.style());
    if (options.replay && options.style() == CsvStyle::kOwn) header.insert(header.size() - 1, OwnErrors::csv_titles());
    TENSORTAP_RETURN_IF_ERROR(write_file_atomically(options.csv, header + shown.csv, Access::kShared));
  }
  if (options.selects() && shown.values == 0 && code == ExitCode::kFine) return ExitCode::kUsage;
  return code;
}

}  // namespace

Action declare_compare(CLI::App& app) {
  const auto options = std::make_shared<CompareOptions>();
  app.add_option("A", options->a, "Folder of the dump that is judged")->type_name(kDump)->required();
  app.add_option("B", options->b, "Folder of the dump that is the reference")->type_name(kDump)->required();
  app.add_option("--map", options->map, "Names that belong together: lines \"A-name<TAB>B-name\", or YAML; re: begins a pattern")
      ->type_name(kFile);
  app.add_option("--allow", options->allow, "Multiply the errors that rounding may make by this (1)")->type_name("FACTOR");
  app.add_option("--tolerance", options->tolerance,
                 "auto (by the inputs of each value and by the noise), or a file of lines \"REGEX ABSOLUTE RELATIVE\", the last for \".*\"")
      ->type_name("auto|FILE");
  add_repeated(app, "--noise", options->noise, kDump,
               "A run of one of the programs, of inputs moved by their last bit; or none (what `run --noise` left in A and B)");
  add_shard_options(app, options->shards);
  app.add_option("--steps", options->steps, "Steps beside each other, such as 3:4 (A:B), 0-5; or decode, prefill")->type_name("STEPS");
  app.add_option("--ops", options->ops, "Show only values whose names match this regular expression")->type_name("REGEX");
  app.add_option("--types", options->query.type, "Show only values of ops of these types, such as Conv,Gemm")->type_name("A,B");
  app.add_option("--modules", options->query.module, "Show only values of these modules and of those inside them")->type_name("GLOB");
  app.add_option("--last", options->query.last, "Show only values of the last of the compared steps, this many")
      ->type_name("N")
      ->check(in_range(1, kMostListed));
  app.add_flag("--all", options->all,
               "Show everything: also the rules that paired, the values of one dump only, and where rounding was born");
  add_choice(app, "--only", options->only, {"differing", "first", "all"},
             "Show the values that are not equal, the first outside of the tolerance, or all");
  add_choice(app, "--sort", options->sort, {"error", "own", "order"},
             "Show the largest first, of all error or what an op adds itself; or as they ran");
  app.add_option("--limit", options->limit, "Show at most this many (20; of JSON and CSV all)")
      ->type_name("N")
      ->check(in_range(1, kMostListed));
  auto* csv = app.add_option("--csv", options->csv, "Write the shown values into this file, with all columns")->type_name(kFile);
  add_choice(app, "--csv-style", options->csv_style, {"tensortap", "msprobe"}, "Columns of that file")->needs(csv);
  app.add_option("--report", options->report, "Write the comparison as one HTML file, too")->type_name(kFile);
  auto* replay = app.add_flag("--replay", options->replay, "Run each op of A again, on the runtime of B: its own error, exactly");
  app.add_option("--runtime", options->runtime, "The libonnxruntime for --replay, or the folder that holds it (the one that made B)")
      ->type_name(kPath)
      ->needs(replay);
  return [options](Terminal& terminal) { return compare(*options, terminal); };
}

}  // namespace tensortap::cli
