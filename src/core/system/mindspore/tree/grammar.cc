#include "system/mindspore/tree/grammar.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/files.h"
#include "base/spans.h"
#include "base/text.h"
#include "crash/crash_file.h"
#include "system/mindspore/names.h"
#include "system/mindspore/statistics.h"
#include "tree/manifests.h"
#include "tree/mapping.h"

namespace tensortap::mindspore {
namespace {

// TreeFolder::level. A step's folder holds folders of times, as the root does.
enum FolderLevel : uint8_t { kNowhere, kRoot, kStep, kRank, kNet, kGraph, kLeaf, kTime, kDevice };
// TreeFolder::flags
constexpr uint8_t kConstant = 1;
constexpr uint8_t kStepAbove = 2;  // the step is the name of a folder around TIME

constexpr std::string_view kConstants = "constants";
// The folders in rank_R beside the nets.
constexpr std::array<std::string_view, 4> kRankFolders = {".dump_metadata", "graphs", "execution_order", "debug_files"};

bool is_rank_folder(std::string_view name) { return std::ranges::find(kRankFolders, name) != kRankFolders.end(); }

bool is_numbered_json(std::string_view name) { return name.ends_with(".json") && name.find('.') + 5 < name.size(); }

int64_t number_of(std::string_view name) {
  int64_t number = 0;
  return is_number(name) && parse_integer(name, number) ? number : 0;
}

// A step's or a device's folder: a number that a record can hold.
bool is_step(std::string_view name) {
  int64_t number = 0;
  return is_number(name) && parse_integer(name, number);
}

bool is_device(std::string_view name) {
  constexpr size_t kMostDeviceDigits = 9;
  return is_number(name) && name.size() <= kMostDeviceDigits;
}

void set_rank(TreeFolder& folder, std::string_view device) {
  folder.rank = is_device(device) ? static_cast<int32_t>(number_of(device)) : 0;
}

bool has_step_above(const TreeFolder& folder) { return (folder.flags & kStepAbove) != 0; }

void set_leaf(TreeFolder& folder, std::string_view name) {
  folder.level = kLeaf;
  if (name == kConstants) folder.flags |= kConstant;
  if (!has_step_above(folder)) folder.step = number_of(name);
}

FolderRole enter_if(bool is_part, TreeFolder& below, FolderLevel level) {
  below.level = level;
  return is_part ? FolderRole::kPart : FolderRole::kForeign;
}

FolderRole enter(const TreeFolder& above, std::string_view name, TreeFolder& below) {
  switch (above.level) {
    case kRoot:
    case kStep:
      if (const auto rank = parse_rank_folder(name)) {
        below.rank = *rank;
        below.dump = below.path;
        return enter_if(true, below, kRank);
      }
      if (name == kManifestFolder) return FolderRole::kCompanion;
      if (is_time_folder(name)) return enter_if(true, below, kTime);
      if (above.level == kStep || !is_step(name)) return FolderRole::kForeign;
      below.step = number_of(name);
      below.flags |= kStepAbove;
      below.level = kStep;
      return FolderRole::kUnproven;
    case kRank:
      if (is_rank_folder(name)) return FolderRole::kCompanion;
      below.model = name;
      return enter_if(true, below, kNet);
    case kNet:
      below.graph = name;
      return enter_if(is_number(name), below, kGraph);
    case kTime:
      set_rank(below, name);
      return enter_if(is_device(name), below, kDevice);
    case kDevice:
      below.model = name;
      if (!is_number(name)) return enter_if(true, below, kNet);
      [[fallthrough]];
    case kGraph:
      set_leaf(below, name);
      return enter_if(name == kConstants || is_step(name), below, kLeaf);
    default:
      return FolderRole::kForeign;
  }
}

// The place that the nearest folder rank_R or TIME above leads to; nowhere without one.
TreeFolder place_by_names(std::span<const std::string> parts) {
  constexpr size_t kMostBelowTime = 4;
  constexpr size_t kMostBelowRank = 3;
  for (size_t depth = 0; depth <= kMostBelowTime && depth < parts.size(); ++depth) {
    const size_t at = parts.size() - 1 - depth;
    const bool is_time = is_time_folder(parts[at]);
    if (!is_time && (depth > kMostBelowRank || !parse_rank_folder(parts[at]))) continue;
    TreeFolder place;
    place.level = kRoot;
    place.path = concat("/", join(first_of(parts, at), "/"));
    if (is_time && at > 0 && is_number(parts[at - 1])) {
      place.flags = kStepAbove;
      place.step = number_of(parts[at - 1]);
    }
    bool beside = false;
    for (const std::string& part : after(parts, at)) {
      TreeFolder below = place;
      below.path = join_path(place.path, part);
      beside = beside || enter(place, part, below) == FolderRole::kCompanion;
      place = std::move(below);
    }
    if (!beside) return place;
  }
  return {};
}

std::vector<TreePlace> places(const std::string& path) {
  const std::vector<std::string> parts = real_parts(path);
  std::vector<TreePlace> all;
  if (TreeFolder named = place_by_names(parts); named.level != kNowhere) all.push_back({std::move(named)});
  const std::string name = parts.empty() ? "" : parts.back();
  for (const FolderLevel level : {kRoot, kRank, kLeaf, kGraph, kNet}) {
    TreePlace& place = all.emplace_back();
    place.folder.level = level;
    if (level == kRank) place.folder.dump = path;
    if (level == kLeaf) place.folder.step = number_of(name);
    if (level == kGraph && is_number(name)) place.folder.graph = name;
    place.certain = level == kRoot || level == kRank;
  }
  return all;
}

FileRole role(const TreeFolder& folder, std::string_view name, EntryKind kind) {
  if (kind == EntryKind::kOther) return FileRole::kNoFile;
  if (folder.level != kLeaf && folder.level != kDevice) {
    const bool known = (name.starts_with("acl_dump_") && name.ends_with(".json")) || CrashFile::is_name(name);
    return known ? FileRole::kCompanion : FileRole::kForeign;
  }
  if (parse_tensor_file_name(name)) return FileRole::kTensors;
  if (name == kStatisticFile) return FileRole::kStatistics;
  if (name.ends_with(".npy") && is_number(name.substr(0, name.size() - 4))) return FileRole::kMapped;
  if (name == kMappingFile) return FileRole::kMapping;
  if (is_dump_data_name(name) || is_number(name)) return FileRole::kUnread;
  return is_numbered_json(name) ? FileRole::kCompanion : FileRole::kForeign;
}

// Whether the folder contains the metadata that lies beside the nets of a rank.
bool has_metadata(const FolderNames& names) {
  const auto has = [&](std::string_view wanted) {
    return std::ranges::any_of(names.entries, [&](const FolderEntry& entry) { return names.name(entry) == wanted; });
  };
  return has(".dump_metadata") || (has("graphs") && has("execution_order"));
}

bool proves(const TreeFolder& folder, const FolderNames& names) {
  if (folder.level == kRank && has_metadata(names)) return true;
  // An iteration without any dumped tensor is part of a dump if the rank's folder clearly is one.
  if (folder.relative.empty() && !folder.dump.empty() && folder.level != kRank) {
    constexpr size_t kMostNames = 4096;
    if (const auto rank = read_folder(folder.dump, kMostNames); rank.ok() && has_metadata(*rank)) return true;
  }
  if (folder.level != kLeaf && folder.level != kDevice) return false;
  return std::ranges::any_of(names.entries, [&](const FolderEntry& entry) {
    const std::string_view name = names.name(entry);
    return entry.kind == EntryKind::kFile &&
           (name == kStatisticFile || name == kMappingFile || parse_tensor_file_name(name) || is_dump_data_name(name));
  });
}

bool explains(std::string_view name) { return parse_tensor_file_name(name).has_value(); }

void tell(const TreeTrouble& trouble, TreeProblems& problems) {
  using What = TreeTrouble::What;
  const auto& [what, path, text, count] = trouble;
  constexpr size_t kShown = 80;
  if (what == What::kFolder) {
    problems.add(Skipped::kFolder, std::string(text));
  } else if (what == What::kMapping) {
    problems.add(Skipped::kMapping, std::string(text));
  } else if (what == What::kMappingLine) {
    const size_t comma = text.find(',');
    if (comma == std::string_view::npos || text.substr(0, comma).ends_with(".npy"))
      problems.add(Skipped::kMapping, concat(path, ": no line \"NEW.npy,NAME.npy\": ", quote(text.substr(0, kShown))));
  } else if (what == What::kUnmapped) {
    problems.add(Skipped::kTensorFile, concat(path, ": mapping.csv does not say whose tensor it is"));
  } else if (what == What::kUnread) {
    problems.add(Skipped::kDumpData, concat(path, ": DumpData files are left out among npy files, ", count, " of them: ", text));
  } else if (what == What::kNoFile || what == What::kForeign) {
    report_trouble(trouble, problems);
  }
}

}  // namespace

constexpr TreeGrammar kGrammar = {
    .places = places,
    .enter = enter,
    .role = role,
    .proves = proves,
    .explains = explains,
    .tell = tell,
    .missing = ": no MindSpore dump: contains neither a folder rank_N, nor NET/GRAPH/ITERATION with tensor files",
    .most_inside = 8,
    .largest_mapping = uint64_t{1} << 30,
};

bool is_constants(const TreeFolder& folder) { return (folder.flags & kConstant) != 0; }

}  // namespace tensortap::mindspore
