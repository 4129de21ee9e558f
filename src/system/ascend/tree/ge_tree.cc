#include "system/ascend/tree/ge_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <memory>

#include "base/files.h"
#include "base/text.h"
#include "format/dump_data/dump_data_file.h"
#include "layout/crash_file.h"
#include "system/ascend/statistics.h"
#include "tree/folder_names.h"
#include "tree/mapping.h"

namespace tensortap::ascend {
namespace {

constexpr int kDeepest = 8;
constexpr size_t kMostFolders = 64;             // looked into to recognise a tree
constexpr size_t kMostFiles = 16;               // opened for that, a folder
constexpr size_t kMostFilesOfATree = 1U << 20;  // that a tree may have before something is wrong
constexpr uint64_t kLargestMapping = uint64_t{256} << 20;
constexpr std::string_view kOurFolder = ".tensortap";

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  for (const std::string_view part : split(path, '/')) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

std::string absolute(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> resolved(realpath(path.c_str(), nullptr), &std::free);
  return resolved == nullptr ? path : resolved.get();
}

// The file's first bytes, as many as there are up to `bytes`.
std::string first_bytes(const std::string& path, size_t bytes) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  auto file = File::open(path, O_RDONLY | O_NONBLOCK);
  if (!file.ok()) return {};
  std::string head(bytes, '\0');
  const ssize_t got = ::pread(file->fd(), head.data(), head.size(), 0);
  head.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return head;
}

bool is_file(const std::string& path) {
  const std::string head = first_bytes(path, 64);
  return is_dump_data(std::as_bytes(std::span(head))) || head.starts_with(kTableBegin);
}

// Where in the parts of a path the time's folder stands, the last one that can be it; npos when none does.
size_t time_part(const std::vector<std::string_view>& parts) {
  for (size_t i = parts.size(); i-- > 0;) {
    if (is_time_folder(parts[i]) && i + 6 > parts.size()) return i;
  }
  return std::string::npos;
}

// Looks for one file of a dump below a folder.
class Scout {
 public:
  bool finds(const std::string& folder, int depth) {
    if (folders_++ == kMostFolders) return false;
    const auto names = list_directory(folder);
    if (!names.ok()) return false;
    size_t opened = 0;
    std::vector<std::string> inside;
    for (const std::string& name : *names) {
      const bool may_be = parse_file_name(name).has_value() || is_hashed_name(name);
      if (may_be && opened < kMostFiles && !is_directory(join_path(folder, name))) {
        ++opened;
        if (is_file(join_path(folder, name))) return true;
      } else if (inside.size() < kMostFolders && name[0] != '.') {
        inside.push_back(name);
      }
    }
    if (depth == 0) return false;
    return std::ranges::any_of(inside, [&](const std::string& name) {
      const std::string path = join_path(folder, name);
      return is_directory(path) && finds(path, depth - 1);
    });
  }

 private:
  size_t folders_ = 0;
};

class Walker {
 public:
  Walker(FoundFiles& tree, TreeProblems& problems) : tree_(tree), problems_(problems) {}

  Status walk(const std::string& path, const std::string& relative, int depth) {
    TENSORTAP_ASSIGN_OR_RETURN(const std::vector<std::string> names, list_directory(path));
    const std::map<std::string, std::string, std::less<>> mapping = read_mapping(path, relative, names);
    uint32_t folder = UINT32_MAX;
    std::vector<std::string> below;
    for (const std::string& name : names) {
      if (const auto mapped = mapping.find(name); mapped != mapping.end()) {
        add_file(path, relative, folder, name, mapped->second);
      } else if (parse_file_name(name)) {
        add_file(path, relative, folder, name, name);
      } else if (name != kMappingFile) {
        below.push_back(name);
      }
    }
    std::ranges::sort(below, in_number_order);
    for (const std::string& name : below) look_at(path, relative, folder, name, depth);
    return {};
  }

  void finish() {
    if (foreign_ == 0) return;
    problems_.add(Skipped::kForeign, concat(foreign_, foreign_ == 1 ? " file has a name" : " files have names", " that no dump gives and ",
                                            foreign_ == 1 ? "is" : "are", " left out: ", first_foreign_));
  }

 private:
  void look_at(const std::string& path, const std::string& relative, uint32_t& folder, const std::string& name, int depth) {
    const std::string inside = join_path(path, name);
    const std::string inside_relative = relative.empty() ? name : join_path(relative, name);
    if (!is_directory(inside)) {
      if (is_hashed_name(name)) {
        problems_.add(Skipped::kMapping, concat(inside_relative, ": no line of mapping.csv says what this file was called"));
        add_file(path, relative, folder, name, name);
      } else if (name[0] != '.' && !CrashFile::is_name(name) && foreign_++ == 0) {
        first_foreign_ = inside_relative;
      }
    } else if (name == kOurFolder) {
      if (const auto manifests = list_directory(inside); manifests.ok()) {
        for (const std::string& manifest : *manifests) tree_.manifests.push_back(join_path(inside, manifest));
      }
    } else if (depth == 0) {
      problems_.add(Skipped::kFolder, concat(inside_relative, ": deeper than a dump's folders; it is left out"));
    } else if (const Status status = walk(inside, inside_relative, depth - 1); !status.ok()) {
      problems_.add(Skipped::kFolder, concat(inside_relative, ": ", status.message()));
    }
  }

