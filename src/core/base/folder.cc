#include "base/folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"

namespace tensortap {

Result<Folder> Folder::open(const std::string& path) {
  TENSORTAP_ASSIGN_OR_RETURN(File folder, File::open(path, O_RDONLY | O_DIRECTORY));
  return Folder(std::move(folder));
}

Result<std::shared_ptr<const Folder>> Folder::hold(const std::string& path) {
  TENSORTAP_ASSIGN_OR_RETURN(Folder folder, open(path));
  return std::make_shared<const Folder>(std::move(folder));
}

Result<Folder> Folder::walk(std::string_view relative, mode_t mode) const {
  std::optional<File> below;
  for (const std::string_view part : split(relative, '/')) {
    if (part.empty()) continue;
    const File& at = below.has_value() ? *below : folder_;
    const std::string name(part);
    const std::string inside = join_path(at.path(), name);
    if (name == "..") return invalid_argument(concat(inside, ": leads out of its folder"));
    if (mode != 0 && ::mkdirat(at.fd(), name.c_str(), mode) != 0 && errno != EEXIST) return errno_status(inside, errno);
    TENSORTAP_ASSIGN_OR_RETURN(below, File::open_at(at.fd(), name, inside, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  }
  if (!below.has_value()) {
    TENSORTAP_ASSIGN_OR_RETURN(below, File::open_at(fd(), ".", path(), O_RDONLY | O_DIRECTORY));
  }
  return Folder(*std::move(below));
}

Result<Folder> Folder::below(std::string_view relative) const { return walk(relative, 0); }

Result<Folder> Folder::make_below(std::string_view relative, mode_t mode) const { return walk(relative, mode); }

Result<File> Folder::open_file(std::string_view name, int flags, Access access) const {
  TENSORTAP_ASSIGN_OR_RETURN(File file, File::open_at(fd(), std::string(name), join_path(path(), name), flags | O_NOFOLLOW, access));
  struct stat info {};
  if (::fstat(file.fd(), &info) != 0) return errno_status(file.path(), errno);
  if (S_ISDIR(info.st_mode)) return invalid_argument(concat(file.path(), ": is a folder, not a file"));
  if (info.st_nlink > 1) return other_name_error(file.path());
  return file;
}

Result<File> Folder::make_temporary(std::string_view temporary, std::string_view name, Access access) const {
  return File::open_at(fd(), std::string(temporary), join_path(path(), name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, access);
}

bool Folder::contains(std::string_view name) const {
  struct stat info {};
  return ::fstatat(fd(), std::string(name).c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
}

Status Folder::replace_file(std::string_view name, std::string_view content, Access access) const {
  static std::atomic<unsigned> counter{0};
  const std::string temporary = concat(name, ".tmp-", ::getpid(), "-", counter.fetch_add(1));
  TENSORTAP_ASSIGN_OR_RETURN(File file, make_temporary(temporary, name, access));
  struct stat former {};
  const bool replaces = ::fstatat(fd(), std::string(name).c_str(), &former, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(former.st_mode);
  Status status;
  if (replaces && ::fchmod(file.fd(), former.st_mode & 0777) != 0) status = errno_status(file.path(), errno);
  if (status.ok()) status = file.write(content);
  if (status.ok()) status = file.close();
  if (status.ok()) status = rename(temporary, name);
  if (!status.ok()) (void)::unlinkat(fd(), temporary.c_str(), 0);
  return status;
}

Status Folder::rename(std::string_view from, std::string_view to) const {
  return ::renameat(fd(), std::string(from).c_str(), fd(), std::string(to).c_str()) == 0 ? Status()
                                                                                         : errno_status(join_path(path(), to), errno);
}

Status Folder::remove(std::string_view name) const {
  return ::unlinkat(fd(), std::string(name).c_str(), 0) == 0 ? Status() : errno_status(join_path(path(), name), errno);
}

}  // namespace tensortap
