#include "tree/walk.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "layout/layout.h"
#include "tree/mapping.h"

namespace tensortap {
namespace {

constexpr size_t kMostFolders = 64;  // looked into to recognise a tree
constexpr size_t kMostNames = 4096;  // in each of them
constexpr size_t kMostExamples = 3;

TreeFolder folder_below(const TreeFolder& above, const std::string& name) {
  TreeFolder below = above;
  below.path = join_path(above.path, name);
  below.relative = relative_to_tree(above, name);
  return below;
}

// Looks for what proves a dump.
class Scout {
 public:
  explicit Scout(const TreeGrammar& grammar) : grammar_(grammar) {}

  bool finds(const TreeFolder& folder) {
    if (folders_++ == kMostFolders) return false;
    const auto names = read_folder(folder.path, kMostNames);
    if (!names.ok()) return false;
    if (grammar_.proves(folder, *names)) return true;
    size_t looked = 0;
    for (const std::string& name : names->folders()) {
      TreeFolder below = folder_below(folder, name);
      const FolderRole role = grammar_.enter(folder, name, below);
      if (role != FolderRole::kPart && role != FolderRole::kUnproven) continue;
      if (finds(below)) return true;
      if (++looked == grammar_.most_inside) break;
    }
    return false;
  }

 private:
  const TreeGrammar& grammar_;
  size_t folders_ = 0;
};

// The first place that is proven, or needs no proof.
std::optional<TreePlace> place_of(const TreeGrammar& grammar, const std::string& folder, bool needs_proof) {
  for (TreePlace& place : grammar.places(folder)) {
    place.folder.path = folder;
    if (!needs_proof || Scout(grammar).finds(place.folder)) return std::move(place);
  }
  return std::nullopt;
}

class Walker {
 public:
  Walker(const TreeGrammar& grammar, Tree& tree, TreeProblems& problems) : grammar_(grammar), tree_(tree), problems_(problems) {}

  Status walk(const TreeFolder& here, int depth) {
    if (grammar_.folders_once && !is_new(here.path)) return invalid_argument("a link to a folder that was read already");
    TENSORTAP_ASSIGN_OR_RETURN(FolderNames names, read_folder(here.path));
    std::vector<TreeFolder> below;
    foreign_ = {kMostExamples};
    for (const std::string& name : names.folders()) look_at_folder(here, name, depth, below);
    read_files(here, std::move(names));
    if (foreign_.count > 0)
      tell({TreeTrouble::What::kForeign, here.relative.empty() ? here.path : here.relative, foreign_.text, foreign_.count});
    for (const TreeFolder& folder : below) {
      if (const Status status = walk(folder, depth - 1); !status.ok())
        tell({TreeTrouble::What::kFolder, folder.relative, status.message()});
    }
    return {};
  }

  void finish() {
    if (foreign_files_ > 0) tell({TreeTrouble::What::kAllForeign, first_foreign_, "", foreign_files_});
  }

 private:
  // Counts names and shows the first ones.
  struct Examples {
    size_t most;
    size_t count = 0;
    std::string text = "";
    void add(std::string_view name) {
      if (count++ < most) {
        text += concat(text.empty() ? "" : ", ", quote(name));
      } else if (count == most + 1) {
        text += ", ...";
      }
    }
  };
  bool is_new(const std::string& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) != 0 || walked_.emplace(info.st_dev, info.st_ino).second;
  }

  void tell(const TreeTrouble& trouble) { grammar_.tell(trouble, problems_); }

  void look_at_folder(const TreeFolder& here, const std::string& name, int depth, std::vector<TreeFolder>& below) {
    TreeFolder folder = folder_below(here, name);
    const FolderRole role = grammar_.enter(here, name, folder);
    if (role == FolderRole::kCompanion) {
      tree_.companion_folders.push_back(folder.path);
    } else if (role == FolderRole::kForeign || (role == FolderRole::kUnproven && !Scout(grammar_).finds(folder))) {
      foreign_.add(name);
    } else if (depth == 0) {
      tell({TreeTrouble::What::kDeep, folder.relative});
    } else {
      below.push_back(std::move(folder));
    }
  }

  void read_files(const TreeFolder& here, FolderNames names) {
    TreeFolder& folder = tree_.folders.emplace_back(here);
    const size_t first = tree_.files.size();
    folder.names = std::move(names.names);
    std::vector<std::pair<std::string_view, FileRole>> unknown;
    Examples unread{1};
    for (const FolderEntry& entry : names.entries) {
      const std::string_view name = std::string_view(folder.names).substr(entry.at, entry.length);
      if (entry.kind == EntryKind::kFolder) continue;
      const FileRole role = grammar_.role(folder, name, entry.kind);
      if (role == FileRole::kUnread) {
        unread.add(name);
      } else if (role == FileRole::kMapped || role == FileRole::kNumbered || role == FileRole::kMaybeMapped) {
        unknown.emplace_back(name, role);
      } else {
        sort_in(folder, name, role);
      }
    }
    if (!unknown.empty()) map_names(folder, unknown);
    if (unread.count > 0) tell({TreeTrouble::What::kUnread, folder.relative, unread.text, unread.count});
    if (tree_.files.size() == first && folder.statistics.empty()) tree_.folders.pop_back();
  }

