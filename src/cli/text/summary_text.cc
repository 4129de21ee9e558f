#include "cli/text/summary_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "base/coverage_reasons.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/text/failure_text.h"
#include "cli/text/member_text.h"
#include "cli/text/origin_text.h"
#include "find/find_report.h"
#include "query/failed_op.h"
#include "trace/completeness.h"

namespace tensortap::cli {
namespace {

constexpr size_t kIndent = 12;
constexpr size_t kMostLines = 15;
constexpr size_t kMostReasons = 4;
constexpr size_t kMostExamples = 2;  // examples of a reason
constexpr size_t kMostOfName = 40;
constexpr size_t kMostUnmatched = 3;
constexpr size_t kMostShownInputs = 4;

// ", unknown of process_4711 (SpawnProcess-1) and 1 more": of processes that did not come to their end.
std::string unknown_text(const std::vector<std::string>& processes) {
  if (processes.empty()) return {};
  return fmt::format("unknown of {}{}, which did not come to {} end", printable(processes.front()),
                     processes.size() > 1 ? fmt::format(" and {} more", processes.size() - 1) : "", processes.size() > 1 ? "their" : "its");
}

// "; 40 records of 12 ops were lost": ops count as captured as soon as they have a record.
std::string lost_of_ops_text(const Json& ops, uint64_t lost) {
  if (lost == 0) return {};
  uint64_t of_ops = 0;
  const Json* reasons = member(ops, "partly");
  for (const Json& one : reasons != nullptr && reasons->is_array() ? *reasons : Json::array()) {
    if (member_text(one, "reason") == kReasonRecordLost) of_ops = count_in(one, "count");
  }
  return fmt::format("; {}{} lost", counted(lost, "record"), of_ops == 0 ? "" : fmt::format(" of {}", counted(of_ops, "op")));
}

std::string ops_text(const Json& ops, uint64_t lost) {
  const std::string unknown = unknown_text(strings_in(ops, "unknown"));
  if (count_in(ops, "expected") == 0 && !unknown.empty()) return unknown;
  std::string text = fmt::format("{} of {} captured", count_in(ops, "captured"), count_in(ops, "expected"));
  if (const uint64_t in_part = count_in(ops, "in_part"); in_part > 0) text += fmt::format(", {} of them in part", in_part);
  text += lost_of_ops_text(ops, lost);
  if (!unknown.empty()) text += "; " + unknown;
  const Json* reasons = member(ops, "not_captured");
  if (reasons == nullptr || !reasons->is_array()) return text;
  size_t count = 0;
  for (const Json& reason : *reasons) {
    if (++count <= kMostReasons) text += "\nnot captured: " + reason_text(reason);
  }
  if (count > kMostReasons) text += fmt::format("\nnot captured: {} more reasons", count - kMostReasons);
  return text;
}

// How the inputs came to be, one a line: `x [1, 3]: made, uniform 0..1, seed 0`, `mask [1, 8]: inputs.npz`.
std::string inputs_text(const Json& inputs) {
  std::string text;
  size_t count = 0;
  for (const Json& input : inputs) {
    if (++count > kMostShownInputs) continue;
    const Json* made = member(input, "made");
    const bool is_made = made != nullptr && *made == true;
    const std::string shape = member_text(input, "shape");
    text += fmt::format("{}{}{}{}: {}{}", text.empty() ? "" : "\n", member_text(input, "name"), shape.empty() ? "" : " ", shape,
                        is_made ? "made, " : "", member_text(input, "how"));
    if (is_made) text += fmt::format(", seed {}", member_text(input, "seed"));
  }
  if (count > kMostShownInputs) text += fmt::format("\nand {} more", count - kMostShownInputs);
  return text;
}

// The governor's line of the summary: the budget, the measured overhead, the captured steps.
std::string budget_text(const Json& governor) {
  const auto percent = [&](const char* key) {
    const Json* share = member(governor, key);
    return share != nullptr && share->is_number() ? fmt::format("{:.1f} %", 100 * share->get<double>()) : std::string("unknown");
  };
  std::string text = fmt::format("{} allowed, {} measured", percent("budget"), percent("measured_overhead"));
  const Json* basis = member(governor, "measured_by");
  if (basis != nullptr && basis->is_object()) text += fmt::format(" against {} plain steps", count_in(*basis, "plain_steps"));
  return text + fmt::format(": {} of {} {} captured, {} tensors sampled", count_in(governor, "captured"), count_in(governor, "seen"),
                            member_text(governor, "by") == "steps" ? "steps" : "slices of time", count_in(governor, "tensors_sampled"));
}

// What comes first in a summary.
enum class News { kBad, kMissing, kPlace, kFact, kRemark };

// The lines of a summary: worst news first, in the order in which they came within the same kind.
class Lines {
 public:
  explicit Lines(const Palette& palette) : palette_(palette) {}

