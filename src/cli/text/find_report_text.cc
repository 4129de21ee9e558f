#include "cli/text/find_report_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/counted.h"
#include "base/json.h"
#include "cli/text/failure_text.h"
#include "cli/text/find_text.h"
#include "cli/text/member_text.h"
#include "cli/text/origin_text.h"
#include "cli/text/summary_text.h"
#include "find/find_report.h"
#include "query/failed_op.h"
#include "trace/completeness.h"

namespace tensortap::cli {
namespace {

constexpr size_t kShown = 3;  // of a list, without --all
constexpr size_t kScreenRows = 22;
constexpr size_t kScreenColumns = 80;

// How many rows of a screen a line takes; colours take no place.
size_t rows_of(std::string_view line) {
  size_t columns = 0;
  bool in_colour = false;
  for (const char c : line) {
    if (c == '\x1b') in_colour = true;
    if (!in_colour) ++columns;
    if (c == 'm') in_colour = false;
  }
  return 1 + (columns == 0 ? 0 : columns - 1) / kScreenColumns;
}

// The lines of an answer: all of them, or those that fit on a screen. Limits of the answer are never left out.
class AnswerLines {
 public:
  AnswerLines(Terminal& terminal, bool all) : terminal_(terminal), all_(all) {}
  [[nodiscard]] Terminal& terminal() const { return terminal_; }
  [[nodiscard]] const Palette& palette() const { return terminal_.out_palette(); }
  [[nodiscard]] bool all() const { return all_; }

  void line(std::string text) { add(std::move(text), true); }
  // Left out where the screen is full.
  void extra(std::string text) { add(std::move(text), false); }
  // There is more to tell than what was added.
  void hide() { hidden_ = true; }

  void print() {
    size_t rows = 0;
    for (const Line& one : lines_) rows += one.is_needed ? rows_of(one.text) : 0;
    size_t left_out = 0;
    for (const Line& one : lines_) {
      if (!one.is_needed && (left_out > 0 || rows + rows_of(one.text) > kScreenRows)) {
        ++left_out;
        continue;
      }
      if (!one.is_needed) rows += rows_of(one.text);
      terminal_.line(one.text);
    }
    if (left_out > 0) {
      terminal_.line(fmt::format("and {} more; --all prints everything", counted(left_out, "line")));
    } else if (hidden_) {
      terminal_.line("--all prints everything");
    }
  }

 private:
  struct Line {
    std::string text;
    bool is_needed;
  };
  void add(std::string text, bool is_needed) {
    if (all_) return terminal_.line(text);
    lines_.push_back({std::move(text), is_needed});
  }

