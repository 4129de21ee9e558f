#include "cli/text/compare_text.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/name_list.h"
#include "base/text.h"
#include "cli/text/member_text.h"
#include "cli/text/table.h"
#include "compare/early_end.h"

namespace tensortap::cli {
namespace {

constexpr size_t kMostNamed = 3;
constexpr const char* kSame = "same statistics";
constexpr const char* kNot = "not comparable";

uint64_t number(const Json& json, const char* key) { return json.at(key).get<uint64_t>(); }

std::string error_text(const Json& error) {
  return error.is_number() ? fmt::format("{:.3g}", error.get<double>()) : error.is_string() ? error.get<std::string>() : "unknown";
}

// "12 value name, 3 topology": what is not 0.
std::string rule_counts_text(const Json& counts) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts.items()) {
    if (count != 0) parts.push_back(fmt::format("{} {}", count.get<uint64_t>(), name));
  }
  return join(parts, ", ");
}

// What the kernel does by itself.
std::string own_text(const Json& own) {
  const Json* error = member(own, "relative_l2");
  if (error == nullptr) return own.is_null() ? "" : member_text(own, "outcome");
  return member_text(own, "outcome") == "equal" ? "equal" : error_text(*error);
}

// "Sqrt.52:out0 (Sqrt)"
std::string named_text(const Json& place) { return fmt::format("{} ({})", member_text(place, "b"), member_text(place, "type")); }

// The first of them, and how many more there are.
std::string first_names(const Json& list) {
  std::vector<std::string> names;
  for (const Json& one : list) names.push_back(named_text(one));
  return name_list(std::move(names), kMostNamed);
}

class Printer {
 public:
  Printer(Terminal& terminal, const Json& summary) : terminal_(terminal), summary_(summary) {}

  void print(bool all) {
    print_settings();
    print_verdict();
    for (const Json& detail : summary_.at("details")) line("", detail.get<std::string>());
    line("pairs", fmt::format("{} of {} values (A), {} of {} (B); {} not explained", number(summary_, "paired"),
                              number(summary_, "values_a"), number(summary_, "paired"), number(summary_, "values_b"), unexplained()));
    if (all) {
      print_rules();
      print_unpaired("only in A", summary_.at("unpaired_a"));
      print_unpaired("only in B", summary_.at("unpaired_b"));
    }
    print_steps();
    print_results();
    print_blocks();
    print_equal();
    print_noise();
    print_given();
    if (all) {
      print_first();
      print_born();
    }
    print_replay();
    print_early_end("A", summary_.at("ended_early_a"));
    print_early_end("B", summary_.at("ended_early_b"));
  }

 private:
  void line(std::string_view title, std::string_view text) {
    terminal_.line(fmt::format("{}{}", terminal_.out_palette().bold(fmt::format("{:<11} ", title)), text));
  }
  [[nodiscard]] uint64_t unexplained() const {
    return number(summary_.at("unpaired_a"), "not explained") + number(summary_.at("unpaired_b"), "not explained");
  }

  // How the programs were run comes before what came of it. The verdict is the same with and without it.
  void print_settings() {
    const std::string text = member_text(summary_, "settings_differ");
    if (!text.empty()) line("settings", terminal_.out_palette().yellow(printable(text)));
  }

  void print_rules() {
    const std::string refused = rule_counts_text(summary_.at("refused"));
    const std::string found = rule_counts_text(summary_.at("rules"));
    line("found by", (found.empty() ? "nothing" : found) + (refused.empty() ? "" : "; refused for their values: " + refused));
  }

  void print_unpaired(std::string_view title, const Json& counts) {
    if (const std::string text = rule_counts_text(counts); !text.empty()) line(title, text);
  }

  // "paired by their token ids: 1:0, 2:1; 1 step of A has no partner"
  void print_steps() {
    const Json& by_ids = summary_.at("steps_by_ids");
    if (by_ids.is_null()) return;
    std::vector<std::string> pairs;
    for (const Json& pair : by_ids.at("pairs")) pairs.push_back(fmt::format("{}:{}", pair.at(0).dump(), pair.at(1).dump()));
    std::string text = "paired by their token ids: " + name_list(std::move(pairs), kMostNamed);
    for (const auto& [side, key] : {std::pair("A", "alone_a"), std::pair("B", "alone_b")}) {
      const uint64_t alone = number(by_ids, key);
      if (alone > 0) text += fmt::format("; {} {} of {} without a partner", alone, alone == 1 ? "step" : "steps", side);
    }
    line("steps", text);
  }

  // The results of the programs matter most: without them the other values count for little.
  void print_results() {
    const Json& a = summary_.at("results_a");
    const Json& b = summary_.at("results_b");
    std::string text = fmt::format("{} paired", number(b, "paired"));
    for (const auto& [side, count] : {std::pair("A", &a), std::pair("B", &b)}) {
      if (number(*count, "open") == 0) continue;
      text += fmt::format("; {} {} of {} and all that is made of {} have no partner, the first: {}", number(*count, "open"),
                          number(*count, "open") == 1 ? "value" : "values", side, number(*count, "open") == 1 ? "it" : "them",
                          member_text(*count, "first_open"));
    }
    line("results", text);
  }

