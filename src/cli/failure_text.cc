#include "cli/failure_text.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/member_text.h"

namespace tensortap::cli {
namespace {

constexpr size_t kMostInputs = 8;

std::string what_failed(const DumpIndex& dump) {
  const Json failed = failed_op(dump);
  if (!failed.is_object()) return {};
  const std::string source = member_text(failed, "source");
  return fmt::format("op {} ({}{}) failed in step {}: {}", member_text(failed, "name"), member_text(failed, "type"),
                     source.empty() ? "" : ", " + source, member_text(failed, "step"), member_text(failed, "error"));
}

}  // namespace

Json failed_op(const DumpIndex& dump) {
  const auto manifest = parse_json(dump.manifest(), "the manifest");
  const Json* failed = manifest.ok() ? member(*manifest, "failed_op") : nullptr;
  return failed == nullptr ? Json() : *failed;
}

std::vector<std::string> failure_lines(const DumpIndex& dump, const std::string& folder) {
  std::vector<std::string> lines;
  if (std::string what = what_failed(dump); !what.empty()) lines.push_back(printable(what));
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
