#include "base/running_captures.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/environment.h"
#include "base/text.h"

namespace tensortap {
namespace {

// Where the user's folder may be, best first.
std::vector<std::string> candidates() {
  std::vector<std::string> paths;
  const auto runtime = environment_value("XDG_RUNTIME_DIR");
  if (runtime && runtime->starts_with('/') && is_directory(*runtime)) paths.push_back(join_path(*runtime, "tensortap"));
  paths.push_back(join_path(environment_value("TMPDIR").value_or("/tmp"), concat("tensortap-", ::geteuid())));
  return paths;
}

// We follow links in it, so no other user may be able to change it.
Status check_private(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return errno_status(path, errno);
  if (!S_ISDIR(info.st_mode)) return invalid_argument(concat(path, ": is no folder; remove it"));
  if (info.st_uid != ::geteuid()) return invalid_argument(concat(path, ": belongs to another user"));
  if ((info.st_mode & 0077) != 0) return invalid_argument(concat(path, ": is open to other users; chmod 700 it, or remove it"));
  return {};
}

}  // namespace

Result<std::string> make_running_folder() {
  Status first;
  for (const std::string& path : candidates()) {
    Status status;
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) status = errno_status(path, errno);
    if (status.ok()) status = check_private(path);
    if (status.ok()) return path;
    if (first.ok()) first = status;
  }
  return first;
}

std::vector<std::string> running_folders() {
  std::vector<std::string> found;
  for (const std::string& path : candidates()) {
    if (check_private(path).ok()) found.push_back(path);
  }
  return found;
}

Result<std::string> read_owned_file(const std::string& path, uid_t owner, struct stat* seen) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return errno_status(path, errno);
  if (seen != nullptr) *seen = info;
  if (S_ISLNK(info.st_mode)) return invalid_argument(concat(path, ": is a symbolic link, which is not followed"));
  TENSORTAP_ASSIGN_OR_RETURN(const File file, File::open(path, O_RDONLY | O_NOFOLLOW));
  if (::fstat(file.fd(), &info) != 0) return errno_status(path, errno);
  if (seen != nullptr) *seen = info;
  if (!S_ISREG(info.st_mode)) return invalid_argument(concat(path, ": is no file"));
  if (info.st_uid != owner) return invalid_argument(concat(path, ": belongs to user ", info.st_uid, ", not to user ", owner));
  const auto size = static_cast<uint64_t>(info.st_size);
  if (size > kMostControlBytes) return invalid_argument(concat(path, ": has more than ", kMostControlBytes, " bytes"));
  std::string text(size, '\0');
  TENSORTAP_RETURN_IF_ERROR(file.read_at(0, std::as_writable_bytes(std::span(text))));
  return text;
}

}  // namespace tensortap
