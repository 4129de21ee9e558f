// Files, folders and maps, each failure as a Status that names the path. All names are byte strings as Linux has them.

#ifndef TENSORTAP_BASE_FILES_H_
#define TENSORTAP_BASE_FILES_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace tensortap {

// Who may use a new file or folder: only its owner, or also those that the umask admits.
enum class Access : uint8_t { kPrivate, kShared };
constexpr mode_t folder_mode(Access access) { return access == Access::kShared ? 0777 : 0700; }
constexpr mode_t file_mode(Access access) { return access == Access::kShared ? 0666 : 0600; }
// That of an existing file or folder; kPrivate if it cannot be read.
Access access_of(const std::string& path);

// An open file descriptor, closed on destruction. Move-only. Thread-compatible; pwrite/pread are as thread-safe as the kernel's.
class File {
 public:
  File() = default;
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}
  File& operator=(File&& other) noexcept;
  ~File();

  // `flags` as open(2) has them; O_CLOEXEC is added. `access` is that of a new file. Never waits for a pipe or device. Errors:
  // kInvalidArgument for pipes, devices and sockets; kIo if an existing file is opened for writing and is a symbolic link or has another
  // name.
  static Result<File> open(const std::string& path, int flags, Access access = Access::kPrivate);
  // The same for `name` in an open folder (AT_FDCWD: the current one). `path` is what messages call it.
  static Result<File> open_at(int folder, const std::string& name, const std::string& path, int flags, Access access = Access::kPrivate);

  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] const std::string& path() const { return path_; }

  // All of it, at the file position. What would go beyond the program's limit for files (ulimit -f) is an error here and below, and no
  // signal.
  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text);
  Status write_at(uint64_t offset, std::span<const std::byte> bytes);
  // Adds `first`, then `second`, at the end of the file and returns where that was: in a file that another program cut, before what was
  // written last. Moves the file position. After an error a part may be there.
  Result<uint64_t> append(std::span<const std::byte> first, std::span<const std::byte> second = {});
  // Exactly bytes.size() bytes; kCorrupt when the file ends before.
  Status read_at(uint64_t offset, std::span<std::byte> bytes) const;
  Result<uint64_t> size() const;
  Status truncate(uint64_t size);
  // Room on the disk for bytes from `offset` on, as zeros, as far as the file system can promise any. kExhausted when there is none.
  Status reserve(uint64_t offset, uint64_t bytes);
  Status sync();
  // Closes and reports what close(2) says, which on some file systems is where a full disk shows.
  Status close();

 private:
  File(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  int fd_ = -1;
  std::string path_;
};

// A whole file in memory, read-only. Move-only; immutable. An empty file is an empty span. A mapped file that shrinks raises SIGBUS where
// it is read beyond its new end (dumps that are still written only grow); the command reports this and exits (src/cli/files/cut_file.h).
class MappedFile {
 public:
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept { *this = std::move(other); }
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();
  // Maps the file.
  static Result<MappedFile> open(const std::string& path);
  static Result<MappedFile> map(const File& file);
  // Copies a file of at most `kMostCopied` bytes, which nothing can change any more, and maps a larger one. For files that are read again
  // and again.
  static Result<MappedFile> open_settled(const std::string& path);
  static constexpr uint64_t kMostCopied = uint64_t{16} << 20;
  // The same with `room` zeros behind the file, in separate memory: changes of own_bytes() stay out of the file.
  static Result<MappedFile> open_with_room(const File& file, uint64_t room);
  [[nodiscard]] std::span<std::byte> own_bytes() const { return {static_cast<std::byte*>(data_), room_ == 0 ? 0 : size_}; }
  // kCorrupt when the file has become shorter than its map: reading on would end the process.
  [[nodiscard]] Status check_still_whole() const;
  [[nodiscard]] std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_), size_}; }
  [[nodiscard]] std::string_view text() const { return {static_cast<const char*>(data_), size_}; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
  size_t room_ = 0;
  std::string path_;     // "" of a copy
  uint64_t inode_ = 0;   // whose map it is
  uint64_t device_ = 0;  // the inode's
};

// The whole file. kExhausted when it is larger than `limit`.
Result<std::string> read_file(const std::string& path, uint64_t limit = uint64_t{1} << 31);
// Writes under a temporary name in the same folder, then renames: readers see the old file or the whole new one, which has the mode of the
// old. A symbolic link is replaced, not followed. kInvalidArgument when `path` is a pipe, a device or a folder.
Status write_file_atomically(const std::string& path, std::string_view content, Access access = Access::kPrivate);

Status make_directories(const std::string& path, Access access = Access::kPrivate);
bool path_exists(const std::string& path);
bool is_directory(const std::string& path);      // or a link to one
bool is_own_directory(const std::string& path);  // no link
// Names (not paths) in a folder, sorted, without "." and "..".
Result<std::vector<std::string>> list_directory(const std::string& path);
// Bytes that an unprivileged program may still write on the file system of `path`.
Result<uint64_t> free_disk_bytes(const std::string& path);
std::string join_path(std::string_view folder, std::string_view name);
std::string file_name(std::string_view path);
std::string parent_path(std::string_view path);  // "." when there is none

// `what` + ": " + what the system says of the error, as kIo (kNotFound for ENOENT, kExhausted for ENOSPC and EDQUOT), with the error.
Status errno_status(std::string_view what, int error);
// The words for it: strerror(), and of a limit where to find it.
std::string error_text(int error);
// Reports that nothing is written into a file that has another name (a hard link), which may belong to another user.
Status other_name_error(std::string_view path);

}  // namespace tensortap

#endif  // TENSORTAP_BASE_FILES_H_
