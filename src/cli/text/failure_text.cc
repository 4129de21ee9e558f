#include "cli/text/failure_text.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/text/member_text.h"
#include "query/failed_op.h"

namespace tensortap::cli {
namespace {

constexpr size_t kMostInputs = 8;

}  // namespace

std::string failed_op_text(const Json& failed) {
  if (!failed.is_object()) return {};
  const std::string source = member_text(failed, "source");
  return fmt::format("{} ({}){}, step {}: {}", member_text(failed, "name"), member_text(failed, "type"),
                     source.empty() ? "" : ", " + source, member_text(failed, "step"), failure_reason(failed));
}

std::vector<std::string> failure_lines(const DumpIndex& dump, const std::string& folder) {
  std::vector<std::string> lines;
  if (const std::string what = failed_op_text(failed_op(dump)); !what.empty()) lines.push_back(printable("failed op: " + what));
  size_t inputs = 0;
  for (size_t row = 0; row < dump.rows().size(); ++row) {
    const RecordRow& record = dump.rows()[row];
    if ((record.flags & kRecordFailedOp) == 0 || ++inputs > kMostInputs) continue;
    const std::string name = record_name(record, op_of(dump, record).name);
    lines.push_back(printable(fmt::format("  it read {}: {}", name, (record.flags & kRecordHasData) != 0 ? dump.file(row) : "not kept")));
    if (inputs == 1) lines.back() += fmt::format(" (tensortap show {} {})", printable(folder), quote(printable(name)));
  }
  if (inputs > kMostInputs) lines.push_back(fmt::format("  and {} more", inputs - kMostInputs));
  return lines;
}

void tell_crashes(const CrashesSettled& crashes, const Terminal& terminal) {
  for (const CrashSettled& one : crashes.settled) {
    terminal.note(printable(fmt::format("{}: {} tensors are in the dump", one.content.text, one.content.tensors)));
  }
  for (const std::string& problem : crashes.problems) terminal.warn(printable(problem));
}

}  // namespace tensortap::cli
