#include "read/repair_dump.h"

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "crash/crash_file.h"
#include "read/dump_parts.h"
#include "read/open_dump.h"
#include "registry/registry.h"

namespace tensortap {
namespace {

constexpr size_t kMostModels = 10000;  // folders that are looked into

// The folder of a dump, and those of further models in it. A link may lead to another user's dump.
std::vector<std::string> folders_of(const std::string& folder) {
  std::vector<std::string> folders = {folder};
  const Result<std::vector<std::string>> names = list_directory(folder);
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    const std::string path = join_path(folder, name);
    if (name.starts_with("model_") && folders.size() < kMostModels && is_own_directory(path)) folders.push_back(path);
  }
  return folders;
}

// `counted`: the layout already counted what readers find, also in crash files.
void tell_settled(const CrashSettled& one, bool counted, RepairReport& report) {
  report.healthy = false;
  if (!counted) {
    report.records_kept += one.content.records;
    report.tensors_kept += one.content.tensors;
  }
  report.records_lost += one.content.lost;
  report.lost.insert(report.lost.end(), one.content.lost_names.begin(), one.content.lost_names.end());
  report.actions.push_back(
      concat(file_name(one.file), ": ", one.content.text, "; ", one.content.tensors, " tensors become files of the tree"));
}

// Whether a link leads from `top`, which the caller chose, to the part of it in `folder`.
bool is_behind_link(const std::string& top, const std::string& folder) {
  std::string place = folder;
  for (; place.size() > top.size(); place = parent_path(place)) {
    if (!is_own_directory(place)) return true;
  }
  return false;
}

}  // namespace

CrashesSettled settle_crashes(const std::string& folder, bool dry_run) {
  CrashesSettled all;
  for (const std::string& place : folders_of(folder)) {
    for (const std::string& name : CrashFile::names_in(place)) {
      const std::string path = join_path(place, name);
      const Result<std::unique_ptr<CrashFile>> crash = CrashFile::read(path);
      if (!crash.ok()) {
        all.problems.push_back(crash.status().message());
        continue;
      }
      const Layout* layout = find_layout((*crash)->layout());
      if (layout == nullptr || !layout->settles_crashes) continue;
      Result<SettledCrash> settled = settle_crash(path, *layout, dry_run);
      if (settled.ok()) {
        all.settled.push_back({path, *std::move(settled)});
      } else {
        all.problems.push_back(settled.status().message());
      }
    }
  }
  return all;
}

Result<RepairReport> repair_dump(const std::string& path, bool dry_run) {
  TENSORTAP_ASSIGN_OR_RETURN(const FoundDump found, locate_dump(path));
  const bool mends = found.layout->repair != nullptr;
  CrashesSettled crashes = found.layout->settles_crashes ? settle_crashes(found.folder, dry_run) : CrashesSettled();
  if (!mends && crashes.settled.empty() && crashes.problems.empty()) {
    return unsupported(concat(found.folder, ": dumps of the layout ", found.layout->name, " cannot be repaired"));
  }
  RepairReport report;
  if (mends) {
    TENSORTAP_ASSIGN_OR_RETURN(report, found.layout->repair(found.folder, dry_run));
  }
  for (const CrashSettled& one : crashes.settled) tell_settled(one, mends, report);
  for (std::string& problem : crashes.problems) {
    report.healthy = false;
    report.actions.push_back(concat("left as it is: ", problem));
  }
  return report;
}

namespace {

Result<RepairReport> repair_part(const std::string& top, const std::string& folder, bool dry_run) {
  if (!is_behind_link(top, folder)) return repair_dump(folder, dry_run);
  return invalid_argument(concat(quote(folder), ": a link leads there. Repair the dump that it leads to by its own path"));
}

}  // namespace

Result<std::vector<RepairedPart>> repair_parts(const std::string& path, bool dry_run) {
  std::vector<std::string> folders = dump_parts(path);
  if (folders.empty()) folders.push_back(path);
  std::vector<RepairedPart> parts;
  for (const std::string& folder : folders) {
    Result<RepairReport> report = repair_part(path, folder, dry_run);
    if (!report.ok() && folders.size() == 1) return report.status();
    if (!report.ok()) {
      RepairReport unchanged;
      unchanged.healthy = false;
      unchanged.actions.push_back(concat("left as it is: ", report.status().message()));
      parts.push_back({folder, std::move(unchanged)});
    } else {
      parts.push_back({folder, *std::move(report)});
    }
  }
  return parts;
}

}  // namespace tensortap
