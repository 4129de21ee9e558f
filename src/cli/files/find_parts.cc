#include "cli/files/find_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/counted.h"
#include "base/json_members.h"
#include "base/text.h"
#include "cli/files/dump_access.h"
#include "cli/files/part_access.h"
#include "find/ask_parts.h"
#include "find/find_report.h"
#include "trace/completeness.h"

namespace tensortap::cli {
namespace {

constexpr size_t kMostParts = 6;  // with a finding, and without one, on a screen

Status finish(const FindQuestion& question, Json& answer) { return question.finish == nullptr ? Status() : question.finish(answer); }

bool clears_nothing(const FindQuestion& question, const Json& answer) {
  return question.is_blind != nullptr && answer.is_object() && question.is_blind(answer);
}

bool all_clear_nothing(const FindQuestion& question, const std::vector<PartAnswer>& answers) {
  return std::ranges::all_of(answers, [&](const PartAnswer& one) { return clears_nothing(question, one.answer); });
}

Result<ExitCode> ask_one(const AskedParts& asked, const FindQuestion& question, Terminal& terminal) {
  TENSORTAP_ASSIGN_OR_RETURN(const auto dump, open_part(terminal, asked, asked.parts.front()));
  AnsweredDumps dumps;
  dumps.add(asked.parts.front().path, dump->completeness());
  dumps.print_state(terminal);
  TENSORTAP_ASSIGN_OR_RETURN(Json answer, question.ask(*dump));
  if (asked.are_several) answer.update(part_json(asked.parts.front()));
  TENSORTAP_RETURN_IF_ERROR(finish(question, answer));
  answer["dump"] = dumps.json();
  terminal.json ? terminal.json_line(answer) : question.print(answer);
  if (question.finds == nullptr) return ExitCode::kFine;
  if (question.finds(answer)) return ExitCode::kFound;
  return is_partial(answer) || clears_nothing(question, answer) ? ExitCode::kFailed : dumps.code_of(ExitCode::kFine);
}

// A line for a part that says nothing new; its whole answer otherwise.
void print_part(const PartAnswer& one, bool whole, const FindQuestion& question, Terminal& terminal) {
  const std::string title = terminal.out_palette().bold(printable(part_title(one.part)));
  if (!one.status.ok()) return terminal.line(fmt::format("{}: {}", title, printable(one.status.message())));
  if (!whole && one.finds) return terminal.line(fmt::format("{}: {}", title, question.brief(one.answer)));
  if (!whole) return terminal.line(fmt::format("{}: {}", title, question.none));
  terminal.line(title);
  question.print(one.answer);
}

// Whether a line would say too little of a part.
bool needs_all_lines(const PartAnswer& one, const FindQuestion& question) {
  if (question.finds == nullptr) return true;
  return one.finds ? question.brief == nullptr : is_partial(one.answer) || clears_nothing(question, one.answer);
}

struct OtherParts {
  const PartAnswer* told;
  bool finding;
  bool all;
};

// The parts that find something, or those that do not; without `all` the first of them.
void print_other_parts(const std::vector<PartAnswer>& answers, const OtherParts& which, const FindQuestion& question, Terminal& terminal) {
  size_t shown = 0;
  size_t left_out = 0;
  for (const PartAnswer& one : answers) {
    if (&one == which.told || one.finds != which.finding) continue;
    const bool whole = which.all || needs_all_lines(one, question);
    const bool is_told = which.all || shown < kMostParts || !one.status.ok();
    is_told ? print_part(one, whole, question, terminal) : void(++left_out);
    shown += is_told ? 1 : 0;
  }
  if (left_out == 0) return;
  terminal.line(
      fmt::format("and {} more {} a finding; --all prints everything", counted(left_out, "part"), which.finding ? "with" : "without"));
}

void print_parts(const std::vector<PartAnswer>& answers, bool all, const FindQuestion& question, Terminal& terminal) {
  for (const std::string& line : completeness_lines(states_of(answers))) terminal.line(terminal.out_palette().yellow(printable(line)));
  const bool found = std::ranges::any_of(answers, &PartAnswer::finds);
  if (question.finds != nullptr) {
    const Palette& palette = terminal.out_palette();
    const std::string_view none = all_clear_nothing(question, answers) ? "nothing to judge" : question.none;
    const std::string sentence = printable(parts_sentence(answers, question.found, none));
    const bool unsure =
        all_clear_nothing(question, answers) || std::ranges::any_of(answers, [](const PartAnswer& one) { return is_partial(one.answer); });
    terminal.line(found ? palette.red(sentence) : unsure ? palette.yellow(sentence) : palette.green(sentence));
  }
  if (question.finish != nullptr) return;
  const PartAnswer* first = found ? first_to_tell(answers) : nullptr;
  if (first != nullptr) print_part(*first, true, question, terminal);
  for (const bool finding : {true, false}) print_other_parts(answers, {first, finding, all}, question, terminal);
}

Result<ExitCode> ask_all(const AskedParts& asked, bool all, const FindQuestion& question, Terminal& terminal) {
  const auto finds = [&question](const Json& answer) { return question.finds != nullptr && question.finds(answer); };
  const auto open = [&](const std::string& path) {
    return open_part(terminal, asked, *std::ranges::find(asked.parts, path, &DumpPart::path));
  };
  const std::vector<PartAnswer> answers = ask_parts(asked.parts, {open, question.ask, finds});
  if (std::ranges::all_of(answers, [](const PartAnswer& one) { return one.answer.is_null(); })) return answers.front().status;
  Json answer = parts_answer_json(answers);
  TENSORTAP_RETURN_IF_ERROR(finish(question, answer));
  if (terminal.json) {
    terminal.json_line(answer);
  } else {
    print_parts(answers, all, question, terminal);
    if (question.finish != nullptr) question.print(answer);
  }
  if (question.finds == nullptr) return ExitCode::kFine;
  if (std::ranges::any_of(answers, &PartAnswer::finds)) return ExitCode::kFound;
  const bool partial = std::ranges::any_of(answers, [](const PartAnswer& one) { return is_partial(one.answer); });
  if (all_clear_nothing(question, answers)) return ExitCode::kFailed;
  return !partial && sum_of(states_of(answers)).holds_all() ? ExitCode::kFine : ExitCode::kFailed;
}

}  // namespace

Result<ExitCode> ask_find(const FindTarget& target, const FindQuestion& question, Terminal& terminal) {
  TENSORTAP_ASSIGN_OR_RETURN(const AskedParts asked, asked_parts(target.path, target.part));
  return asked.parts.size() == 1 ? ask_one(asked, question, terminal) : ask_all(asked, target.all, question, terminal);
}

}  // namespace tensortap::cli
