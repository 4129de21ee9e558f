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

void print_more(Terminal& terminal, uint64_t left_out) {
  if (left_out > 0) terminal.line(fmt::format("  and {} more (--all)", left_out));
}

// Prints the first of `count` origins; the report may list fewer.
void print_origins(Terminal& terminal, const Origins& origins, uint64_t count, std::string_view title, bool all, bool whole_ways) {
  if (count == 0) return;
  terminal.line(terminal.out_palette().bold(title));
  const size_t shown = all ? origins.size() : std::min(origins.size(), kShown);
  for (size_t i = 0; i < shown; ++i) {
    if (whole_ways) {
      print_origin(terminal, *origins[i]);
    } else {
      terminal.line(line_of(*origins[i]));
    }
  }
  print_more(terminal, count - shown);
}

// Prints the origins that were not printed yet, and those that are harmless.
void print_other_origins(Terminal& terminal, const Json& report, const Json* told, bool all) {
  Origins others;
  Origins harmless;
  for (const Json& origin : report.at("origins")) {
    if (told != nullptr && begin_alike(origin, *told)) continue;
    (is_harmless(origin) ? harmless : others).push_back(&origin);
  }
  const char* title = report.at("first_nonfinite").is_null() ? "on purpose, as it seems" : "others";
  print_origins(terminal, others, others.size(), fmt::format("{}: {}", title, others.size()), all, all);
  const uint64_t count = std::max<uint64_t>(count_in(report, "harmless"), harmless.size());
  print_origins(terminal, harmless, count,
                fmt::format("harmless: {}, nothing of which reached a value that the program read, a parameter or a result", count), all,
                false);
}

// The answer for a healthy dump.
std::string_view healthy_text(const Json& report) {
  if (count_in(report, "left_out") > 0) return "no NaN and no Inf in the records that were kept";
  if (count_in(report, "not_looked_at") > 0) return "no NaN and no Inf in the records that were looked at";
  if (count_in(report, "harmless") > 0) return "no NaN and no Inf in what the program saw";
  if (!report.at("origins").empty()) return "no NaN and no Inf, but what is there on purpose";
  return report.at("not_captured").empty() ? "no NaN and no Inf" : "no NaN and no Inf in what was captured";
}

// What of an answer that clears something was not seen.
void print_not_captured(Terminal& terminal, const Json& report) {
  const Json& reasons = report.at("not_captured");
  for (size_t i = 0; i < std::min(reasons.size(), kShown); ++i) {
    terminal.line(terminal.out_palette().yellow("not captured: " + reason_text(reasons[i])));
  }
  print_more(terminal, reasons.size() - std::min(reasons.size(), kShown));
}

void print_unknown(Terminal& terminal, const Json& report) {
  if (const uint64_t count = count_in(report, "not_looked_at"); count > 0) terminal.line(not_looked_at_text(count));
  if (const uint64_t count = count_in(report, "left_out"); count > 0)
    terminal.line(fmt::format("not known: {} that a limit of the capture left out", counted(count, "record")));
  const uint64_t unknown = count_in(report, "unknown");
  if (unknown == 0) return;
  terminal.line(fmt::format("not known: {} with neither counts of all elements nor all data", counted(unknown, "record")));
}

void print_first(Terminal& terminal, const Json& report, const Json* origin, bool all) {
  const Json& first = report.at("first_nonfinite");
  terminal.line(terminal.out_palette().red("first non-finite value: ") + nonfinite_text(first));
  if (first.contains("told_by")) {
    terminal.line(fmt::format("  told by {}: the record itself is not in the dump", member_text(first, "told_by")));
  }
  if (!(first.at("module").is_null() && first.at("forward").is_null())) terminal.line("  " + place_text(first));
  if (origin != nullptr && !all) {
    for (const std::string& line : origin_lines(*origin)) terminal.line("  " + line);
  }
  if (const Json* lead = member(report, "lead"); lead != nullptr) terminal.line("  " + lead_text(*lead, first));
  if (!all) return;
  if (report.contains("first_in_time")) {
    terminal.line("first in time, but there on purpose or without effect: " + nonfinite_text(report.at("first_in_time")));
  }
  if (origin == nullptr) return;
  const char* title = report.at("seen").is_object() ? "the way from there to what the program saw" : "where it begins";
  terminal.line(terminal.out_palette().bold(title));
  print_origin(terminal, *origin);
}

void print_unwritten(Terminal& terminal, const Json& report, const Json* told, bool all) {
  std::vector<std::string> lines;
  for (const Json& one : report.at("unwritten")) {
    const bool is_told = told != nullptr && member_text(*told, "kind") == "uninitialised memory" &&
                         told->at("chain").back().at("op") == one.at("op") && told->at("chain").back().at("step") == one.at("step");
    if (!is_told) lines.push_back(unwritten_text(one));
  }
  const size_t shown = all ? lines.size() : std::min(lines.size(), kShown);
  for (size_t i = 0; i < shown; ++i) terminal.line(terminal.out_palette().red(lines[i]));
  print_more(terminal, lines.size() - shown);
}

void print_failure(Terminal& terminal, const Json& failed) {
  const std::string text = printable(failed_op_text(failed));
  if (text.empty()) return;
  const bool ended = ended_program(failed);
  terminal.line(ended ? terminal.out_palette().red("failed op: ") + text
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
  const size_t shown = all ? list.size() : 1;
  for (size_t i = 0; i < shown; ++i) terminal.line("  " + record_text(list[i]));
  print_more(terminal, list.size() - shown);
}

}  // namespace

void print_find_report(Terminal& terminal, const Json& report, bool all) {
  const Json* origin = origin_of_first(report);
  print_failure(terminal, report.at("failed_op"));
  print_unwritten(terminal, report, origin, all);
  if (report.at("first_nonfinite").is_object()) {
    print_first(terminal, report, origin, all);
  } else {
    const std::string_view text = healthy_text(report);
    const bool is_sure = count_in(report, "unknown") == 0 && count_in(report, "not_looked_at") == 0 && !is_partial(report);
    terminal.line(is_sure ? terminal.out_palette().green(text) : std::string(text));
    print_not_captured(terminal, report);
  }
  print_unknown(terminal, report);
  print_other_origins(terminal, report, origin, all);
  print_headroom(terminal, report, "float16", all);
  print_headroom(terminal, report, "bfloat16", all);
  print_list(terminal, report.at("dead_outputs"), "dead outputs: nothing but zeros", all);
  if (const Json& gradients = report.at("gradients"); gradients.is_object()) {
    print_list(terminal, gradients.value("exploding", Json()), "exploding gradients", all);
    print_list(terminal, gradients.value("vanishing", Json()), "vanishing gradients", all);
  }
}

}  // namespace tensortap::cli
