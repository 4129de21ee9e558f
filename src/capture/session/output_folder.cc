#include "session/output_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ranges>

#include "base/clock.h"
#include "base/text.h"

namespace tensortap {
namespace {

constexpr int kMostSuffixes = 1000;
constexpr std::string_view kDefaultParent = "tensortap_dump";

Status not_usable(const std::string& path, int error) {
  const Status status = errno_status(concat("output folder ", quote(path), " cannot be created"), error);
  return {StatusCode::kIo, concat(status.message(), ". Choose another with --out, or make its parent writable")};
}

// The folders of the other processes of a job lie in that of the first and may be there before it.
bool is_of_other_process(const std::string& path, const std::string& name) {
  return (name.starts_with("process_") || name.starts_with("rank_")) && is_directory(join_path(path, name));
}

}  // namespace

Status OutputFolder::make_parents(const std::string& path) {
  for (size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), folder_mode(access_)) == 0) {
      created_.push_back(part);
    } else if (errno != EEXIST && !is_directory(part)) {
      return not_usable(part, errno);
    }
  }
  return {};
}

// The lock is on the folder itself, leaves no file behind and ends with the process.
Status OutputFolder::hold(const std::string& path) {
  Result<File> file = File::open(path, O_RDONLY | O_DIRECTORY);
  if (!file.ok()) {
    if (!is_directory(path)) return invalid_argument(concat("output folder ", quote(path), " is not a folder. Choose another with --out"));
    return file.status().with_context("output folder");
  }
  // File systems without flock still have the check for emptiness.
  if (flock(file->fd(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return invalid_argument(concat("output folder ", quote(path), " is in use by another capture. Choose another with --out"));
  }
  TENSORTAP_ASSIGN_OR_RETURN(std::vector<std::string> names, list_directory(path));
  std::erase_if(names, [&](const std::string& name) { return is_of_other_process(path, name); });
  if (!names.empty()) {
    return invalid_argument(concat("output folder ", quote(path), " is not empty (it holds ", quote(names.front()),
                                   names.size() > 1 ? ", ..." : "", "). Choose another with --out, or remove it"));
  }
  lock_ = *std::move(file);
  path_ = path;
  return {};
}

Result<OutputFolder> OutputFolder::create(const std::string& out, int32_t rank, int32_t world_size, Access access) {
  const std::string suffix = world_size > 1 ? concat("/rank_", rank) : "";
  std::string base = out.empty() ? join_path(kDefaultParent, wall_clock_name()) : out;
  while (base.size() > 1 && base.ends_with('/')) base.pop_back();
  for (int attempt = 1; attempt <= kMostSuffixes; ++attempt) {
    OutputFolder folder(access);
    const std::string path = (attempt == 1 ? base : concat(base, "-", attempt)) + suffix;
    Status status = folder.make_parents(path);
    const bool made = status.ok() && mkdir(path.c_str(), folder_mode(access)) == 0;
    if (made) {
      folder.created_.push_back(path);
    } else if (status.ok()) {
      if (out.empty() && errno == EEXIST) continue;
      if (errno != EEXIST) status = not_usable(path, errno);
    }
    if (status.ok()) status = folder.hold(path);
    if (status.ok()) return folder;
    // Another process may hold, or have filled, what this one created: rmdir only takes empty folders.
    for (const std::string& part : std::views::reverse(folder.created_)) {
      if (part != path) rmdir(part.c_str());
    }
    return status;
  }
  return invalid_argument(concat("no free name for an output folder like ", quote(base), ". Choose one with --out"));
}

Result<OutputFolder> OutputFolder::share(const std::string& out, Access access) {
  OutputFolder folder(access);
  folder.shared_ = true;
  folder.path_ = out.empty() ? join_path(kDefaultParent, wall_clock_name()) : out;
  while (folder.path_.size() > 1 && folder.path_.ends_with('/')) folder.path_.pop_back();
  Status status = folder.make_parents(folder.path_);
  if (status.ok() && mkdir(folder.path_.c_str(), folder_mode(access)) == 0) {
    folder.created_.push_back(folder.path_);
  } else if (status.ok() && !is_directory(folder.path_)) {
    status = not_usable(folder.path_, errno);
  }
  if (status.ok()) return folder;
  folder.discard();
  return status;
}

bool OutputFolder::still_there() const {
  struct stat held {};
  struct stat found {};
  if (shared_) return is_directory(path_);
  if (!lock_.is_open()) return true;
  return fstat(lock_.fd(), &held) == 0 && stat(path_.c_str(), &found) == 0 && held.st_dev == found.st_dev && held.st_ino == found.st_ino;
}

void OutputFolder::discard() {
  const Result<std::vector<std::string>> names = list_directory(path_);
  if (names.ok() && !shared_ && lock_.is_open() && still_there()) {
    for (const std::string& name : *names) unlinkat(lock_.fd(), name.c_str(), 0);
  }
  for (const std::string& part : std::views::reverse(created_)) rmdir(part.c_str());
  created_.clear();
}

}  // namespace tensortap
