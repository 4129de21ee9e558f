#include "cli/run_summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/json_members.h"

namespace tensortap::cli {
namespace {

uint64_t count_of(const Json& object, const char* key) {
  const Json* value = member(object, key);
  return value != nullptr && value->is_number_unsigned() ? value->get<uint64_t>() : 0;
}

std::string plural(uint64_t count, std::string_view word) { return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s"); }

std::string reason_text(const Json& reason) {
  std::string text = fmt::format("{} {}", count_of(reason, "count"), member_text(reason, "reason"));
  const Json* examples = member(reason, "examples");
  if (examples == nullptr || !examples->is_array() || examples->empty() || !examples->front().is_string()) return text;
  std::string names;
  for (const Json& example : *examples) {
    if (example.is_string()) names += (names.empty() ? "" : ", ") + printable(example.get<std::string>());
  }
  return fmt::format("{} ({})", text, shorten_middle(names, 60));
}

std::string ops_text(const Json& ops) {
  std::string text = fmt::format("{} of {} captured", count_of(ops, "captured"), count_of(ops, "expected"));
  const Json* reasons = member(ops, "not_captured");
  if (reasons == nullptr || !reasons->is_array()) return text;
  for (const Json& reason : *reasons) text += "\n" + std::string(12, ' ') + "not captured: " + reason_text(reason);
  return text;
}

// Inputs that nobody gave: "x made from seed 0".
std::string inputs_text(const Json& made) {
  std::string text;
  for (const Json& input : made) {
    text += fmt::format("{}{} {} made from seed {}", text.empty() ? "" : ", ", member_text(input, "name"), member_text(input, "shape"),
                        member_text(input, "seed"));
  }
  return text;
}

// What the governor did to stay within --budget.
std::string budget_text(const Json& governor) {
  const auto percent = [&](const char* key) {
    const Json* share = member(governor, key);
    return share != nullptr && share->is_number() ? fmt::format("{:.1f} %", 100 * share->get<double>()) : std::string("unknown");
  };
  return fmt::format("{} allowed, {} measured: {} of {} {} captured, {} tensors sampled", percent("budget"), percent("measured_overhead"),
                     count_of(governor, "captured"), count_of(governor, "seen"),
                     member_text(governor, "by") == "steps" ? "steps" : "slices of time", count_of(governor, "tensors_sampled"));
}

class Lines {
 public:
  explicit Lines(const Palette& palette) : palette_(palette) {}
  void add(std::string_view name, std::string_view value) {
    if (!value.empty()) text_ += palette_.bold(fmt::format("{:<12}", name)) + std::string(value) + "\n";
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  const Palette& palette_;
  std::string text_;
};

void add_records(const Json& report, const Palette& palette, Lines& lines) {
  if (member(report, "records") == nullptr) return;
  std::string text = to_text(count_of(report, "records"));
  if (const uint64_t bytes = count_of(report, "bytes"); bytes > 0) text += ", " + bytes_text(bytes) + " of tensors";
  const uint64_t lost = count_of(report, "lost");
  text += lost == 0 ? ", none lost" : ", " + palette.red(fmt::format("{} lost", lost));
  lines.add("records", text);
}

void add_checks(const Json& report, const Palette& palette, Lines& lines) {
  if (const Json* identical = member(report, "identical"); identical != nullptr && identical->is_boolean()) {
    lines.add("outputs", identical->get<bool>() ? palette.green("identical to the plain run, bit by bit")
                                                : palette.red("DIFFERENT from the plain run"));
  }
  if (const Json* overhead = member(report, "overhead"); overhead != nullptr && overhead->is_number()) {
    lines.add("overhead", fmt::format("{:.3f} times the plain run", overhead->get<double>()));
  }
  if (const Json* first = member(report, "first_nonfinite")) {
    lines.add("non-finite", palette.red("first at ") + nonfinite_text(*first));
  } else if (const uint64_t harmless = count_of(report, "harmless"); harmless > 0) {
    lines.add("non-finite", fmt::format("none in what the program saw; {} made some that did no harm", plural(harmless, "op")));
  } else if (report.contains("first_nonfinite")) {
    lines.add("non-finite", "none seen");
  }
}

}  // namespace

std::string nonfinite_text(const Json& first) {
  std::string text = fmt::format("step {}, {} ({}) {}:", member_text(first, "step"), member_text(first, "op"), member_text(first, "type"),
                                 member_text(first, "slot"));
  std::string counts;
  for (const auto& [key, word] : {std::pair{"nan", "NaN"}, {"pos_inf", "+Inf"}, {"neg_inf", "-Inf"}}) {
    if (const uint64_t count = count_of(first, key); count > 0) counts += fmt::format("{}{} {}", counts.empty() ? " " : ", ", count, word);
  }
  text += counts;
  if (const Json* index = member(first, "index"); index != nullptr && index->is_array()) {
    std::string position;
    for (const Json& number : *index) position += (position.empty() ? "" : ", ") + to_json_text(number);
    text += fmt::format(", the first at [{}]", position);
  }
  if (const std::string source = member_text(first, "source"); !source.empty()) text += ", " + source;
  return text;
}

std::string summary_text(const Json& report, const Palette& palette) {
  Lines lines(palette);
  if (const std::string dump = member_text(report, "dump"); !dump.empty())
    lines.add("dump", fmt::format("{} ({})", dump, member_text(report, "layout")));
  if (const std::string source = member_text(report, "source"); !source.empty()) {
    lines.add("source", fmt::format("{}, {}", source, plural(count_of(report, "steps"), "step")));
  }
  if (const Json* made = member(report, "inputs_made"); made != nullptr && made->is_array()) lines.add("inputs", inputs_text(*made));
  if (const Json* ops = member(report, "ops")) lines.add("ops", ops_text(*ops));
  if (const Json* governor = member(report, "governor"); governor != nullptr && governor->is_object())
    lines.add("budget", budget_text(*governor));
  add_records(report, palette, lines);
  add_checks(report, palette, lines);
  if (const Json* failed = member(report, "failed_op"); failed != nullptr && failed->is_object()) {
    const std::string source = member_text(*failed, "source");
    lines.add("failed op", palette.red(fmt::format("{} ({}){}: {}", member_text(*failed, "name"), member_text(*failed, "type"),
                                                   source.empty() ? "" : ", " + source, member_text(*failed, "error"))));
  }
  for (const std::string& text : strings_in(report, "unmatched")) lines.add("unmatched", palette.red(printable(text)));
  for (const std::string& note : strings_in(report, "notes")) lines.add("note", printable(note));
  return lines.take();
}

}  // namespace tensortap::cli