  // "weights of A: q4_0, which loses 8.3 % of them; what is made of them may differ by that"
  void print_blocks() {
    const Json& blocks = summary_.at("blocks");
    if (blocks.is_null()) return;
    std::vector<std::string> sides;
    for (const auto& [side, key] : {std::pair("A", "a"), std::pair("B", "b")}) {
      std::vector<std::string> types;
      for (const auto& [type, loss] : blocks.at(key).items()) types.push_back(fmt::format("{} ({:.2g})", type, loss.get<double>()));
      if (!types.empty()) sides.push_back(fmt::format("{} in {}", join(types, ", "), side));
    }
    line("tolerance", fmt::format("as wide as the loss of weights in blocks, relative L2: {}", join(sides, "; ")));
  }

  void print_equal() {
    const Json& verdicts = summary_.at("verdicts");
    std::string text = fmt::format("{} bit by bit", number(verdicts, "equal"));
    if (const uint64_t same = number(verdicts, kSame); same > 0) text += fmt::format("; {} {}", same, kSame);
    Json others = verdicts;
    others.erase("equal");
    others.erase(kSame);
    if (const std::string rest = rule_counts_text(others); !rest.empty()) text += "; " + rest;
    if (!summary_.at("first_differing").is_null()) text += "; largest relative L2 " + error_text(summary_.at("largest_error"));
    if (const Json& ratio = summary_.at("largest_noise_ratio"); ratio.is_number() && ratio.get<double>() > 0) {
      text += fmt::format(", {:.2g} times the noise", ratio.get<double>());
    }
    line("equal", text);
  }

  void print_noise() {
    const uint64_t dumps = number(summary_, "noise_dumps");
    if (dumps == 0) return;
    line("noise", fmt::format("{} {} of inputs moved by the last bit, which changes {} of {} records", dumps, dumps == 1 ? "run" : "runs",
                              number(summary_, "with_noise"), records_made()));
  }
  // Of values that ops made.
  [[nodiscard]] uint64_t records_made() const {
    uint64_t all = 0;
    for (const auto& [name, count] : summary_.at("verdicts").items()) all += count.get<uint64_t>();
    return all;
  }

  void print_given() {
    const Json& given = summary_.at("given");
    uint64_t all = 0;
    for (const auto& [name, count] : given.items()) all += count.get<uint64_t>();
    const uint64_t unknown = number(given, kNot);
    const uint64_t differing = all - unknown - number(given, "equal") - number(given, kSame);
    std::vector<std::string> parts;
    if (differing > 0) {
      const Json& first = summary_.at("first_given");
      parts.push_back(fmt::format("{} of {} weights and inputs are not equal; the first: {}, relative L2 {}", differing, all,
                                  member_text(first, "b"), error_text(first.at("error"))));
    }
    if (unknown > 0) parts.push_back(fmt::format("{} of {} weights and inputs are {}", unknown, all, kNot));
    if (const uint64_t addresses = number(summary_, "addresses"); addresses > 0) {
      parts.push_back(
          fmt::format("{} {} addresses of memory, which are not compared", addresses, addresses == 1 ? "tensor holds" : "tensors hold"));
    }
    if (!parts.empty()) line("given", join(parts, "; "));
  }

  void print_first() {
    const bool outside = !summary_.at("first_outside").is_null();
    const Json& first = summary_.at(outside ? "first_outside" : "first_differing");
    if (first.is_null()) return;
    std::string text = fmt::format("{}: relative L2 {}", named_text(first), error_text(first.at("error")));
    if (const Json& place = first.at("first_differing"); !place.is_null()) text += ", first at " + place.dump();
    line("first", text);
  }

  void print_born() {
    const Json& born = summary_.at("born");
    const uint64_t heirs = number(summary_, "inherited");
    const uint64_t unknown = number(summary_, "unknown");
    if (born.empty() && heirs == 0 && unknown == 0) return;
    std::string text = fmt::format("{} {}{}{}", born.size(), born.size() == 1 ? "op" : "ops", born.empty() ? "" : ": ", first_names(born));
    if (heirs > 0)
      text += fmt::format("; {} {}{}", heirs, born.empty() ? "" : heirs == 1 ? "other " : "others ", heirs == 1 ? "inherits" : "inherit");
    if (const Json& growth = summary_.at("largest_growth"); !growth.is_null()) {
      text += fmt::format(" (largest growth {} times, {})", error_text(growth.at("growth")), named_text(growth));
    }
    if (unknown > 0) text += fmt::format("; of {} not all that they read is known", unknown);
    line("born in", text);
  }

