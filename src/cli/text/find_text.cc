#include "cli/text/find_text.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "base/counted.h"
#include "base/json.h"
#include "cli/text/member_text.h"
#include "cli/text/origin_text.h"
#include "find/trends.h"

namespace tensortap::cli {
namespace {

double real_in(const Json& object, const char* key) {
  const Json* value = member(object, key);
  return value != nullptr && value->is_number() ? value->get<double>() : 0;
}

// "3 steps", "1.4 steps", "step" for one.
std::string every_text(double steps) {
  const std::string number = fmt::format("{:.1f}", steps);
  if (number == "1.0") return "step";
  return fmt::format("{} steps", number.ends_with(".0") ? number.substr(0, number.size() - 2) : number);
}

std::string slope_text(const Json& one) {
  return fmt::format("{} {} every {} since step {} ({:.3g} to {:.3g})", member_text(one, "measure"),
                     real_in(one, "slope") > 0 ? "doubled" : "halved", every_text(real_in(one, "doubling")), member_text(one, "since"),
                     real_in(one, "from"), real_in(one, "to"));
}

std::string trend_text(const Json& one) {
  const std::string kind = member_text(one, "kind");
  if (kind == "spike") {
    return fmt::format("{} {:.3g}, {:.3g} in the steps around it", member_text(one, "measure"), real_in(one, "to"), real_in(one, "from"));
  }
  const std::string since = fmt::format("since step {}, in {}", member_text(one, "since"), counted(count_in(one, "steps"), "step"));
  if (kind == "dead")
    return fmt::format("{:.4g} % zeros {}; before, down to {:.4g} %", 100 * real_in(one, "to"), since, 100 * real_in(one, "from"));
  if (kind == "frozen") return "the same values " + since;
  std::string text = slope_text(one);
  if (member(one, "steps_to_limit") != nullptr) {
    text += fmt::format("; {:.0f} more such steps to the limit of {}", real_in(one, "steps_to_limit"), member_text(one, "dtype"));
  }
  return text;
}

// "max_gt=1, mean_gt=0.1".
std::string values_text(const Json& parameters) {
  std::string text;
  for (const auto& [name, value] : parameters.items()) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", printable(name),
                        value.is_number() ? fmt::format("{}", value.get<double>()) : to_json_text(value));
  }
  return text;
}

// ": max_gt (8), mean_gt (1.5)" of the parameters that were crossed.
std::string crossed_text(const Json& hit) {
  std::string text;
  for (const Json& parameter : hit.at("parameters")) {
    if (!parameter.value("hit", false)) continue;
    text += fmt::format("{}{} ({:.6g})", text.empty() ? ": " : ", ", member_text(parameter, "name"), real_in(parameter, "actual"));
  }
  return text;
}

void print_watchpoint(Terminal& terminal, const Json& one) {
  const uint64_t hits = count_in(one, "hit_count");
  const std::string values = values_text(one.at("parameters"));
  const std::string activation = member_text(one, "activation");
  std::string title = member_text(one, "condition");
  if (!activation.empty()) title += fmt::format(" of {}", activation);
  if (!values.empty()) title += fmt::format(" ({})", values);
  std::string line =
      fmt::format("{}: {} of {}", terminal.out_palette().bold(title), counted(hits, "hit"), counted(count_in(one, "checked"), "record"));
  if (const uint64_t errors = count_in(one, "error_count"); errors > 0) {
    line += fmt::format("; {} not judged, with NaN, Inf or no step before", errors);
  }
  if (const uint64_t unknown = count_in(one, "unknown"); unknown > 0) {
    line += fmt::format("; {} without the statistics or data that it needs", unknown);
  }
  terminal.line(line);
  const Json& listed = one.at("hits");
  for (const Json& hit : listed) {
    terminal.line(fmt::format("  step {}, {} ({}){}", member_text(hit, "step"), member_text(hit, "record"), member_text(hit, "type"),
                              crossed_text(hit)));
  }
  if (hits > listed.size()) terminal.line(fmt::format("  and {} more (--limit)", hits - listed.size()));
}

// "gradients vanish on their way back: halved 2.8 times a module, from net.20 (0.017) to net.0 (6.5e-11), 11 modules, step 9".
std::string depth_text(const Json& depth) {
  const double slope = real_in(depth, "slope");
  return fmt::format("gradients {} on their way back: {} {:.1f} times a module, from {} ({:.2g}) to {} ({:.2g}), {}, step {}",
                     slope < 0 ? "vanish" : "explode", slope < 0 ? "halved" : "doubled", std::abs(slope), member_text(depth, "first"),
                     real_in(depth, "from"), member_text(depth, "last"), real_in(depth, "to"),
                     counted(count_in(depth, "modules"), "module"), member_text(depth, "step"));
}

}  // namespace

std::string lead_text(const Json& lead, const Json& first) {
  const bool own = member_text(lead, "slot") == member_text(first, "slot");
  return fmt::format("{} {}", own ? "its" : fmt::format("{}, which it read:", member_text(lead, "record")), slope_text(lead));
}

void print_trends(Terminal& terminal, const Json& report) {
  const Json& trends = report.at("trends");
  const std::string judged = fmt::format("{} of {} series judged, {}", count_in(report, "judged"), count_in(report, "series"),
                                         counted(count_in(report, "steps"), "step"));
  if (const Json* depth = member(report, "depth"); depth != nullptr) {
    terminal.line(terminal.out_palette().bold(depth_text(*depth)));
  } else if (trends.empty() && count_in(report, "judged") == 0) {
    terminal.line(fmt::format("nothing to judge: no series has statistics of {} steps ({})", kLeastJudged, judged));
  } else if (trends.empty()) {
    const std::string unknown = member_text(report, "not_known");
    terminal.line(unknown.empty() ? terminal.out_palette().green("no trend stands out") + fmt::format(" ({})", judged)
                                  : fmt::format("not known: {}; otherwise no trend stands out ({})", unknown, judged));
  }
  if (const uint64_t nonfinite = count_in(report, "nonfinite") - count_in(report, "harmless"); nonfinite > 0) {
    terminal.line(terminal.out_palette().red(fmt::format("{} of them end with NaN or Inf", nonfinite)) +
                  ": `tensortap find` without --trends says where that began");
  }
  std::string kind;
  for (const Json& one : trends) {
    if (const std::string next = member_text(one, "kind"); next != kind) {
      kind = next;
      terminal.line(terminal.out_palette().bold(fmt::format("{}: {} ({})", kind, count_in(report.at("counts"), kind.c_str()), judged)));
    }
    terminal.line(fmt::format("  {} ({}): {}", member_text(one, "record"), member_text(one, "type"), trend_text(one)));
    if (const std::string place = place_text(one); !place.empty()) terminal.line("    " + place);
  }
}

void print_watch(Terminal& terminal, const Json& report) {
  for (const Json& one : report.at("watchpoints")) print_watchpoint(terminal, one);
}

}  // namespace tensortap::cli
