#include "cli/files/dump_access.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "layout/layout.h"
#include "read/open_dump.h"
#include "registry/registry.h"

namespace tensortap::cli {

void warn_of_problems(const Terminal& terminal, const DumpIndex& dump, const std::string& folder, const std::string& name) {
  constexpr size_t kMostProblems = 5;
  const auto problems = dump.problems();
  for (size_t i = 0; i < problems.size() && i < kMostProblems; ++i) {
    terminal.warn(printable(name.empty() ? problems[i] : fmt::format("{}: {}", name, problems[i])));
  }
  if (problems.size() > kMostProblems) {
    const Layout* layout = find_layout(dump.layout());
    const bool mends = layout != nullptr && layout->repair != nullptr;
    const std::string advice = mends ? fmt::format("; `tensortap repair --dry-run {}` lists what is lost", folder) : "";
    terminal.warn(fmt::format("and {} more like these{}", problems.size() - kMostProblems, advice));
  }
}

Result<std::unique_ptr<DumpIndex>> open_for_reading(const Terminal& terminal, const std::string& folder) {
  TENSORTAP_ASSIGN_OR_RETURN(auto dump, open_dump(folder));
  warn_of_problems(terminal, *dump, folder);
  return dump;
}

Result<std::unique_ptr<DumpIndex>> AnsweredDumps::open(const Terminal& terminal, const std::string& folder) {
  TENSORTAP_ASSIGN_OR_RETURN(auto dump, open_for_reading(terminal, folder));
  add(folder, dump->completeness());
  return dump;
}

void AnsweredDumps::add(std::string name, Completeness completeness) { dumps_.push_back({std::move(name), std::move(completeness)}); }

void AnsweredDumps::add(std::vector<NamedCompleteness> dumps) {
  for (NamedCompleteness& one : dumps) dumps_.push_back(std::move(one));
}

bool AnsweredDumps::hold_all() const {
  return std::ranges::all_of(dumps_, [](const NamedCompleteness& one) { return one.completeness.holds_all(); });
}

void AnsweredDumps::print_state(Terminal& terminal) const {
  if (terminal.json) return;
  for (const std::string& line : completeness_lines(dumps_)) terminal.line(terminal.out_palette().yellow(printable(line)));
}

void AnsweredDumps::warn_of_state(const Terminal& terminal) const {
  for (const std::string& line : completeness_lines(dumps_)) terminal.warn(printable(line));
}

Json AnsweredDumps::json() const { return completeness_json(dumps_); }

ExitCode AnsweredDumps::code_of(ExitCode code) const { return code == ExitCode::kFine && !hold_all() ? ExitCode::kFailed : code; }

}  // namespace tensortap::cli
