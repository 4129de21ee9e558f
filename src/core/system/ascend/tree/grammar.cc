#include "system/ascend/tree/grammar.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>
#include <tuple>

#include "base/files.h"
#include "base/spans.h"
#include "base/text.h"
#include "crash/crash_file.h"
#include "format/dump_data/dump_data_file.h"
#include "system/ascend/statistics.h"
#include "system/ascend/tree/file_names.h"
#include "tree/manifests.h"
#include "tree/mapping.h"

namespace tensortap::ascend {
namespace {

// TreeFolder::level is one more than the number of folder levels below in which files of a dump may be, 0 where no name shows a dump.
constexpr size_t kTimeLevel = 6;
constexpr size_t kExtraLevel = 3;
constexpr size_t kRankLevel = 4;
// TreeFolder::flags
constexpr uint8_t kInModel = 1;
constexpr uint8_t kHasStep = 2;  // its own name, or one above it, is the step
constexpr uint8_t kInRank = 4;   // below a folder rank_R, or it
constexpr std::string_view kExtraFolder = "extra-info";
constexpr std::string_view kDebugFolder = "debug_files";
// The folders in rank_R beside the nets.
constexpr std::array<std::string_view, 3> kRankCompanions = {".dump_metadata", "graphs", "execution_order"};

// The last of the last `most` parts that `is` holds for; npos when there is none.
template <class Is>
size_t last_place(std::span<const std::string> parts, size_t most, Is is) {
  for (size_t i = parts.size(); i-- > 0;) {
    if (i + most >= parts.size() && is(parts[i])) return i;
  }
  return std::string::npos;
}

// DEVICE[/MODEL][/MODEL_ID][/STEP]
void read_names(std::span<const std::string> parts, TreeFolder& folder) {
  uint64_t number = 0;
  if (!parts.empty() && parse_unsigned(parts[0], number) && number <= INT32_MAX) folder.rank = static_cast<int32_t>(number);
  if (!parts.empty()) parts = after(parts, 1);
  if (!parts.empty()) folder.flags = kInModel;
  if (!parts.empty() && parse_unsigned(parts.back(), number) && number <= INT64_MAX) {
    folder.step = static_cast<int64_t>(number);
    folder.flags |= kHasStep;
    parts = first_of(parts, parts.size() - 1);
  }
  if (!parts.empty() && is_whole_number(parts.back())) {
    folder.graph = parts.back();
    parts = first_of(parts, parts.size() - 1);
  }
  if (!parts.empty()) folder.model = parts[0];
}

// rank_R[/NET[/GRAPH[/STEP]]]
void read_rank(std::span<const std::string> parts, TreeFolder& folder) {
  folder.rank = parse_rank_folder(parts[0]).value_or(0);
  folder.flags = kInRank;
  folder.level = static_cast<uint8_t>(kRankLevel - (parts.size() - 1));
  if (parts.size() < 2) return;
  const bool in_model = parts[1] != kDebugFolder;
  if (in_model) folder.flags |= kInModel;
  if (in_model) folder.model = parts[1];
  // The graph of a program that has only one needs no separate name.
  if (in_model && parts.size() > 2) folder.graph = parts[2];
  if (!folder.graph.empty() && folder.graph != "0") folder.model += concat("/", folder.graph);
  const size_t step = in_model ? 3 : 2;
  if (parts.size() <= step || !is_whole_number(parts[step]) || !parse_integer(parts[step], folder.step)) return;
  folder.flags |= kHasStep;
}

// Reads the real names of a folder and those above it. Without a TIME and data-dump, only the folder's own name counts, if it is a number.
TreeFolder place(const std::string& path) {
  TreeFolder folder;
  const std::vector<std::string> parts = real_parts(path);
  const std::span<const std::string> all = parts;
  const size_t time = last_place(all, kTimeLevel, is_time_folder);
  const size_t rank = last_place(all, kRankLevel, [](std::string_view name) { return parse_rank_folder(name).has_value(); });
  const size_t extra = last_place(all, kExtraLevel, [](std::string_view name) { return name == kExtraFolder; });
  if (time != std::string::npos) {
    folder.dump = parts[time];
    folder.level = static_cast<uint8_t>(kTimeLevel - (parts.size() - time - 1));
    read_names(after(all, time + 1), folder);
    return folder;
  }
  if (rank != std::string::npos) {
    folder.dump = parts[rank];
    read_rank(after(all, rank), folder);
    return folder;
  }
  if (extra != std::string::npos) folder.level = static_cast<uint8_t>(kExtraLevel - (parts.size() - extra - 1));
  if (folder.level == 1 && parts[extra + 1] == "data-dump") {
    read_names(after(all, extra + 2), folder);
  } else if (!parts.empty()) {
    const std::string step[] = {"0", parts.back()};
    read_names(step, folder);
  }
  return folder;
}

std::vector<TreePlace> places(const std::string& path) { return {{place(path)}}; }

// Frameworks that request each step separately put it above the time: STEP/TIME/DEVICE. Folders above the one that was opened do not count.
bool is_step_above(std::string_view name) {
  constexpr size_t kMostDigits = 9;
  return is_whole_number(name) && name.size() <= kMostDigits;
}

void set_step_above(TreeFolder& folder) {
  const std::vector<std::string_view> parts = split(folder.relative, '/');
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    if (is_step_above(parts[i]) && is_time_folder(parts[i + 1])) (void)parse_integer(parts[i], folder.step);
  }
}

FolderRole enter(const TreeFolder& above, std::string_view name, TreeFolder& below) {
  if (name == kManifestFolder) return FolderRole::kCompanion;
  const bool in_rank = (above.flags & kInRank) != 0;
  if (in_rank && above.level == kRankLevel && std::ranges::find(kRankCompanions, name) != kRankCompanions.end())
    return FolderRole::kCompanion;
  TreeFolder found = place(below.path);
  if (above.level > 0) found.level = static_cast<uint8_t>(above.level - 1);  // a link may lead out of the tree
  found.path = std::move(below.path);
  found.relative = std::move(below.relative);
  below = std::move(found);
  if ((below.flags & kHasStep) == 0) set_step_above(below);
  if (below.level == 0 && above.relative.empty() && is_step_above(name)) return FolderRole::kUnproven;
  return below.level > 0 && !name.starts_with('.') ? FolderRole::kPart : FolderRole::kWalked;
}

FileRole role(const TreeFolder& folder, std::string_view name, EntryKind /*kind*/) {
  if (name == kMappingFile) return FileRole::kMapping;
  if (parse_file_name(name)) return FileRole::kTensors;
  if (is_hashed_name(name)) return FileRole::kNumbered;
  if ((folder.flags & kInRank) != 0 && name.ends_with(".npy")) return FileRole::kUnread;
  const bool is_config = name.starts_with("acl_dump_") && name.ends_with(".json");  // MindSpore's, beside the dump
  return name.starts_with('.') || is_config || CrashFile::is_name(name) ? FileRole::kCompanion : FileRole::kMaybeMapped;
}

bool begins_as_a_dump_does(const std::string& path) {
  const auto file = File::open(path, O_RDONLY | O_NONBLOCK);
  if (!file.ok()) return false;
  char bytes[64];
  const ssize_t got = ::pread(file->fd(), bytes, sizeof(bytes), 0);
  const std::string_view head(bytes, got > 0 ? static_cast<size_t>(got) : 0);
  return is_dump_data(std::as_bytes(std::span(head))) || head.starts_with(kTableBegin);
}

// Opens a few of the files that may be a dump's.
bool proves(const TreeFolder& folder, const FolderNames& names) {
  constexpr size_t kMostFiles = 16;
  size_t opened = 0;
  for (const FolderEntry& entry : names.entries) {
    const std::string_view name = names.name(entry);
    if (entry.kind == EntryKind::kFolder && name == kManifestFolder && folder.level == kTimeLevel) return true;
    if (entry.kind != EntryKind::kFile || (!parse_file_name(name) && !is_hashed_name(name))) continue;
    if (opened++ < kMostFiles && begins_as_a_dump_does(join_path(folder.path, name))) return true;
  }
  return false;
}

void tell(const TreeTrouble& trouble, TreeProblems& problems) {
  using What = TreeTrouble::What;
  const auto& [what, path, text, count] = trouble;
  if (what == What::kMapping) {
    problems.add(Skipped::kMapping, concat(path, ": ", text));
  } else if (what == What::kUnmapped) {
    problems.add(Skipped::kMapping, concat(path, ": mapping.csv does not list the original name of this file"));
  } else if (what == What::kAllForeign) {
    problems.add(Skipped::kForeign, concat(count, count == 1 ? " file has a name" : " files have names", " that no dump gives and ",
                                           count == 1 ? "is" : "are", " left out: ", path));
  } else if (what == What::kUnread) {
    problems.add(Skipped::kTensorFile,
                 concat(path, ": ", count, count == 1 ? " npy file is" : " npy files are", " left out beside DumpData files: ", text));
  } else if (what != What::kNoFile && what != What::kForeign) {
    report_trouble(trouble, problems);
  }
}

}  // namespace

constexpr TreeGrammar kGrammar = {
    .places = places, .enter = enter, .role = role, .proves = proves, .tell = tell, .most_files = size_t{1} << 20};

bool is_in_model(const TreeFolder& folder) { return (folder.flags & kInModel) != 0; }

Result<Tree> find_files(const std::string& folder, TreeProblems& problems) {
  auto tree = walk_tree(kGrammar, folder, problems);
  // Files without a known name come last.
  const auto key = [](const TreeFile& file) {
    const bool unexplained = file.name == file.stored && is_hashed_name(file.stored);
    return std::tuple(file.folder, unexplained, unexplained ? file.stored.size() : 0, file.stored);
  };
  if (tree.ok()) std::ranges::sort(tree->files, {}, key);
  return tree;
}

}  // namespace tensortap::ascend
