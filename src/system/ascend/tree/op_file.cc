#include "system/ascend/tree/op_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/gathered_write.h"
#include "base/size_signal.h"
#include "base/spans.h"
#include "base/text.h"
#include "system/ascend/tree/file_names.h"

namespace tensortap::ascend {
namespace {

constexpr uint64_t kMostInMemory = uint64_t{64} << 20;
constexpr size_t kCopyBlock = size_t{1} << 20;

// The real system's mode does not depend on the umask.
bool keep_private(const File& file, Access access) {
  return access == Access::kShared || ::fchmod(file.fd(), file_mode(Access::kPrivate)) == 0;
}

// A file without a name in a folder: it goes with the process that holds it.
Result<File> open_nameless(int folder, const std::string& path, Access access) {
  Result<File> file = File::open_at(folder, folder == AT_FDCWD ? path : ".", path, O_RDWR | O_TMPFILE, access);
  if (file.ok() && !keep_private(*file, access)) return errno_status(path, errno);
  return file;
}

Status copy_by_hand(int from, uint64_t at, uint64_t bytes, File& to) {
  std::vector<std::byte> block(static_cast<size_t>(std::min<uint64_t>(bytes, kCopyBlock)));
  while (bytes > 0) {
    const ssize_t got = ::pread(from, block.data(), static_cast<size_t>(std::min<uint64_t>(bytes, block.size())), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_status("a tensor that was kept for its readers", errno);
    if (got == 0) return io_error("a tensor that was kept for its readers is no longer all there");
    TENSORTAP_RETURN_IF_ERROR(to.write(first_of(std::span<const std::byte>(block), static_cast<uint64_t>(got))));
    at += static_cast<uint64_t>(got);
    bytes -= static_cast<uint64_t>(got);
  }
  return {};
}

Status copy_range(int from, uint64_t at, uint64_t bytes, File& to) {
  while (bytes > 0) {
    auto offset = static_cast<off64_t>(at);
    const auto most = static_cast<size_t>(std::min<uint64_t>(bytes, SSIZE_MAX));
    const ssize_t copied = without_size_signal([&] { return ::copy_file_range(from, &offset, to.fd(), nullptr, most, 0); });
    if (copied < 0 && errno == EINTR) continue;
    // Not between these files, or not by this kernel.
    if (copied <= 0) return copy_by_hand(from, at, bytes, to);
    at += static_cast<uint64_t>(copied);
    bytes -= static_cast<uint64_t>(copied);
  }
  return {};
}

bool is_in_memory(const GePart& part) { return part.kept == nullptr || (part.kept->spool == nullptr && part.kept->path.empty()); }

Status copy_part(const GePart& part, File& file) {
  const GePayload& kept = *part.kept;
  if (kept.spool != nullptr) return copy_range(kept.spool->fd(), kept.at, kept.bytes, file);
  TENSORTAP_ASSIGN_OR_RETURN(const File from, File::open(kept.path, O_RDONLY));
  return copy_range(from.fd(), kept.at, kept.bytes, file);
}

// Pieces of memory that are written by one call.
class Gathered {
 public:
  explicit Gathered(File& file) : file_(file) {}

  Status add(std::span<const std::byte> bytes) {
    if (bytes.empty()) return {};
    if (count_ == pieces_.size()) TENSORTAP_RETURN_IF_ERROR(flush());
    pieces_[count_++] = piece_of(bytes);
    return {};
  }

  Status flush() {
    TENSORTAP_RETURN_IF_ERROR(write_pieces(file_.fd(), file_.path(), first_of(std::span(pieces_.data(), pieces_.size()), count_)));
    count_ = 0;
    return {};
  }

 private:
  File& file_;
  std::array<iovec, 64> pieces_{};
  size_t count_ = 0;
};

Status write_parts(std::span<const GePart> parts, File& file) {
  Gathered gathered(file);
  for (const GePart& part : parts) {
    if (is_in_memory(part)) {
      TENSORTAP_RETURN_IF_ERROR(gathered.add(part.kept == nullptr ? part.bytes : std::span(part.kept->memory)));
    } else {
      TENSORTAP_RETURN_IF_ERROR(gathered.flush());
      TENSORTAP_RETURN_IF_ERROR(copy_part(part, file));
    }
  }
  return gathered.flush();
}

}  // namespace

uint64_t bytes_of_part(const GePart& part) { return part.kept == nullptr ? part.bytes.size() : part.kept->bytes; }

Status Spool::open() {
  if (file_ != nullptr) return {};
  Result<File> file = open_nameless(AT_FDCWD, folder_, Access::kPrivate);
  if (!file.ok()) {
    const std::string path = join_path(folder_, concat(".tensortap-spool-", ::getpid()));
    file = File::open(path, O_RDWR | O_CREAT | O_EXCL);
    if (file.ok()) (void)::unlink(path.c_str());
  }
  if (!file.ok()) return file.status();
  file_ = std::make_shared<File>(*std::move(file));
  return {};
}

Result<std::shared_ptr<const GePayload>> Spool::keep(std::span<const std::byte> bytes) {
  if (bytes.size() <= kLargestGeInMemory && *in_memory_ + bytes.size() <= kMostInMemory) {
    auto* payload = new GePayload{{bytes.begin(), bytes.end()}, {}, nullptr, 0, bytes.size()};
    *in_memory_ += bytes.size();
    return std::shared_ptr<const GePayload>(payload, [in_memory = in_memory_](const GePayload* old) {
      *in_memory -= old->bytes;
      delete old;
    });
  }
  TENSORTAP_RETURN_IF_ERROR(open());
  TENSORTAP_RETURN_IF_ERROR(file_->write_at(end_, bytes));
  const uint64_t at = std::exchange(end_, end_ + bytes.size());
  return std::shared_ptr<const GePayload>(new GePayload{{}, {}, file_, at, bytes.size()}, [](const GePayload* old) {
    (void)::fallocate(old->spool->fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(old->at),
                      static_cast<off_t>(old->bytes));
    delete old;
  });
}

Result<std::shared_ptr<GeFolder>> GeFolder::create(const std::string& root, const std::string& below, Access access) {
  TENSORTAP_ASSIGN_OR_RETURN(const Folder whole, Folder::open(root));
  TENSORTAP_ASSIGN_OR_RETURN(Folder folder, whole.make_below(below, folder_mode(access)));
  return std::shared_ptr<GeFolder>(new GeFolder(std::move(folder), access));
}

// 0, or the number of the error. A name that is there is an error.
int GeFolder::link_file(const File& file, const std::string& temporary, const std::string& name) {
  if (!temporary.empty()) {
    return ::renameat2(folder_.fd(), temporary.c_str(), folder_.fd(), name.c_str(), RENAME_NOREPLACE) == 0 ? 0 : errno;
  }
  const std::string self = concat("/proc/self/fd/", file.fd());
  return ::linkat(AT_FDCWD, self.c_str(), folder_.fd(), name.c_str(), AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

Status GeFolder::add_mapping(const std::string& stored, const std::string& name) {
  TENSORTAP_ASSIGN_OR_RETURN(File mapping, folder_.open_file(kMappingFile, O_WRONLY | O_CREAT | O_APPEND, access_));
  (void)keep_private(mapping, access_);
  return mapping.write(concat(stored, ",", name, "\n"));
}

Status GeFolder::give_name(const File& file, const std::string& temporary, const std::string& name, std::string& stored) {
  stored = name;
  int error = link_file(file, temporary, name);
  if (error == ENAMETOOLONG) {
    stored = hashed_name(join_path(path(), name));
    // Before the file, so that no file is without its name.
    TENSORTAP_RETURN_IF_ERROR(add_mapping(stored, name));
    error = link_file(file, temporary, stored);
  }
  if (error == 0) return {};
  if (error == EEXIST) return unsupported(concat(quote(join_path(path(), name)), " is there already"));
  return errno_status(join_path(path(), name), error);
}

// `temporary` gets the file's name where it has one until it is whole.
Result<File> GeFolder::open_file(std::string& temporary) {
  if (without_names_) {
    Result<File> file = open_nameless(folder_.fd(), path(), access_);
    const bool tried = std::exchange(tried_, true);
    if (file.ok() && (tried || path_exists(concat("/proc/self/fd/", file->fd())))) return file;
    if (!file.ok() && file.status().code() == StatusCode::kExhausted) return file.status();
    without_names_ = false;
  }
  temporary = concat(".tensortap-", ::getpid(), "-", next_temporary_++);
  Result<File> file = folder_.open_file(temporary, O_WRONLY | O_CREAT | O_EXCL, access_);
  if (file.ok()) (void)keep_private(*file, access_);
  return file;
}

Status GeFolder::write(const std::string& name, std::span<const GePart> parts, std::string& stored) {
  std::string temporary;
  TENSORTAP_ASSIGN_OR_RETURN(File file, open_file(temporary));
  written_ = 0;
  for (const GePart& part : parts) written_ += bytes_of_part(part);
  Status status = write_parts(parts, file);
  if (status.ok()) status = give_name(file, temporary, name, stored);
  if (!status.ok() && !temporary.empty()) (void)::unlinkat(folder_.fd(), temporary.c_str(), 0);
  return status;
}

Status GeFolder::put_in_place(const std::string& name, std::span<const GePart> parts, bool sync) {
  const std::string temporary = concat(".tensortap-", ::getpid(), "-", next_temporary_++);
  TENSORTAP_ASSIGN_OR_RETURN(File file, folder_.open_file(temporary, O_WRONLY | O_CREAT | O_EXCL, access_));
  (void)keep_private(file, access_);
  Status status = write_parts(parts, file);
  if (status.ok() && sync) status = file.sync();
  if (status.ok()) status = folder_.rename(temporary, name);
  if (!status.ok()) (void)::unlinkat(folder_.fd(), temporary.c_str(), 0);
  return status;
}

Status GeFolder::rewrite(const std::string& name, std::span<const GePart> parts) { return put_in_place(name, parts, true); }

Status GeFolder::replace(const std::string& name, std::string_view content) {
  const std::array<GePart, 1> parts = {GePart{std::as_bytes(std::span(content)), nullptr}};
  return put_in_place(name, parts, false);
}

}  // namespace tensortap::ascend