  void add_file(const std::string& path, const std::string& relative, uint32_t& folder, const std::string& stored, std::string name) {
    if (tree_.files.size() == kMostFilesOfATree) return;
    if (folder == UINT32_MAX) {
      folder = static_cast<uint32_t>(tree_.folders.size());
      tree_.folders.push_back(describe(path, relative));
    }
    tree_.files.push_back({folder, stored, std::move(name)});
    if (tree_.files.size() == kMostFilesOfATree)
      problems_.add(Skipped::kFolder, concat("more than ", kMostFilesOfATree, " files; the others are left out"));
  }

  // TIME/DEVICE[/MODEL][/MODEL_ID][/STEP] or extra-info/data-dump/DEVICE; without any of it what the last folder is called, where it is a
  // number.
  static TreeFolder describe(const std::string& path, const std::string& relative) {
    TreeFolder found;
    found.path = path;
    found.relative = relative;
    const std::string whole = absolute(path);
    std::vector<std::string_view> parts = parts_of(whole);
    const size_t time = time_part(parts);
    if (time != std::string::npos) {
      found.time = parts[time];
      parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(time) + 1);
    } else if (parts.size() >= 3 && parts[parts.size() - 3] == "extra-info" && parts[parts.size() - 2] == "data-dump") {
      parts.erase(parts.begin(), parts.end() - 1);
    } else {
      parts.erase(parts.begin(), parts.end() - std::min<std::ptrdiff_t>(1, std::ssize(parts)));
      parts.insert(parts.begin(), "0");
    }
    uint64_t number = 0;
    if (!parts.empty() && parse_unsigned(parts[0], number) && number <= INT32_MAX) found.device = static_cast<int32_t>(number);
    if (!parts.empty()) parts.erase(parts.begin());
    found.in_model = !parts.empty();
    if (!parts.empty() && parse_unsigned(parts.back(), number) && number <= INT64_MAX) {
      found.step = static_cast<int64_t>(number);
      parts.pop_back();
    }
    if (!parts.empty() && is_whole_number(parts.back())) {
      found.model_id = parts.back();
      parts.pop_back();
    }
    if (!parts.empty()) found.model = parts[0];
    return found;
  }

  std::map<std::string, std::string, std::less<>> read_mapping(const std::string& path, const std::string& relative,
                                                               const std::vector<std::string>& names) {
    std::map<std::string, std::string, std::less<>> mapping;
    if (!std::ranges::binary_search(names, kMappingFile)) return mapping;
    const auto text = read_file(join_path(path, kMappingFile), kLargestMapping);
    if (!text.ok()) {
      problems_.add(Skipped::kMapping, concat(relative, relative.empty() ? "" : "/", kMappingFile, ": ", text.status().message()));
      return mapping;
    }
    return mapped_names(*text);
  }

  FoundFiles& tree_;
  TreeProblems& problems_;
  size_t foreign_ = 0;
  std::string first_foreign_;
};

// Whether the tree's form lets files be further down than in the folder itself.
int depth_of_files(const std::string& folder) {
  const std::string whole = absolute(folder);
  const std::vector<std::string_view> parts = parts_of(whole);
  if (const size_t time = time_part(parts); time != std::string::npos) return 5 - static_cast<int>(parts.size() - time - 1);
  if (!parts.empty() && parts.back() == "extra-info") return 2;
  return parts.size() > 1 && parts[parts.size() - 2] == "extra-info" ? 1 : 0;
}

}  // namespace

Confidence find_tree(const std::string& folder) {
  Scout scout;
  if (scout.finds(folder, std::max(depth_of_files(folder), 0))) return Confidence::kCertain;
  const auto names = list_directory(folder);
  if (!names.ok()) return Confidence::kNo;
  for (const std::string& name : *names) {
    const std::string inside = join_path(folder, name);
    if (is_time_folder(name) && is_directory(inside)) {
      if (is_directory(join_path(inside, kOurFolder)) || scout.finds(inside, 4)) return Confidence::kCertain;
    }
    if (name == "extra-info" && scout.finds(inside, 2)) return Confidence::kCertain;
  }
  return is_directory(join_path(folder, kOurFolder)) && is_time_folder(file_name(folder)) ? Confidence::kCertain : Confidence::kNo;
}

Result<FoundFiles> walk_tree(const std::string& folder, TreeProblems& problems) {
  if (!path_exists(folder)) return not_found(concat(folder, ": no such folder"));
  FoundFiles tree;
  Walker walk(tree, problems);
  TENSORTAP_RETURN_IF_ERROR(walk.walk(folder, "", kDeepest));
  walk.finish();
  return tree;
}

}  // namespace tensortap::ascend