  // A value of several lines stays together. Nothing for an empty value.
  void add(News news, std::string_view name, std::string_view value) {
    if (!value.empty()) entries_.push_back({news, std::string(name), std::string(value)});
  }

  // At most kMostLines, the last of which says how many are left out.
  [[nodiscard]] std::string text() {
    std::ranges::stable_sort(entries_, {}, &Entry::news);
    std::vector<std::string> lines;
    for (const Entry& entry : entries_) {
      std::string name = palette_.bold(fmt::format("{:<{}}", entry.name, kIndent));
      for (const std::string_view line : split(entry.value, '\n')) {
        lines.push_back(name + std::string(line));
        name = std::string(kIndent, ' ');
      }
    }
    if (lines.size() > kMostLines) {
      const size_t left_out = lines.size() - kMostLines + 1;
      lines.resize(kMostLines - 1);
      lines.push_back(palette_.bold(fmt::format("{:<{}}", "more", kIndent)) + fmt::format("{} lines, with --json", left_out));
    }
    return join(lines, "\n") + "\n";
  }

 private:
  struct Entry {
    News news;
    std::string name;
    std::string value;
  };
  const Palette& palette_;
  std::vector<Entry> entries_;
};

// "none lost", "3 lost" with each reason, or that the number is unknown: of a process that died, or could not write its report.
std::string lost_text(const Json& report, const Palette& palette) {
  if (member(report, "lost") == nullptr) return ", how many were lost is unknown";
  const uint64_t lost = count_in(report, "lost");
  if (lost == 0) return ", none lost";
  std::string text = ", " + palette.red(fmt::format("{} lost", lost));
  const Json* losses = member(report, "losses");
  if (losses == nullptr || !losses->is_array()) return text;
  for (const Json& loss : *losses) text += "\nlost: " + reason_text(loss);
  return text;
}

void add_records(const Json& report, const Palette& palette, Lines& lines) {
  if (member(report, "records") == nullptr) return;
  std::string text = to_text(count_in(report, "records"));
  if (const uint64_t bytes = count_in(report, "bytes"); bytes > 0) text += ", " + bytes_text(bytes) + " of tensors";
  const Json* lost = member(report, "lost");
  lines.add(lost != nullptr && *lost == 0 ? News::kFact : News::kMissing, "records", text + lost_text(report, palette));
}

// What is said where no NaN and no Inf matters.
void add_healthy(const Json& report, const Palette& palette, Lines& lines) {
  const uint64_t harmless = count_in(report, "harmless");
  if (harmless == 0 && saw_nothing(report)) {
    return lines.add(News::kMissing, "non-finite", palette.red("unknown: no tensor was looked at"));
  }
  if (harmless == 0 && member(report, "dump") == nullptr) return;
  const uint64_t in_part = count_in(report, "not_counted");
  const bool is_whole = in_part == 0 && count_in(report, "not_looked_at") == 0 && report.value("complete", true) && !has_unseen_ops(report);
  std::string text =
      in_part == 0 ? "" : palette.red(fmt::format("not known: {} not looked at, or only in part", counted(in_part, "tensor")));
  if (!text.empty()) text += "; ";
  text += harmless > 0 ? fmt::format("none in what the program saw; {} made some that did no harm", counted(harmless, "op"))
          : member(report, "trigger") != nullptr && is_whole ? std::string("no op made one of finite values")
                                                             : std::string(is_whole ? "none seen" : "none in what was looked at");
  lines.add(is_whole ? News::kFact : News::kMissing, "non-finite", text);
}

void add_checks(const Json& report, const Palette& palette, Lines& lines) {
  if (const Json* identical = member(report, "identical"); identical != nullptr && identical->is_boolean()) {
    lines.add(
        identical->get<bool>() ? News::kFact : News::kBad, "outputs",
        identical->get<bool>() ? palette.green("identical to the plain run, bit by bit") : palette.red("DIFFERENT from the plain run"));
  }
  if (const Json* overhead = member(report, "overhead"); overhead != nullptr && overhead->is_number()) {
    lines.add(News::kFact, "overhead", fmt::format("{:.3f} times the plain run", overhead->get<double>()));
  }
  if (const std::vector<std::string> noise = strings_in(report, "noise"); !noise.empty()) {
    lines.add(News::kFact, "noise",
              fmt::format("{} of inputs moved by their last bit, up to {}", counted(noise.size(), "run"), printable(noise.back())));
  }
  if (const uint64_t count = count_in(report, "not_looked_at"); count > 0) {
    lines.add(News::kMissing, "unseen", palette.red(not_looked_at_text(count)));
  }
  const Json* unwritten = member(report, "unwritten");
  const bool reads_unwritten = unwritten != nullptr && unwritten->is_array() && !unwritten->empty();
  if (reads_unwritten) {
    const std::string more = unwritten->size() > 1 ? fmt::format("\nand {} more, `tensortap find`", unwritten->size() - 1) : "";
    lines.add(News::kBad, "unwritten", palette.red(unwritten_text(unwritten->front())) + more);
  }
  if (const Json* first = member(report, "first_nonfinite")) {
    lines.add(News::kBad, "non-finite", palette.red("first at ") + nonfinite_text(*first));
    lines.add(News::kBad, "began at", origin_text(report, palette));
  } else if (report.contains("first_nonfinite")) {
    add_healthy(report, palette, lines);
  }
}

}  // namespace

std::string reason_text(const Json& reason) {
  std::string text = fmt::format("{} {}", count_in(reason, "count"), member_text(reason, "reason"));
  const Json* examples = member(reason, "examples");
  if (examples == nullptr || !examples->is_array() || examples->empty() || !examples->front().is_string()) return text;
  std::vector<std::string> names;
  for (const Json& example : *examples) {
    if (example.is_string()) names.push_back(shorten_start(printable(example.get<std::string>()), kMostOfName));
  }
  const size_t named = std::min(names.size(), kMostExamples);
  const bool more = named < count_in(reason, "count");
  names.resize(named);
  return fmt::format("{} ({}{})", text, join(names, ", "), more ? ", ..." : "");
}

std::string failed_losses_text(const Json& report) {
  const Json* losses = member(report, "losses");
  std::string text;
  for (const Json& loss : losses != nullptr && losses->is_array() ? *losses : Json::array()) {
    if (member_text(loss, "kind") == "failure") text += (text.empty() ? "" : ", ") + reason_text(loss);
  }
  return text;
}

std::string nonfinite_text(const Json& first) {
  std::string text = fmt::format("step {}, {} ({}) {}: {}", member_text(first, "step"), member_text(first, "op"),
                                 member_text(first, "type"), member_text(first, "slot"), counts_text(first));
  if (const Json* index = member(first, "index"); index != nullptr && index->is_array() && !index->empty()) {
    std::string position;
    for (const Json& number : *index) position += (position.empty() ? "" : ", ") + to_json_text(number);
    text += fmt::format(", the first at [{}]", position);
  }
  if (const std::string source = member_text(first, "source"); !source.empty()) text += ", " + source;
  return text;
}

std::string summary_text(const Json& report, const Palette& palette) {
  Lines lines(palette);
  if (const Json* failed = member(report, "failed_op"); failed != nullptr && failed->is_object()) {
    const bool ended = ended_program(*failed);
    const std::string text = failed_op_text(*failed);
    lines.add(ended ? News::kBad : News::kFact, "failed op", ended ? palette.red(text) : text + "; the program caught it and went on");
  }
  if (const std::string signal = member_text(report, "signal"); !signal.empty()) lines.add(News::kBad, "killed by", palette.red(signal));
  lines.add(News::kBad, "incomplete", member_text(report, "incomplete"));
  if (const std::string dump = member_text(report, "dump"); !dump.empty())
    lines.add(News::kPlace, "dump", fmt::format("{} ({})", dump, member_text(report, "layout")));
  if (const std::string source = member_text(report, "source"); !source.empty()) {
    lines.add(News::kFact, "source", fmt::format("{}, {}", source, counted(count_in(report, "steps"), "step")));
  }
  if (const Json* inputs = member(report, "inputs"); inputs != nullptr && inputs->is_array()) {
    lines.add(News::kFact, "inputs", inputs_text(*inputs));
  }
  if (const Json* ops = member(report, "ops")) {
    const bool whole = count_in(*ops, "captured") >= count_in(*ops, "expected") && count_in(*ops, "in_part") == 0;
    const uint64_t lost = count_in(report, "lost");
    const bool all = whole && lost == 0 && strings_in(*ops, "unknown").empty();
    lines.add(all ? News::kFact : News::kMissing, "ops", ops_text(*ops, lost));
  }
  if (const Json* governor = member(report, "governor"); governor != nullptr && governor->is_object())
    lines.add(News::kFact, "budget", budget_text(*governor));
  add_records(report, palette, lines);
  add_checks(report, palette, lines);
  const std::vector<std::string> unmatched = strings_in(report, "unmatched");
  for (size_t i = 0; i < std::min(unmatched.size(), kMostUnmatched); ++i) {
    lines.add(News::kMissing, "unmatched", palette.red(printable(unmatched[i])));
  }
  if (unmatched.size() > kMostUnmatched)
    lines.add(News::kMissing, "unmatched", fmt::format("and {} more", unmatched.size() - kMostUnmatched));
  for (const std::string& note : strings_in(report, "notes")) {
    if (std::ranges::find(unmatched, note) == unmatched.end()) lines.add(News::kRemark, "note", printable(note));
  }
  return lines.text();
}

}  // namespace tensortap::cli
