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

// An open file descriptor, closed on destruction. Move-only. Thread-compatible; pwrite/pread are as thread-safe as the kernel's.
class File {
 public:
  File() = default;
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}
  File& operator=(File&& other) noexcept;
  ~File();

  // `flags` as open(2) has them; O_CLOEXEC is added. New files get mode 0644 less the umask.
  static Result<File> open(const std::string& path, int flags);

  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] const std::string& path() const { return path_; }

  Status write(std::span<const std::byte> bytes);  // all of it, at the file position
  Status write(std::string_view text);
  Status write_at(uint64_t offset, std::span<const std::byte> bytes);
  // Exactly bytes.size() bytes; kCorrupt when the file ends before.
  Status read_at(uint64_t offset, std::span<std::byte> bytes) const;
  Result<uint64_t> size() const;
  Status truncate(uint64_t size);
  Status sync();
  // Closes and reports what close(2) says, which on some file systems is where a full disk shows.
  Status close();

 private:
  File(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  int fd_ = -1;
  std::string path_;
};

// A read-only map of a whole file. Move-only; immutable. An empty file maps to an empty span. A file that shrinks while
// mapped raises SIGBUS on access, as with every map: dumps that are still written only grow.
class MappedFile {
 public:
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();
  static Result<MappedFile> open(const std::string& path);
  [[nodiscard]] std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_), size_}; }
  [[nodiscard]] std::string_view text() const { return {static_cast<const char*>(data_), size_}; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

// The whole file. kExhausted when it is larger than `limit`.
Result<std::string> read_file(const std::string& path, uint64_t limit = uint64_t{1} << 31);
// Writes under a temporary name in the same folder, then renames: readers see the old file or the whole new one.
Status write_file_atomically(const std::string& path, std::string_view content);

Status make_directories(const std::string& path);
bool path_exists(const std::string& path);
bool is_directory(const std::string& path);
// Names (not paths) in a folder, sorted, without "." and "..".
Result<std::vector<std::string>> list_directory(const std::string& path);
// Bytes that an unprivileged program may still write on the file system of `path`.
Result<uint64_t> free_disk_bytes(const std::string& path);
std::string join_path(std::string_view folder, std::string_view name);
std::string file_name(std::string_view path);
std::string parent_path(std::string_view path);  // "." when there is none

// `what` + ": " + strerror(error), as kIo (kNotFound for ENOENT, kExhausted for ENOSPC and EDQUOT).
Status errno_status(std::string_view what, int error);

}  // namespace tensortap

#endif  // TENSORTAP_BASE_FILES_H_
