#include "system/mindspore/tree/tree_walk.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <span>
#include <unordered_map>

#include "base/files.h"
#include "base/spans.h"
#include "base/text.h"
#include "layout/crash_file.h"
#include "system/mindspore/statistics.h"
#include "tree/folder_names.h"
#include "tree/mapping.h"

namespace tensortap::mindspore {
namespace {

constexpr uint64_t kLargestMapping = uint64_t{1} << 30;
constexpr std::string_view kConstants = "constants";
// What lies in rank_R beside the nets.
constexpr std::array<std::string_view, 4> kRankFolders = {".dump_metadata", "graphs", "execution_order", "debug_files"};

bool is_rank_folder(std::string_view name) { return std::ranges::find(kRankFolders, name) != kRankFolders.end(); }

bool is_numbered_json(std::string_view name) { return name.ends_with(".json") && name.find('.') + 5 < name.size(); }

// Whether files of a dump are in the folder.
bool holds_dump_files(const FolderNames& names) {
  return std::ranges::any_of(names.entries, [&](const FolderEntry& entry) {
    const std::string_view name = names.name(entry);
    return entry.kind == EntryKind::kFile &&
           (name == kStatisticFile || name == kMappingFile || parse_tensor_file_name(name) || is_dump_data_name(name));
  });
}

// Looks at the first names of a folder's first folders, which is enough to know what it is.
class Evidence {
 public:
  static constexpr size_t kNames = 4096;
  static constexpr size_t kFolders = 8;

  explicit Evidence(const std::string& folder) : folder_(folder) {
    if (auto names = read_folder(folder, kNames); names.ok()) names_ = *std::move(names);
  }
  [[nodiscard]] bool has(std::string_view name) const {
    return std::ranges::any_of(names_.entries, [&](const FolderEntry& entry) { return names_.name(entry) == name; });
  }
  [[nodiscard]] bool dump_files() const { return holds_dump_files(names_); }
  template <class Wanted, class Check>
  [[nodiscard]] bool any_folder(Wanted wanted, Check check) const {
    size_t looked = 0;
    for (const std::string& name : names_.folders()) {
      if (!wanted(name)) continue;
      if (check(Evidence(join_path(folder_, name)))) return true;
      if (++looked == kFolders) break;
    }
    return false;
  }
  [[nodiscard]] bool graph() const {
    return any_folder([](std::string_view name) { return is_number(name) || name == kConstants; },
                      [](const Evidence& leaf) { return leaf.dump_files(); });
  }
  [[nodiscard]] bool net() const {
    return any_folder([](std::string_view name) { return is_number(name); }, [](const Evidence& inside) { return inside.graph(); });
  }
  // What lies beside the nets of a rank.
  [[nodiscard]] bool metadata() const { return has(".dump_metadata") || (has("graphs") && has("execution_order")); }
  [[nodiscard]] bool rank() const {
    if (metadata()) return true;
    return any_folder([](std::string_view name) { return !is_rank_folder(name); }, [](const Evidence& inside) { return inside.net(); });
  }
  [[nodiscard]] bool device() const {
    if (dump_files() || graph()) return true;
    return any_folder([](std::string_view) { return true; }, [](const Evidence& inside) { return inside.net(); });
  }
  [[nodiscard]] bool time() const {
    return any_folder([](std::string_view name) { return is_number(name); }, [](const Evidence& inside) { return inside.device(); });
  }
  [[nodiscard]] bool root() const {
    if (any_folder([](std::string_view name) { return parse_rank_folder(name).has_value(); },
                   [](const Evidence& inside) { return inside.rank(); })) {
      return true;
    }
    return any_folder([](std::string_view name) { return is_time_folder(name); }, [](const Evidence& inside) { return inside.time(); });
  }
  [[nodiscard]] bool steps() const {
    return any_folder([](std::string_view name) { return is_number(name); }, [](const Evidence& inside) { return inside.root(); });
  }

 private:
  std::string folder_;
  FolderNames names_;
};

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

std::vector<std::string> real_parts(const std::string& folder) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(folder.c_str(), nullptr), std::free);
  std::vector<std::string> parts;
  if (real == nullptr) return parts;
  for (const std::string_view part : split(real.get(), '/')) {
    if (!part.empty()) parts.emplace_back(part);
  }
  return parts;
}

