#include "convert/target_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ranges>

#include "base/controls.h"
#include "base/folder.h"
#include "base/text.h"

namespace tensortap {
namespace {

constexpr size_t kLongestTargetName = 255;
constexpr mode_t kFolderMode = 0777;

// Names come out of files: a name is one name, and holds nothing that a terminal obeys.
std::string printable_name(std::string_view name) {
  std::string clean = replace_controls(name, [](std::string_view) { return "_"; });
  std::ranges::replace(clean, '/', '_');
  return clean.empty() || clean == "." || clean == ".." ? concat("_", clean) : clean;
}

std::string printable_path(std::string_view path) {
  std::string clean;
  for (const std::string_view part : split(path, '/')) {
    if (!part.empty()) clean += concat(clean.empty() ? "" : "/", printable_name(part));
  }
  return clean;
}

}  // namespace

Status TargetFolder::make() {
  std::vector<std::string> missing;
  for (size_t end = path_.find('/', 1);; end = path_.find('/', end + 1)) {
    const std::string part = path_.substr(0, end);
    if (!path_exists(part)) missing.push_back(part);
    if (end == std::string::npos) break;
  }
  TENSORTAP_RETURN_IF_ERROR(make_directories(path_));
  made_ = std::move(missing);
  return {};
}

void TargetFolder::protect(const std::string& file) {
  struct stat facts {};
  if (::stat(file.c_str(), &facts) == 0) protected_.emplace(facts.st_dev, facts.st_ino);
}

void TargetFolder::remove_if_unused() {
  if (written_ > 0) return;
  // A folder with files of another program stays.
  for (const std::string& folder : made_ | std::views::reverse) (void)::rmdir(folder.c_str());
}

Result<Folder> TargetFolder::folder_for(const std::string& below) const {
  TENSORTAP_ASSIGN_OR_RETURN(const Folder root, Folder::open(path_));
  return root.make_below(below, kFolderMode);
}

Status TargetFolder::add_mapping(const Folder& folder, const std::string& stored, const std::string& name) {
  const std::lock_guard lock(mutex_);
  TENSORTAP_ASSIGN_OR_RETURN(File mapping, folder.open_file("mapping.csv", O_WRONLY | O_CREAT | O_APPEND));
  return mapping.write(concat(stored, ",", name, "\n"));
}

Status TargetFolder::write(const std::string& below, const std::string& name, uint64_t bytes, const std::function<Status(File&)>& fill) {
  TENSORTAP_ASSIGN_OR_RETURN(const Folder folder, folder_for(printable_path(below)));
  const std::string given = printable_name(name);
  std::string stored = given;
  if (given.size() > kLongestTargetName) {
    const size_t dot = given.rfind('.');
    stored = concat(std::hash<std::string>()(given), given.substr(dot == std::string::npos ? given.size() : dot));
    TENSORTAP_RETURN_IF_ERROR(add_mapping(folder, stored, given));
  }
  struct stat there {};
  if (!protected_.empty() && ::fstatat(folder.fd(), stored.c_str(), &there, 0) == 0 && protected_.contains({there.st_dev, there.st_ino})) {
    return invalid_argument(concat(join_path(folder.path(), stored), ": is what is converted; choose another target"));
  }
  const std::string temporary = concat(".tensortap-", ::getpid(), "-", next_.fetch_add(1));
  TENSORTAP_ASSIGN_OR_RETURN(File file, folder.make_temporary(temporary, stored));
  Status status = fill(file);
  if (Status closed = file.close(); status.ok()) status = std::move(closed);
  const bool replaces = folder.contains(stored);
  if (status.ok()) status = folder.rename(temporary, stored);
  if (!status.ok()) {
    (void)folder.remove(temporary);
    return status;
  }
  written_.fetch_add(1);
  replaced_.fetch_add(replaces ? 1 : 0);
  bytes_.fetch_add(bytes);
  return {};
}

}  // namespace tensortap
