#include "system/msit/tree/grammar.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/files.h"
#include "base/text.h"
#include "crash/crash_file.h"
#include "system/msit/tree/tree_names.h"
#include "tree/manifests.h"
#include "tree/named_folder.h"

namespace tensortap::msit {
namespace {

enum FolderLevel : uint8_t { kNoLevel, kDumpLevel, kTensorsLevel, kProcessLevel, kRoundLevel, kOperationLevel, kMomentLevel };
constexpr uint8_t kIsBefore = 1;  // TreeFolder::flags
constexpr size_t kMostLevels = 36;
constexpr int kDeepest = 36;  // msit makes folders 32 deep at most

constexpr std::string_view kData = "data";
constexpr std::string_view kTable = "statistic.csv";  // of msit's successor

// What lies in a dump besides its tensors.
constexpr std::array<std::string_view, 8> kCompanions = {
    "info", "layer", "model", "operation_io_tensors", "kernel_io_tensors", "cpu_profiling", "tiling", kManifestFolder};

bool is_companion(std::string_view name) { return std::ranges::find(kCompanions, name) != kCompanions.end(); }

FolderRole part(TreeFolder& below, FolderLevel level) {
  below.level = level;
  return FolderRole::kPart;
}

FolderRole enter_process(std::string_view name, TreeFolder& below) {
  const auto process = parse_process_name(name);
  if (!process) return FolderRole::kForeign;
  below.model = name;
  below.rank = std::max(process->device, 0);
  return part(below, kProcessLevel);
}

FolderRole enter_round(std::string_view name, TreeFolder& below) {
  if (!is_digits(name) || !parse_integer(name, below.step)) return FolderRole::kForeign;
  return part(below, kRoundLevel);
}

FolderRole enter_operation(const TreeFolder& above, std::string_view name, TreeFolder& below) {
  if (above.level == kOperationLevel && (name == kBefore || name == kAfter)) {
    below.flags = name == kBefore ? kIsBefore : 0;
    return part(below, kMomentLevel);
  }
  if (!parse_operation_name(name)) return FolderRole::kForeign;
  below.graph = above.graph.empty() ? std::string(name) : join_path(above.graph, name);
  return part(below, kOperationLevel);
}

FolderRole enter_folder(const TreeFolder& above, std::string_view name, TreeFolder& below) {
  switch (above.level) {
    case kNoLevel:
      if (is_dump_name(name)) {
        below.dump = name;
        return part(below, kDumpLevel);
      }
      if (name == kManifestFolder) return FolderRole::kCompanion;
      return name == kTensors ? part(below, kTensorsLevel) : enter_process(name, below);
    case kDumpLevel:
      if (is_companion(name)) return FolderRole::kCompanion;
      // The successor of msit calls the folder "data".
      return name == kTensors || name == kData ? part(below, kTensorsLevel) : FolderRole::kForeign;
    case kTensorsLevel:
      return enter_process(name, below);
    case kProcessLevel:
      return enter_round(name, below);
    case kRoundLevel:
    case kOperationLevel:
      return enter_operation(above, name, below);
    default:
      return FolderRole::kForeign;
  }
}

// By the real names of the folder and of those above it, and a folder with a name like theirs that holds dumps.
std::vector<TreePlace> places_of(const std::string& path) {
  const std::vector<std::string> parts = real_parts(path);
  TreePlace named;
  for (size_t i = parts.size() - std::min(parts.size(), kMostLevels); i < parts.size(); ++i) {
    TreeFolder below = named.folder;
    // If a name does not fit, the names above it mean nothing: try it as the start of a dump.
    if (enter_folder(named.folder, parts[i], below) != FolderRole::kPart) {
      below = TreeFolder();
      if (enter_folder(TreeFolder(), parts[i], below) != FolderRole::kPart) below = TreeFolder();
    }
    named.folder = below;
  }
  if (named.folder.level == kNoLevel) return {named};
  return {named, TreePlace()};
}

FileRole role_of(const TreeFolder& folder, std::string_view name, EntryKind kind) {
  const bool ours = name.starts_with(kTemporaryPrefix) || name.starts_with('.') || CrashFile::is_name(name);
  if (ours || (folder.level == kOperationLevel && name == kParametersFile)) return FileRole::kCompanion;
  if (folder.level == kRoundLevel && name == kTable) return FileRole::kStatistics;
  if (folder.level != kMomentLevel || !parse_tensor_name(name)) return FileRole::kForeign;
  return kind == EntryKind::kFile ? FileRole::kTensors : FileRole::kNoFile;
}

bool proves_dump(const TreeFolder& folder, const FolderNames& names) {
  return std::ranges::any_of(names.entries, [&](const FolderEntry& entry) {
    const std::string_view name = names.name(entry);
    if (folder.level == kDumpLevel) return entry.kind == EntryKind::kFolder && (name == kTensors || name == kData || is_companion(name));
    if (folder.level == kRoundLevel && name == kTable) return true;
    return folder.level == kMomentLevel && entry.kind == EntryKind::kFile && parse_tensor_name(name).has_value();
  });
}

}  // namespace

constexpr TreeGrammar kGrammar = {.places = places_of,
                                  .enter = enter_folder,
                                  .role = role_of,
                                  .proves = proves_dump,
                                  .tell = report_trouble,
                                  .missing =
                                      ": no dump of msit: neither msit_dump_TIME nor DEVICE_PID/TID/ID_OPERATION/after/outtensorN.bin "
                                      "is here or below",
                                  .most_files = size_t{1} << 22,
                                  .deepest = kDeepest,
                                  .folders_once = true};

bool is_before(const TreeFolder& folder) { return (folder.flags & kIsBefore) != 0; }

}  // namespace tensortap::msit