std::string path_of(std::span<const std::string> parts) {
  std::string path;
  for (const std::string& part : parts) path += concat("/", part);
  return path;
}

// The place that names give: rank_R/NET/GRAPH/ITERATION or TIME/DEVICE/NET/GRAPH/ITERATION, and how deep in it.
TreePlace place_by_names(std::span<const std::string> parts) {
  constexpr size_t kDeepest = 5;
  TreePlace place;
  for (size_t depth = 0; depth < kDeepest && depth < parts.size(); ++depth) {
    const size_t at = parts.size() - 1 - depth;
    const auto below = after(parts, at + 1);
    LeafFolder& known = place.known;
    if (const auto rank = parse_rank_folder(parts[at]); rank && depth <= 3 && (below.empty() || !is_rank_folder(below[0]))) {
      constexpr std::array kRoles = {TreeRole::kRank, TreeRole::kNet, TreeRole::kGraph, TreeRole::kLeaf};
      place.role = kRoles[depth];
      known.rank = *rank;
      known.rank_path = path_of(first_of(parts, at + 1));
    } else if (is_time_folder(parts[at])) {
      constexpr std::array kRoles = {TreeRole::kTime, TreeRole::kDevice, TreeRole::kNet, TreeRole::kGraph, TreeRole::kLeaf};
      place.role = kRoles[depth];
      if (depth == 2 && is_number(below[1])) place.role = TreeRole::kLeaf;  // TIME/DEVICE/ITERATION
      if (depth > 0) known.rank = is_device(below[0]) ? static_cast<int32_t>(number_of(below[0])) : 0;
      known.step_above = at > 0 && is_number(parts[at - 1]);
      if (known.step_above) known.step = number_of(parts[at - 1]);
    } else {
      continue;
    }
    const size_t net = is_time_folder(parts[at]) ? 1 : 0;
    if (below.size() > net && place.role != TreeRole::kLeaf) known.net = below[net];
    if (place.role == TreeRole::kLeaf && below.size() > net + 2) known.net = below[net];
    if (below.size() > net + 1) known.graph = below[net + 1];
    break;
  }
  if (place.role == TreeRole::kLeaf) {
    place.known.constants = parts.back() == kConstants;
    if (!place.known.step_above) place.known.step = number_of(parts.back());
  }
  return place;
}

bool has_evidence(TreeRole role, const Evidence& evidence) {
  switch (role) {
    case TreeRole::kRank:
      return evidence.rank();
    case TreeRole::kNet:
      return evidence.net();
    case TreeRole::kGraph:
      return evidence.graph();
    case TreeRole::kLeaf:
      return evidence.dump_files();
    case TreeRole::kTime:
      return evidence.time();
    case TreeRole::kDevice:
      return evidence.device();
    case TreeRole::kRoot:
      return evidence.root() || evidence.steps();
    case TreeRole::kNone:
      break;
  }
  return false;
}

// Walks down, role by role; so the depth is bounded, whatever links there are.
class TreeWalker {
 public:
  TreeWalker(Tree& tree, TreeProblems& problems) : tree_(tree), problems_(problems) {}

  void walk(TreeRole role, const LeafFolder& here);

 private:
  struct Foreign {
    size_t count = 0;
    std::string first;
  };
  // What a folder called `name` in a folder of this role is, kNone for a foreign one; fills in what its name tells.
  static TreeRole role_below(TreeRole role, const std::string& name, LeafFolder& below);
  void read_files(const LeafFolder& here, FolderNames names, bool leaf);
  void sort_in(LeafFolder& leaf, std::string_view name, std::vector<std::string_view>& mapped);
  void read_mapping(LeafFolder& leaf, std::span<const std::string_view> mapped);
  void add_foreign(std::string_view name) {
    constexpr size_t kExamples = 3;
    if (foreign_.count++ < kExamples) foreign_.first += concat(foreign_.first.empty() ? "" : ", ", quote(name));
  }
  void say_foreign(const std::string& path) {
    if (foreign_.count == 0) return;
    problems_.add(Skipped::kForeign, concat(path, ": ", foreign_.count, foreign_.count == 1 ? " entry is" : " entries are",
                                            " no part of a dump and skipped: ", foreign_.first, foreign_.count > 3 ? ", ..." : ""));
    foreign_ = {};
  }