  Terminal& terminal_;
  bool all_;
  bool hidden_ = false;
  std::vector<Line> lines_;
};

using Origins = std::vector<const Json*>;

bool is_harmless(const Json& origin) { return origin.value("harmless", false); }

bool begin_alike(const Json& a, const Json& b) { return a.at("chain").back() == b.at("chain").back(); }

// Whether the way back of an origin ends at the value that is named first.
bool ends_at(const Json& origin, const Json& first) {
  const Json& begin = origin.at("chain").back();
  return std::ranges::all_of(std::vector{"op", "slot", "step"}, [&](const char* key) { return begin.at(key) == first.at(key); });
}

// The origin of the first value, null where none is known.
const Json* origin_of_first(const Json& report) {
  if (report.at("first_nonfinite").is_null()) return nullptr;
  if (report.at("seen").is_object()) return &report.at("seen");
  const Json& origins = report.at("origins");
  const auto found = std::ranges::find_if(origins, [&](const Json& one) { return ends_at(one, report.at("first_nonfinite")); });
  return found == origins.end() ? nullptr : &*found;
}

std::string line_of(const Json& origin) {
  const Json& begin = origin.at("chain").back();
  const std::string place = place_text(begin);
  return fmt::format("  step {}, {}: {}{}{}", member_text(begin, "step"), record_text(begin), counts_text(begin), place.empty() ? "" : ", ",
                     place);
}

void add_more(AnswerLines& lines, uint64_t left_out) {
  if (left_out == 0) return;
  lines.extra(fmt::format("  and {} more", left_out));
  lines.hide();
}

// Adds the first of `count` origins; the report may list fewer.
void add_origins(AnswerLines& lines, const Origins& origins, uint64_t count, std::string_view title, bool whole_ways) {
  if (count == 0) return;
  lines.line(lines.palette().bold(title));
  const size_t shown = lines.all() ? origins.size() : std::min(origins.size(), kShown);
  for (size_t i = 0; i < shown; ++i) {
    if (whole_ways) {
      print_origin(lines.terminal(), *origins[i]);
    } else {
      lines.extra(line_of(*origins[i]));
    }
  }
  add_more(lines, count - shown);
}

// Adds the origins that were not told yet, and those that are harmless.
void add_other_origins(AnswerLines& lines, const Json& report, const Json* told) {
  Origins others;
  Origins harmless;
  for (const Json& origin : report.at("origins")) {
    if (told != nullptr && begin_alike(origin, *told)) continue;
    (is_harmless(origin) ? harmless : others).push_back(&origin);
  }
  const char* title = report.at("first_nonfinite").is_null() ? "on purpose, as it seems" : "others";
  add_origins(lines, others, others.size(), fmt::format("{}: {}", title, others.size()), lines.all());
  const uint64_t count = std::max<uint64_t>(count_in(report, "harmless"), harmless.size());
  add_origins(lines, harmless, count,
              fmt::format("harmless: {}, nothing of which reached a value that the program read, a parameter or a result", count), false);
}

// The answer for a dump whose known values are healthy.
std::string known_healthy_text(const Json& report) {
  if (saw_nothing(report)) {
    return fmt::format("{}: {}", count_in(report, "records") == 0 ? "nothing was looked at" : "unknown", nothing_seen_text(report));
  }
  if (count_in(report, "left_out") > 0) return "no NaN and no Inf in the records that were kept";
  if (count_in(report, "not_looked_at") > 0) return "no NaN and no Inf in the records that were looked at";
  if (count_in(report, "harmless") > 0) return "no NaN and no Inf in what the program saw";
  if (!report.at("origins").empty()) return "no NaN and no Inf, but what is there on purpose";
  const bool saw_all = report.at("not_captured").empty();
  // The trigger looks for what ops make: values that were not finite before are no news to it.
  if (member(report, "trigger") != nullptr) {
    return saw_all ? "no op made NaN or Inf of finite values" : "no captured op made NaN or Inf of finite values";
  }
  return saw_all ? "no NaN and no Inf" : "no NaN and no Inf in what was captured";
}

// Whether the first line is about records, or values without a record, whose NaN and Inf are not known.
bool begins_with_unknown(const Json& report) {
  return count_in(report, "unknown") + count_in(report, "hidden_ops") > 0 && !saw_nothing(report);
}

std::string healthy_text(const Json& report) {
  const std::string text(known_healthy_text(report));
  return begins_with_unknown(report) ? fmt::format("not known: {}; otherwise {}", member_text(report, "not_known"), text) : text;
}

// What of an answer that clears something was not seen.
void add_not_captured(AnswerLines& lines, const Json& report) {
  const Json& reasons = report.at("not_captured");
  const size_t shown = lines.all() ? reasons.size() : std::min(reasons.size(), kShown);
  for (size_t i = 0; i < shown; ++i) lines.line(lines.palette().yellow("not captured: " + reason_text(reasons[i])));
  add_more(lines, reasons.size() - shown);
}

void add_unknown(AnswerLines& lines, const Json& report) {
  if (report.at("first_nonfinite").is_null() && begins_with_unknown(report)) return;
  if (const uint64_t count = count_in(report, "not_looked_at"); count > 0) lines.line(not_looked_at_text(count));
  if (const uint64_t count = count_in(report, "left_out"); count > 0)
    lines.line(fmt::format("not known: {} that a limit of the capture left out", counted(count, "record")));
  const uint64_t unknown = count_in(report, "unknown");
  if (unknown == 0) return;
  lines.line(fmt::format("not known: {} with neither counts of all elements nor all data", counted(unknown, "record")));
}

void add_first(AnswerLines& lines, const Json& report, const Json* origin) {
  const Json& first = report.at("first_nonfinite");
  lines.line(lines.palette().red("first non-finite value: ") + nonfinite_text(first));
  if (first.contains("told_by")) {
    lines.line(fmt::format("  told by {}: the record itself is not in the dump", member_text(first, "told_by")));
  }
  if (!(first.at("module").is_null() && first.at("forward").is_null())) lines.line("  " + place_text(first));
  if (origin != nullptr && !lines.all()) {
    for (const std::string& line : origin_lines(*origin)) lines.line("  " + line);
    if (origin->at("chain").size() > 1) lines.hide();
  }
  if (const Json* lead = member(report, "lead"); lead != nullptr) lines.line("  " + lead_text(*lead, first));
  if (!lines.all()) return;
  if (report.contains("first_in_time")) {
    lines.line("first in time, but there on purpose or without effect: " + nonfinite_text(report.at("first_in_time")));
  }
  if (origin == nullptr) return;
  const char* title = report.at("seen").is_object() ? "the way from there to what the program saw" : "where it begins";
  lines.line(lines.palette().bold(title));
  print_origin(lines.terminal(), *origin);
}

void add_unwritten(AnswerLines& lines, const Json& report, const Json* told) {
  std::vector<std::string> texts;
  for (const Json& one : report.at("unwritten")) {
    const bool is_told = told != nullptr && member_text(*told, "kind") == "uninitialised memory" &&
                         told->at("chain").back().at("op") == one.at("op") && told->at("chain").back().at("step") == one.at("step");
    if (!is_told) texts.push_back(unwritten_text(one));
  }
  const size_t shown = lines.all() ? texts.size() : std::min(texts.size(), kShown);
  for (size_t i = 0; i < shown; ++i) lines.line(lines.palette().red(texts[i]));
  add_more(lines, texts.size() - shown);
}

void add_failure(AnswerLines& lines, const Json& failed) {
  const std::string text = printable(failed_op_text(failed));
  if (text.empty()) return;
  lines.line(ended_program(failed) ? lines.palette().red("failed op: ") + text
                                   : fmt::format("failed op: {}; the program caught it and went on", text));
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

void add_headroom(AnswerLines& lines, const Json& report, const char* target) {
  const Json& list = report.at("headroom").at(target);
  if (list.empty()) return;
  const Palette& palette = lines.palette();
  const std::string title = palette.bold(fmt::format("closest to the limit of {}", target));
  if (!lines.all()) {
    // Where nothing but Inf is known the type's limit is no matter.
    const auto first = std::ranges::find_if(list, [](const Json& one) { return one.at("absmax").is_number(); });
    if (first != list.end()) lines.extra(fmt::format("{}: {}", title, headroom_text(*first, palette)));
    if (list.size() > 1) lines.hide();
    return;
  }
  lines.line(title);
  for (const Json& one : list) lines.line("  " + headroom_text(one, palette));
}

void add_list(AnswerLines& lines, const Json& list, std::string_view title) {
  if (!list.is_array() || list.empty()) return;
  lines.extra(lines.palette().bold(title));
  const size_t shown = lines.all() ? list.size() : 1;
  for (size_t i = 0; i < shown; ++i) lines.extra("  " + record_text(list[i]));
  add_more(lines, list.size() - shown);
}

}  // namespace

void print_find_report(Terminal& terminal, const Json& report, bool all) {
  AnswerLines lines(terminal, all);
  const Json* origin = origin_of_first(report);
  add_failure(lines, report.at("failed_op"));
  add_unwritten(lines, report, origin);
  if (report.at("first_nonfinite").is_object()) {
    add_first(lines, report, origin);
  } else {
    const std::string text = healthy_text(report);
    lines.line(is_partial(report) ? lines.palette().yellow(text) : lines.palette().green(text));
    add_not_captured(lines, report);
  }
  add_unknown(lines, report);
  add_other_origins(lines, report, origin);
  add_headroom(lines, report, "float16");
  add_headroom(lines, report, "bfloat16");
  add_list(lines, report.at("dead_outputs"), "dead outputs: nothing but zeros");
  if (const Json& gradients = report.at("gradients"); gradients.is_object()) {
    add_list(lines, gradients.value("exploding", Json()), "exploding gradients");
    add_list(lines, gradients.value("vanishing", Json()), "vanishing gradients");
  }
  if (const std::string route = member_text(report, "compile_route"); !route.empty()) lines.line(route);
  lines.print();
}

std::string finding_line(const Json& report) {
  if (report.at("first_nonfinite").is_object()) return "first non-finite value: " + nonfinite_text(report.at("first_nonfinite"));
  if (!report.at("unwritten").empty()) return unwritten_text(report.at("unwritten").front());
  return "failed op: " + printable(failed_op_text(report.at("failed_op")));
}

}  // namespace tensortap::cli