  // What the kernels do by themselves.
  void print_replay() {
    const Json* replay = member(summary_, "replay");
    if (replay == nullptr) return;
    std::vector<std::string> kernels;
    for (const Json& kernel : replay->at("kernels")) {
      kernels.push_back(fmt::format("{} {} (relative L2 up to {})", number(kernel, "outputs"), member_text(kernel, "type"),
                                    error_text(kernel.at("relative_l2"))));
    }
    line("replay", fmt::format("{} of {} outputs of A come out equal on {}{}", number(*replay, "equal"), number(*replay, "outputs"),
                               member_text(*replay, "runtime"), kernels.empty() ? "" : "; of themselves differ " + join(kernels, ", ")));
    if (const uint64_t left = number(*replay, "not_replayed"); left > 0) {
      const Json& reason = replay->at("reasons").at(0);
      line("", fmt::format("{} ops were not replayed, the first: {}", left, member_text(reason, "reason")));
    } else if (const Json& verdicts = summary_.at("verdicts");
               kernels.empty() && number(verdicts, "noise") + number(verdicts, "tolerated") + number(verdicts, "different") > 0) {
      line("", "no kernel changed: B runs other ops, or the same in another layout, or on other inputs");
    }
  }

  // Later records exist in one dump only.
  void print_early_end(std::string_view side, const Json& end) {
    if (!end.is_null()) line("ended early", terminal_.out_palette().yellow(fmt::format("{}: {}", side, printable(early_end_text(end)))));
  }

  void print_verdict() {
    const Palette& palette = terminal_.out_palette();
    const double allow = summary_.at("allow").get<double>();
    const std::string more = allow == 1 ? "" : fmt::format(" (with --allow {:g})", allow);
    const Json& verdicts = summary_.at("verdicts");
    const Json& given = summary_.at("given");
    const uint64_t nonfinite = number(verdicts, "non-finite") + number(given, "non-finite");
    const uint64_t different = number(verdicts, "different") + number(given, "different");
    const uint64_t other_sizes = number(summary_, "other_sizes");
    const size_t born = summary_.at("born").size();
    if (nonfinite + different + other_sizes > 0) {
      const Json& culprit = summary_.at("culprit");
      std::vector<std::string> parts;
      if (const Json& inputs = summary_.at("other_inputs"); !inputs.is_null()) parts.push_back(inputs.get<std::string>());
      if (!culprit.is_null()) parts.push_back("first in " + member_text(culprit, "text"));
      parts.push_back(fmt::format("{} outside of the tolerance", different));
      std::string text = "different: " + join(parts, "; ");
      if (nonfinite > 0) text += fmt::format(", {} with NaN or Inf on one side only", nonfinite);
      if (other_sizes > 0) text += fmt::format(", {} with another number of elements", other_sizes);
      line("verdict", palette.red(text + more));
    } else if (number(summary_, "judged") == 0) {
      line("verdict", palette.red("nothing was comparable"));
    } else if (number(summary_.at("results_a"), "open") + number(summary_.at("results_b"), "open") > 0) {
      line("verdict", palette.yellow("unknown: what could be compared agrees, but results have no partner"));
    } else if (!summary_.at("ended_early_a").is_null() || !summary_.at("ended_early_b").is_null()) {
      line("verdict", palette.yellow("unknown: what ran before the early end agrees"));
    } else if (!summary_.at("not_known").is_null()) {
      line("verdict", palette.yellow("unknown: what could be compared agrees, but " + member_text(summary_, "not_known")));
    } else if (number(verdicts, "noise") + number(verdicts, "tolerated") > 0) {
      const std::string where = born == 0 ? "" : fmt::format(", other rounding in {} {}", born, born == 1 ? "op" : "ops");
      line("verdict", palette.green("same computation" + where + more));
    } else if (number(verdicts, kSame) > 0) {
      line("verdict", palette.green("nothing differs in the statistics; whether all values are equal only tensors say"));
    } else {
      line("verdict", palette.green("equal"));
    }
  }

  Terminal& terminal_;
  const Json& summary_;
};

}  // namespace

void print_comparison(Terminal& terminal, const Json& summary, bool all) { Printer(terminal, summary).print(all); }

void print_compared(Terminal& terminal, std::span<const Json> pairs) {
  if (pairs.empty()) return;
  const bool has_own = pairs.front().contains("own");
  std::vector<Column> columns = {{"B", false, true, 12, true},
                                 {"A", false, true, 12, true},
                                 {"type", false, true},
                                 {"found by"},
                                 {"verdict"},
                                 {"relative L2", true},
                                 {"max abs", true},
                                 {"ulp", true},
                                 {"birth"},
                                 {"growth", true}};
  if (has_own) columns.push_back({"own", true});
  TablePrinter table(terminal, std::move(columns));
  for (const Json& one : pairs) {
    const Json* max_abs = member(one, "max_abs");
    const Json* growth = member(one, "growth");
    const bool same_name = one.at("a") == one.at("b");
    std::vector<std::string> cells = {member_text(one, "b"),
                                      same_name ? "=" : member_text(one, "a"),
                                      member_text(one, "type_b"),
                                      member_text(one, "rule"),
                                      member_text(one, "verdict"),
                                      one.at("error").is_null() ? "" : error_text(one.at("error")),
                                      max_abs == nullptr ? "" : error_text(*max_abs),
                                      member_text(one, "max_ulp"),
                                      member_text(one, "birth"),
                                      growth == nullptr ? "" : error_text(*growth)};
    if (has_own) cells.push_back(own_text(one.at("own")));
    table.add(std::move(cells));
  }
  table.finish();
}

}  // namespace tensortap::cli