  Tree& tree_;
  TreeProblems& problems_;
  Foreign foreign_;
  size_t dump_data_ = 0;
  std::string first_dump_data_;
};

TreeRole TreeWalker::role_below(TreeRole role, const std::string& name, LeafFolder& below) {
  const auto leaf = [&] {
    below.constants = name == kConstants;
    if (!below.step_above) below.step = number_of(name);
    return below.constants || is_step(name) ? TreeRole::kLeaf : TreeRole::kNone;
  };
  switch (role) {
    case TreeRole::kRoot:
      if (const auto rank = parse_rank_folder(name)) {
        below.rank = *rank;
        below.rank_path = below.path;
        return TreeRole::kRank;
      }
      if (is_time_folder(name)) return TreeRole::kTime;
      below.step = number_of(name);
      below.step_above = is_step(name);
      return below.step_above ? TreeRole::kRoot : TreeRole::kNone;
    case TreeRole::kRank:
      below.net = name;
      return TreeRole::kNet;
    case TreeRole::kNet:
      below.graph = name;
      return is_number(name) ? TreeRole::kGraph : TreeRole::kNone;
    case TreeRole::kGraph:
      return leaf();
    case TreeRole::kTime:
      below.rank = is_device(name) ? static_cast<int32_t>(number_of(name)) : 0;
      return is_device(name) ? TreeRole::kDevice : TreeRole::kNone;
    case TreeRole::kDevice:
      below.net = name;
      return is_number(name) ? leaf() : TreeRole::kNet;
    case TreeRole::kLeaf:
    case TreeRole::kNone:
      break;
  }
  return TreeRole::kNone;
}

void TreeWalker::walk(TreeRole role, const LeafFolder& here) {
  auto names = read_folder(here.path);
  if (!names.ok()) return problems_.add(Skipped::kFolder, names.status().message());
  const std::vector<std::string> folders = names->folders();
  const bool holds_files = role == TreeRole::kLeaf || role == TreeRole::kDevice;
  std::vector<std::pair<TreeRole, LeafFolder>> below;
  for (const std::string& name : folders) {
    if (role == TreeRole::kRank && is_rank_folder(name)) continue;
    LeafFolder folder = here;
    folder.path = join_path(here.path, name);
    folder.relative = here.relative.empty() ? name : join_path(here.relative, name);
    const TreeRole inside = role_below(role, name, folder);
    // A step's folder holds folders named after times, and nothing that could lead round in a circle.
    if (inside == TreeRole::kNone || (role == TreeRole::kRoot && inside == TreeRole::kRoot && !Evidence(folder.path).root())) {
      add_foreign(name);
    } else {
      below.emplace_back(inside, std::move(folder));
    }
  }
  read_files(here, *std::move(names), holds_files);
  say_foreign(here.relative.empty() ? here.path : here.relative);
  for (const auto& [inside, folder] : below) walk(inside, folder);
}

void TreeWalker::read_files(const LeafFolder& here, FolderNames names, bool leaf) {
  LeafFolder& folder = tree_.folders.emplace_back(here);
  const size_t first = tree_.files.size();
  folder.names = std::move(names.names);
  std::vector<std::string_view> mapped;
  dump_data_ = 0;
  for (const FolderEntry& entry : names.entries) {
    const std::string_view name = std::string_view(folder.names).substr(entry.at, entry.length);
    if (entry.kind == EntryKind::kFolder) continue;
    if (entry.kind == EntryKind::kOther) {
      problems_.add(Skipped::kTensorFile, concat(join_path(folder.relative, name), ": neither a file nor a folder"));
    } else if (leaf) {
      sort_in(folder, name, mapped);
    } else if (!(name.starts_with("acl_dump_") && name.ends_with(".json")) && !CrashFile::is_name(name)) {
      add_foreign(name);
    }
  }
  read_mapping(folder, mapped);
  if (dump_data_ > 0) {
    problems_.add(Skipped::kDumpData, concat(folder.relative, ": files in the form DumpData and overflow records are not read yet, ",
                                             dump_data_, " of them: ", first_dump_data_, dump_data_ > 1 ? ", ..." : ""));
  }
  if (tree_.files.size() == first && !folder.has_statistics) tree_.folders.pop_back();
}

