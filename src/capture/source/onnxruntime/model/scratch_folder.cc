#include "source/onnxruntime/model/scratch_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/environment.h"
#include "base/text.h"

namespace tensortap::onnxruntime {
namespace {

constexpr std::string_view kPrefix = "tensortap-scratch-";
constexpr int64_t kYoungSeconds = 60;  // between making a folder and holding it

void remove_folder(const std::string& path) {
  std::error_code ignored;
  if (!path.empty()) std::filesystem::remove_all(path, ignored);
}

// Folders of this user whose process is dead: they may hold copies of a model's weights.
void remove_left_folders(const std::string& where) {
  const Result<std::vector<std::string>> names = list_directory(where);
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    if (!name.starts_with(kPrefix)) continue;
    const std::string path = join_path(where, name);
    Result<File> folder = File::open_at(AT_FDCWD, path, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    struct stat facts {};
    if (!folder.ok() || fstat(folder->fd(), &facts) != 0 || facts.st_uid != geteuid()) continue;
    if (time(nullptr) - facts.st_mtime > kYoungSeconds && flock(folder->fd(), LOCK_EX | LOCK_NB) == 0) remove_folder(path);
  }
}

}  // namespace

ScratchFolder& ScratchFolder::operator=(ScratchFolder&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(held_, other.held_);
  return *this;
}

ScratchFolder::~ScratchFolder() { remove_folder(path_); }

Result<ScratchFolder> ScratchFolder::create() {
  const std::string where = environment_value("TMPDIR").value_or("/tmp");
  remove_left_folders(where);
  std::string pattern = join_path(where, concat(kPrefix, "XXXXXX"));
  if (mkdtemp(pattern.data()) == nullptr) return errno_status(pattern, errno);
  ScratchFolder folder;
  // The runtime refuses weights behind a link that leads out of their folder.
  char real[PATH_MAX];
  folder.path_ = realpath(pattern.c_str(), real) != nullptr ? std::string(real) : pattern;
  // Where folders cannot be locked, remove_left_folders() removes none.
  if (Result<File> held = File::open(folder.path_, O_RDONLY | O_DIRECTORY); held.ok()) {
    folder.held_ = *std::move(held);
    (void)flock(folder.held_.fd(), LOCK_EX | LOCK_NB);
  }
  return folder;
}

}  // namespace tensortap::onnxruntime
