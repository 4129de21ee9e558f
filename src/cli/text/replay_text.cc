#include "cli/text/replay_text.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "cli/text/member_text.h"
#include "cli/text/table.h"

namespace tensortap::cli {
namespace {

constexpr size_t kMostReasonsShown = 10;

std::string short_number(const Json* value) {
  if (value == nullptr) return "-";
  return value->is_number_float() ? fmt::format("{:.3g}", value->get<double>())
         : value->is_string()     ? value->get<std::string>()
                                  : value->dump();
}

void titled(Terminal& terminal, std::string_view title, std::string_view text) {
  terminal.line(fmt::format("{}{}", terminal.out_palette().bold(fmt::format("{:<13} ", title)), text));
}

void print_reasons(Terminal& terminal, const Json& reasons) {
  for (size_t i = 0; i < reasons.size() && i < kMostReasonsShown; ++i) {
    const Json& reason = reasons[i];
    titled(terminal, i == 0 ? "not replayed" : "",
           fmt::format("{}: {} ({}{})", reason.at("count").get<uint64_t>(), member_text(reason, "reason"),
                       printable(join(strings_in(reason, "examples"), ", ")),
                       reason.at("count").get<uint64_t>() > reason.at("examples").size() ? ", ..." : ""));
  }
  if (reasons.size() > kMostReasonsShown)
    titled(terminal, "", fmt::format("and {} other reasons (--json lists all)", reasons.size() - kMostReasonsShown));
}

}  // namespace

void print_replay(Terminal& terminal, const Json& summary) {
  const std::string runtime = member_text(summary, "runtime");
  const std::string recorded = member_text(summary, "recorded");
  titled(terminal, "runtime",
         runtime == recorded ? runtime : fmt::format("{}; recorded on {}", runtime, recorded.empty() ? "an unknown one" : recorded));
  const auto count = [&](const char* key) { return summary.at(key).get<uint64_t>(); };
  titled(terminal, "replayed", fmt::format("{} ops, {} outputs", count("ops"), count("outputs")));
  titled(terminal, "equal", fmt::format("{} bit by bit; {} differ", count("equal"), count("differing")));
  std::vector<std::string> kernels;
  for (const Json& kernel : summary.at("kernels")) {
    kernels.push_back(fmt::format("{} {} (relative L2 up to {})", kernel.at("outputs").get<uint64_t>(), member_text(kernel, "type"),
                                  short_number(member(kernel, "relative_l2"))));
  }
  if (!kernels.empty()) titled(terminal, "kernels", join(kernels, ", "));
  print_reasons(terminal, summary.at("reasons"));
}

void print_minimal(Terminal& terminal, const Json& minimal) {
  titled(terminal, "runtime", fmt::format("{}; recorded on {}", member_text(minimal, "runtime"), member_text(minimal, "recorded")));
  titled(terminal, "op", fmt::format("{} ({})", member_text(minimal, "op"), member_text(minimal, "type")));
  for (const Json& tensor : minimal.at("tensors")) {
    std::string text = tensor.at("shape").dump();
    if (tensor.at("count") != tensor.at("shape")) {
      text = fmt::format("{} from {} on, of {}", tensor.at("count").dump(), tensor.at("first").dump(), text);
    }
    titled(terminal, printable(member_text(tensor, "slot")), text);
  }
  titled(terminal, "differs",
         fmt::format("{} of {} elements of {}, by {} at most (relative L2 {})", minimal.at("differing").dump(),
                     minimal.at("compared").dump(), member_text(minimal, "differing_slot"), short_number(member(minimal, "max_abs")),
                     short_number(member(minimal, "relative_l2"))));
  titled(terminal, "runs", minimal.at("runs").dump());
  for (const std::string& file : strings_in(minimal, "files")) titled(terminal, "written", printable(file));
}

void print_replayed(Terminal& terminal, std::span<const Json> values) {
  TablePrinter table(terminal, {{.title = "record", .may_shrink = true, .least = 12, .keeps_end = true},
                                {.title = "type", .may_shrink = true},
                                {.title = "outcome"},
                                {.title = "differing", .right = true},
                                {.title = "max abs", .right = true},
                                {.title = "relative L2", .right = true},
                                {.title = "max ULP", .right = true},
                                {.title = "first at"}});
  for (const Json& value : values) {
    table.add({member_text(value, "record"), member_text(value, "type"), member_text(value, "outcome"),
               short_number(member(value, "differing")), short_number(member(value, "max_abs")), short_number(member(value, "relative_l2")),
               short_number(member(value, "max_ulp")), member_text(value, "first_differing")});
  }
  table.finish();
  for (const Json& value : values) {
    if (const std::string reason = member_text(value, "reason"); !reason.empty()) {
      terminal.line(fmt::format("{}: {}", member_text(value, "record"), reason));
    }
  }
}

}  // namespace tensortap::cli