void TreeWalker::sort_in(LeafFolder& leaf, std::string_view name, std::vector<std::string_view>& mapped) {
  if (const auto fields = parse_tensor_file_name(name)) {
    tree_.files.push_back({name, *fields, static_cast<uint32_t>(tree_.folders.size() - 1)});
  } else if (name == kStatisticFile) {
    leaf.has_statistics = true;
  } else if (name.ends_with(".npy") && is_number(name.substr(0, name.size() - 4))) {
    mapped.push_back(name);
  } else if (name == kMappingFile) {
    if (auto text = read_file(join_path(leaf.path, name), kLargestMapping); text.ok()) {
      leaf.mapping = *std::move(text);
    } else {
      problems_.add(Skipped::kMapping, text.status().message());
    }
  } else if (is_dump_data_name(name) || is_number(name) || name.starts_with("Opdebug.")) {
    if (dump_data_++ == 0) first_dump_data_ = quote(name);
  } else if (is_numbered_json(name)) {
    leaf.arguments.emplace_back(name);
  } else {
    add_foreign(name);
  }
}

void TreeWalker::read_mapping(LeafFolder& leaf, std::span<const std::string_view> mapped) {
  if (mapped.empty()) return;
  std::unordered_map<std::string_view, TensorFileName> known;
  for (const MappingLine& line : mapping_lines(leaf.mapping)) {
    if (const auto fields = parse_tensor_file_name(line.name)) {
      known.insert_or_assign(line.stored, *fields);
    } else if (line.line.find(',') == std::string_view::npos || line.stored.ends_with(".npy")) {
      constexpr size_t kShown = 80;
      problems_.add(Skipped::kMapping,
                    concat(join_path(leaf.relative, kMappingFile), ": no line \"NEW.npy,NAME.npy\": ", quote(line.line.substr(0, kShown))));
    }
  }
  for (const std::string_view name : mapped) {
    const auto found = known.find(name);
    if (found == known.end()) {
      problems_.add(Skipped::kTensorFile, concat(join_path(leaf.relative, name), ": mapping.csv does not say whose tensor it is"));
      continue;
    }
    tree_.files.push_back({name, found->second, static_cast<uint32_t>(tree_.folders.size() - 1)});
  }
}

}  // namespace

TreePlace place_in_tree(const std::string& folder) {
  const Evidence evidence(folder);
  TreePlace place = place_by_names(real_parts(folder));
  place.certain = true;
  // An iteration that nothing was dumped in is part of a dump, where the rank's folder is clearly one.
  const bool part = is_directory(folder) && !place.known.rank_path.empty() && Evidence(place.known.rank_path).metadata();
  if (!part && !has_evidence(place.role, evidence)) {
    constexpr std::array kTries = {TreeRole::kRoot, TreeRole::kRank, TreeRole::kLeaf, TreeRole::kGraph, TreeRole::kNet};
    const auto* found = std::ranges::find_if(kTries, [&](TreeRole role) { return has_evidence(role, evidence); });
    const LeafFolder before = std::exchange(place.known, {});
    const bool rank = place.role == TreeRole::kRank;
    place.role = found == kTries.end() ? TreeRole::kNone : *found;
    place.certain = place.role == TreeRole::kRoot || place.role == TreeRole::kRank;
    if (place.role == TreeRole::kRank) place.known.rank_path = folder;
    if (place.role == TreeRole::kRank && rank) place.known.rank = before.rank;
    const std::string name = real_parts(folder).empty() ? "" : real_parts(folder).back();
    if (place.role == TreeRole::kLeaf) place.known.step = number_of(name);
    if (place.role == TreeRole::kGraph && is_number(name)) place.known.graph = name;
  }
  place.known.path = folder;
  return place;
}

Result<Tree> walk_tree(const std::string& folder, TreeProblems& problems) {
  if (!is_directory(folder)) return not_found(concat(folder, ": no such folder"));
  const TreePlace place = place_in_tree(folder);
  if (place.role == TreeRole::kNone) {
    return not_found(concat(folder, ": no MindSpore dump: neither a folder rank_N, nor NET/GRAPH/ITERATION with tensor files is there"));
  }
  Tree tree;
  TreeWalker(tree, problems).walk(place.role, place.known);
  return tree;
}

}  // namespace tensortap::mindspore
