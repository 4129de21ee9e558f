#include "base/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

#include "base/size_signal.h"
#include "base/spans.h"
#include "base/text.h"

namespace tensortap {
namespace {

constexpr mode_t kPermissions = 0777;
constexpr mode_t kOthers = 0077;

// Pipes, devices and sockets.
bool is_special(mode_t mode) { return !S_ISREG(mode) && !S_ISDIR(mode) && !S_ISLNK(mode); }

Status special_error(std::string_view path, mode_t mode) {
  const char* kind = S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : "a device";
  return invalid_argument(concat(path, ": is ", kind, ", not a file"));
}

bool writes(int flags) { return (flags & O_ACCMODE) != O_RDONLY; }
bool is_nameless(int flags) { return (flags & O_TMPFILE) == O_TMPFILE; }

// One write at the end of the file, whose new end becomes the file position. The system finds the end and writes in one step; where it
// cannot (an old kernel, a sandbox), in two.
ssize_t append_some(int fd, std::span<const std::byte> first, std::span<const std::byte> second) {
  // writev() takes pointers to non-const and only reads.
  const auto part = [](std::span<const std::byte> bytes) { return iovec{const_cast<std::byte*>(bytes.data()), bytes.size()}; };
  const std::array<iovec, 2> parts = {part(first), part(second)};
  const ssize_t written = ::pwritev2(fd, parts.data(), parts.size(), -1, RWF_APPEND);
  if (written >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS)) return written;
  if (::lseek(fd, 0, SEEK_END) < 0) return -1;
  return ::writev(fd, parts.data(), parts.size());
}

// Why openat() failed; ELOOP and ENXIO are what it says of links and of pipes without a reader.
Status open_error(int folder, const std::string& name, const std::string& path, int flags, int error) {
  struct stat info {};
  const bool is_there = fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
  const bool followed = !writes(flags) && (flags & O_NOFOLLOW) == 0;
  if (is_there && S_ISLNK(info.st_mode) && !followed && (error == ELOOP || error == ENOTDIR)) {
    return io_error(concat(path, ": is a symbolic link, which is not followed here"));
  }
  if (is_there && is_special(info.st_mode)) return special_error(path, info.st_mode);
  return errno_status(path, error);
}

constexpr int kWriteTries = 3;  // a device that failed once may go on

}  // namespace

Status other_name_error(std::string_view path) {
  return io_error(concat(path, ": has another name (a hard link); nothing is written into it. Copy the dump and use the copy"));
}

Access access_of(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && (info.st_mode & kOthers) != 0 ? Access::kShared : Access::kPrivate;
}

std::string error_text(int error) {
  std::array<char, 128> buffer{};
  const std::string_view text = strerror_r(error, buffer.data(), buffer.size());
  return error == EFBIG ? "file too large: ulimit -f" : std::string(text);
}

Status errno_status(std::string_view what, int error) {
  StatusCode code = StatusCode::kIo;
  if (error == ENOENT || error == ENOTDIR) code = StatusCode::kNotFound;
  if (error == ENOSPC || error == EDQUOT) code = StatusCode::kExhausted;
  return Status(code, concat(what, ": ", error_text(error))).with_system_error(error);
}

File& File::operator=(File&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  return *this;
}

File::~File() {
  if (fd_ >= 0) ::close(fd_);
}

Result<File> File::open(const std::string& path, int flags, Access access) { return open_at(AT_FDCWD, path, path, flags, access); }

Result<File> File::open_at(int folder, const std::string& name, const std::string& path, int flags, Access access) {
  const bool is_new = (flags & O_EXCL) != 0 || is_nameless(flags);
  // A look before, since opening a device may do something; O_NONBLOCK and a look after, since it may be another file by then. With
  // O_DIRECTORY the system itself refuses everything but folders.
  struct stat info {};
  const bool is_folder = (flags & O_DIRECTORY) != 0 && !is_nameless(flags);
  if (!is_new && !is_folder && fstatat(folder, name.c_str(), &info, 0) == 0 && is_special(info.st_mode))
    return special_error(path, info.st_mode);
  const int safe = O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (writes(flags) && !is_new ? O_NOFOLLOW : 0);
  // An existing file is emptied only after the checks below.
  const int fd = ::openat(folder, name.c_str(), (flags & ~O_TRUNC) | safe, file_mode(access));
  if (fd < 0) return open_error(folder, name, path, flags, errno);
  File file(fd, path);
  if (is_folder) return file;
  if (fstat(fd, &info) != 0) return errno_status(path, errno);
  if (is_special(info.st_mode)) return special_error(path, info.st_mode);
  if (writes(flags) && info.st_nlink > 1) return other_name_error(path);
  if ((flags & O_TRUNC) != 0) TENSORTAP_RETURN_IF_ERROR(file.truncate(0));
  return file;
}