  void sort_in(TreeFolder& folder, std::string_view name, FileRole role) {
    if (role == FileRole::kTensors) {
      add_file(name, name);
    } else if (role == FileRole::kStatistics) {
      folder.statistics = name;
    } else if (role == FileRole::kMapping) {
      auto text = read_file(join_path(folder.path, name), grammar_.largest_mapping);
      if (!text.ok()) return tell({TreeTrouble::What::kMapping, relative_to_tree(folder, name), text.status().message()});
      folder.mapping = *std::move(text);
    } else if (role == FileRole::kCompanion) {
      folder.companions.push_back(name);
    } else if (role == FileRole::kNoFile) {
      tell({TreeTrouble::What::kNoFile, relative_to_tree(folder, name)});
    } else {
      add_foreign(folder, name);
    }
  }

  void map_names(const TreeFolder& folder, std::vector<std::pair<std::string_view, FileRole>>& unknown) {
    std::ranges::sort(unknown, in_number_order, &std::pair<std::string_view, FileRole>::first);
    std::unordered_map<std::string_view, std::string_view> known;
    for (const MappingLine& line : mapping_lines(folder.mapping)) {
      if (!line.stored.empty() && (grammar_.explains == nullptr || grammar_.explains(line.name))) {
        known.insert_or_assign(line.stored, line.name);
      } else {
        tell({TreeTrouble::What::kMappingLine, relative_to_tree(folder, kMappingFile), line.line});
      }
    }
    for (const auto& [name, role] : unknown) {
      if (const auto found = known.find(name); found != known.end()) {
        add_file(name, found->second);
      } else if (role == FileRole::kMaybeMapped) {
        add_foreign(folder, name);
      } else {
        tell({TreeTrouble::What::kUnmapped, relative_to_tree(folder, name)});
        if (role == FileRole::kNumbered) add_file(name, name);
      }
    }
  }

  // A file of the folder that came last.
  void add_file(std::string_view stored, std::string_view name) {
    if (tree_.files.size() == grammar_.most_files) return;
    tree_.files.push_back({static_cast<uint32_t>(tree_.folders.size() - 1), stored, name});
    if (tree_.files.size() == grammar_.most_files) tell({TreeTrouble::What::kManyFiles, "", "", tree_.files.size()});
  }

  void add_foreign(const TreeFolder& folder, std::string_view name) {
    foreign_.add(name);
    if (foreign_files_++ == 0) first_foreign_ = relative_to_tree(folder, name);
  }

  const TreeGrammar& grammar_;
  Tree& tree_;
  TreeProblems& problems_;
  std::set<std::pair<dev_t, ino_t>> walked_;
  Examples foreign_{kMostExamples};  // in the folder that is read
  size_t foreign_files_ = 0;
  std::string first_foreign_;
};

}  // namespace

void report_trouble(const TreeTrouble& trouble, TreeProblems& problems) {
  using What = TreeTrouble::What;
  const auto& [what, path, text, count] = trouble;
  if (what == What::kFolder) {
    problems.add(Skipped::kFolder, concat(path, ": ", text));
  } else if (what == What::kDeep) {
    problems.add(Skipped::kFolder, concat(path, ": deeper than a dump's folders; it is left out"));
  } else if (what == What::kManyFiles) {
    problems.add(Skipped::kFolder, concat("more than ", count, " files; the others are left out"));
  } else if (what == What::kNoFile) {
    problems.add(Skipped::kTensorFile, concat(path, ": neither a file nor a folder"));
  } else if (what == What::kForeign) {
    problems.add(Skipped::kForeign,
                 concat(path, ": ", count, count == 1 ? " entry is" : " entries are", " no part of a dump and skipped: ", text));
  }
}

Confidence recognise_tree(const TreeGrammar& grammar, const std::string& folder) {
  const std::optional<TreePlace> place = place_of(grammar, folder, true);
  if (!place) return Confidence::kNo;
  return place->certain ? Confidence::kCertain : Confidence::kMaybe;
}

Result<Tree> walk_tree(const TreeGrammar& grammar, const std::string& folder, TreeProblems& problems) {
  if (!is_directory(folder)) return not_found(concat(folder, ": no such folder"));
  const std::optional<TreePlace> place = place_of(grammar, folder, !grammar.missing.empty());
  if (!place) return not_found(concat(folder, grammar.missing));
  Tree tree;
  Walker walker(grammar, tree, problems);
  TENSORTAP_RETURN_IF_ERROR(walker.walk(place->folder, grammar.deepest));
  walker.finish();
  return tree;
}

std::vector<std::string> real_parts(const std::string& folder) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(folder.c_str(), nullptr), std::free);
  std::vector<std::string> parts;
  for (const std::string_view part : split(real == nullptr ? folder.c_str() : real.get(), '/')) {
    if (!part.empty()) parts.emplace_back(part);
  }
  return parts;
}

std::string relative_to_tree(const TreeFolder& folder, std::string_view name) {
  return folder.relative.empty() ? std::string(name) : join_path(folder.relative, name);
}

}  // namespace tensortap
