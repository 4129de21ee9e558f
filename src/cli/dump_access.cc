#include "cli/dump_access.h"

#include <fmt/format.h>

#include "read/open_dump.h"

namespace tensortap::cli {

void warn_of_problems(const Terminal& terminal, const DumpIndex& dump, const std::string& folder) {
  constexpr size_t kMostProblems = 5;
  const auto problems = dump.problems();
  for (size_t i = 0; i < problems.size() && i < kMostProblems; ++i) terminal.warn(printable(problems[i]));
  if (problems.size() > kMostProblems) {
    terminal.warn(
        fmt::format("and {} more like these; `tensortap repair --dry-run {}` says what is lost", problems.size() - kMostProblems, folder));
  }
}

Result<std::unique_ptr<DumpIndex>> open_for_reading(const Terminal& terminal, const std::string& folder) {
  TENSORTAP_ASSIGN_OR_RETURN(auto dump, open_dump(folder));
  warn_of_problems(terminal, *dump, folder);
  return dump;
}

}  // namespace tensortap::cli