Status File::write(std::span<const std::byte> bytes) {
  int tries = kWriteTries;
  while (!bytes.empty()) {
    const ssize_t written = without_size_signal([&] { return ::write(fd_, bytes.data(), bytes.size()); });
    if (written < 0 && (errno == EINTR || (errno == EIO && --tries > 0))) continue;
    if (written < 0) return errno_status(path_, errno);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

Status File::write(std::string_view text) { return write(std::as_bytes(std::span(text))); }

Status File::write_at(uint64_t offset, std::span<const std::byte> bytes) {
  int tries = kWriteTries;
  while (!bytes.empty()) {
    const ssize_t written = without_size_signal([&] { return ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
    if (written < 0 && (errno == EINTR || (errno == EIO && --tries > 0))) continue;
    if (written < 0) return errno_status(path_, errno);
    offset += static_cast<uint64_t>(written);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

Result<uint64_t> File::append(std::span<const std::byte> first, std::span<const std::byte> second) {
  std::optional<uint64_t> begin;
  uint64_t end = 0;
  int tries = kWriteTries;
  while (!first.empty() || !second.empty()) {
    const ssize_t written = without_size_signal([&] { return append_some(fd_, first, second); });
    if (written < 0 && (errno == EINTR || (errno == EIO && --tries > 0))) continue;
    if (written < 0) return errno_status(path_, errno);
    const off_t position = ::lseek(fd_, 0, SEEK_CUR);
    if (position < written) return io_error(concat(path_, ": another program changed its size"));
    const auto count = static_cast<uint64_t>(written);
    const uint64_t at = static_cast<uint64_t>(position) - count;
    if (begin.has_value() && at != end) return io_error(concat(path_, ": another program changed its size"));
    if (!begin.has_value()) begin = at;
    end = at + count;
    second = after(second, count - std::min<uint64_t>(count, first.size()));
    first = after(first, count);
  }
  if (begin.has_value()) return *begin;
  return size();
}

Status File::read_at(uint64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = ::pread(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno_status(path_, errno);
    if (count == 0) return corrupt(concat(path_, ": ends at byte ", offset, ", ", bytes.size(), " bytes too early"));
    offset += static_cast<uint64_t>(count);
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return {};
}

Result<uint64_t> File::size() const {
  struct stat info {};
  if (fstat(fd_, &info) != 0) return errno_status(path_, errno);
  return static_cast<uint64_t>(info.st_size);
}

Status File::truncate(uint64_t size) {
  if (without_size_signal([&] { return ftruncate(fd_, static_cast<off_t>(size)); }) != 0) return errno_status(path_, errno);
  return {};
}

Status File::reserve(uint64_t offset, uint64_t bytes) {
  const auto allocate = [&] { return fallocate(fd_, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)); };
  if (without_size_signal(allocate) != 0 && errno != EOPNOTSUPP && errno != ENOSYS) return errno_status(path_, errno);
  return {};
}

Status File::sync() {
  if (fsync(fd_) != 0) return errno_status(path_, errno);
  return {};
}

Status File::close() {
  const int fd = std::exchange(fd_, -1);
  if (fd >= 0 && ::close(fd) != 0 && errno != EINTR) return errno_status(path_, errno);
  return {};
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(room_, other.room_);
  std::swap(path_, other.path_);
  std::swap(inode_, other.inode_);
  std::swap(device_, other.device_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(data_, size_);
}

Result<MappedFile> MappedFile::open(const std::string& path) {
  TENSORTAP_ASSIGN_OR_RETURN(const File file, File::open(path, O_RDONLY));
  return map(file);
}

Result<MappedFile> MappedFile::map(const File& file) {
  struct stat info {};
  if (fstat(file.fd(), &info) != 0) return errno_status(file.path(), errno);
  if (!S_ISREG(info.st_mode)) return invalid_argument(concat(file.path(), ": is a folder, not a file"));
  MappedFile map;
  if (info.st_size == 0) return map;
  void* data = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_SHARED, file.fd(), 0);
  if (data == MAP_FAILED) return errno_status(file.path(), errno);
  map.data_ = data;
  map.size_ = static_cast<size_t>(info.st_size);
  map.path_ = file.path();
  map.inode_ = info.st_ino;
  map.device_ = info.st_dev;
  return map;
}

Result<MappedFile> MappedFile::open_settled(const std::string& path) {
  TENSORTAP_ASSIGN_OR_RETURN(const File file, File::open(path, O_RDONLY));
  TENSORTAP_ASSIGN_OR_RETURN(const uint64_t size, file.size());
  if (size == 0 || size > kMostCopied || is_directory(path)) return map(file);
  MappedFile copy;
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return errno_status(path, errno);
  copy.data_ = data;
  copy.size_ = size;
  TENSORTAP_RETURN_IF_ERROR(file.read_at(0, {static_cast<std::byte*>(data), size}));
  if (mprotect(data, size, PROT_READ) != 0) return errno_status(path, errno);
  return copy;
}

Result<MappedFile> MappedFile::open_with_room(const File& file, uint64_t room) {
  struct stat info {};
  if (fstat(file.fd(), &info) != 0) return errno_status(file.path(), errno);
  const auto size = static_cast<uint64_t>(info.st_size);
  MappedFile map;
  void* data = mmap(nullptr, size + room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return errno_status(file.path(), errno);
  map.data_ = data;
  map.size_ = size + room;
  map.room_ = room;
  if (size <= kMostCopied) {
    TENSORTAP_RETURN_IF_ERROR(file.read_at(0, {static_cast<std::byte*>(data), size}));
    return map;
  }
  const int how = MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE;
  if (mmap(data, size, PROT_READ | PROT_WRITE, how, file.fd(), 0) == MAP_FAILED) return errno_status(file.path(), errno);
  map.path_ = file.path();
  map.inode_ = info.st_ino;
  map.device_ = info.st_dev;
  return map;
}

Status MappedFile::check_still_whole() const {
  struct stat info {};
  // A file that was replaced or removed leaves the map as it was.
  if (path_.empty() || stat(path_.c_str(), &info) != 0 || info.st_ino != inode_ || info.st_dev != device_) return {};
  const uint64_t size = size_ - room_;
  if (static_cast<uint64_t>(info.st_size) >= size) return {};
  return corrupt(concat(path_, ": was cut from ", size, " to ", info.st_size, " bytes while it was open; open the dump again"));
}

Result<std::string> read_file(const std::string& path, uint64_t limit) {
  TENSORTAP_ASSIGN_OR_RETURN(const File file, File::open(path, O_RDONLY));
  if (is_directory(path)) return invalid_argument(concat(path, ": is a folder"));
  std::string content;
  std::array<char, 65536> block{};
  for (;;) {
    const ssize_t count = ::read(file.fd(), block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno_status(path, errno);
    if (count == 0) return content;
    if (content.size() + static_cast<size_t>(count) > limit) return exhausted(concat(path, ": larger than ", bytes_text(limit)));
    content.append(block.data(), static_cast<size_t>(count));
  }
}

Status write_file_atomically(const std::string& path, std::string_view content, Access access) {
  static std::atomic<unsigned> counter{0};
  struct stat info {};
  if (stat(path.c_str(), &info) == 0 && is_special(info.st_mode)) return special_error(path, info.st_mode);
  const std::string temporary = concat(path, ".tmp-", getpid(), "-", counter.fetch_add(1));
  TENSORTAP_ASSIGN_OR_RETURN(File file, File::open_at(AT_FDCWD, temporary, path, O_WRONLY | O_CREAT | O_EXCL, access));
  struct stat former {};
  const bool replaces = stat(path.c_str(), &former) == 0 && S_ISREG(former.st_mode);
  Status status;
  if (replaces && fchmod(file.fd(), former.st_mode & kPermissions) != 0) status = errno_status(path, errno);
  if (status.ok()) status = file.write(content);
  if (status.ok()) status = file.close();
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) status = errno_status(path, errno);
  if (!status.ok()) unlink(temporary.c_str());
  return status;
}

Status make_directories(const std::string& path, Access access) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), folder_mode(access)) != 0 && errno != EEXIST) return errno_status(part, errno);
    if (end == std::string::npos) break;
  }
  if (!is_directory(path)) return io_error(concat(path, ": exists and is not a folder"));
  return {};
}

bool path_exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

bool is_directory(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool is_own_directory(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

Result<std::vector<std::string>> list_directory(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path.c_str()), closedir);
  if (folder == nullptr) return errno_status(path, errno);
  std::vector<std::string> names;
  while (const dirent* entry = readdir(folder.get())) {  // NOLINT(concurrency-mt-unsafe): glibc's readdir is safe per stream
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::ranges::sort(names);
  return names;
}

Result<uint64_t> free_disk_bytes(const std::string& path) {
  struct statvfs info {};
  if (statvfs(path.c_str(), &info) != 0) return errno_status(path, errno);
  return uint64_t{info.f_bavail} * info.f_frsize;
}

std::string join_path(std::string_view folder, std::string_view name) {
  if (folder.empty() || name.starts_with('/')) return std::string(name);
  return concat(folder, folder.ends_with('/') ? "" : "/", name);
}

std::string file_name(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

std::string parent_path(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return std::string(slash == 0 ? "/" : path.substr(0, slash));
}

}  // namespace tensortap
