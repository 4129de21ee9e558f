#include "tree/named_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/clock.h"
#include "base/gathered_write.h"
#include "base/text.h"

namespace tensortap {
namespace {

constexpr int kMostDraws = 100;

// Digits without a meaning, as real systems draw them.
uint32_t draw() {
  static thread_local uint64_t state = static_cast<uint64_t>(monotonic_ns()) ^ static_cast<uint64_t>(::getpid()) << 32;
  state = state * 6364136223846793005U + 1442695040888963407U;
  return static_cast<uint32_t>(state >> 33);
}

bool has_no_links(int error) { return error == EXDEV || error == EPERM || error == EMLINK || error == ENOSYS || error == EOPNOTSUPP; }

Status naming_error(const Folder& folder, std::string_view name, int error) {
  const std::string path = join_path(folder.path(), name);
  return error == EEXIST ? unsupported(concat(quote(path), " already exists")) : errno_status(path, error);
}

FilePart part_of_text(std::string_view text) { return {std::as_bytes(std::span(text)), nullptr}; }

Status write_text(int file, const std::string& path, std::string_view text) {
  iovec piece = piece_of(std::as_bytes(std::span(text)));
  return write_pieces(file, path, {&piece, 1});
}

// Appends all or nothing.
Status append_whole(int file, const std::string& path, std::string_view text) {
  const off_t end = ::lseek(file, 0, SEEK_END);
  if (end < 0) return errno_status(path, errno);
  Status status = write_text(file, path, text);
  if (!status.ok() && ::ftruncate(file, end) != 0) return errno_status(path, errno);
  return status;
}

}  // namespace

std::string hashed_name(const std::string& path) { return std::to_string(std::hash<std::string>()(path)); }

Result<std::shared_ptr<NamedFolder>> NamedFolder::create(const std::string& root, const std::string& below, const FolderRules& rules) {
  TENSORTAP_ASSIGN_OR_RETURN(const Folder whole, Folder::open(root));
  return create(whole, below, rules);
}

Result<std::shared_ptr<NamedFolder>> NamedFolder::create(const Folder& root, const std::string& below, const FolderRules& rules) {
  TENSORTAP_ASSIGN_OR_RETURN(Folder folder, root.make_below(below, folder_mode(rules.access)));
  return std::shared_ptr<NamedFolder>(new NamedFolder(std::move(folder), rules));
}

mode_t NamedFolder::mode() const {
  return rules_.read_only ? file_mode(rules_.access) & (S_IRUSR | S_IRGRP | S_IROTH) : file_mode(rules_.access);
}

// The mode of a private file does not depend on the umask.
void NamedFolder::set_mode(const File& file) const {
  struct stat info {};
  if (rules_.access == Access::kPrivate) {
    (void)::fchmod(file.fd(), mode());
  } else if (rules_.read_only && ::fstat(file.fd(), &info) == 0) {
    (void)::fchmod(file.fd(), info.st_mode & mode());
  }
}

std::string NamedFolder::next_temporary() { return concat(kTemporaryPrefix, ::getpid(), "-", next_temporary_++); }

Status NamedFolder::list_in_mapping(const std::string& stored, const std::string& name) {
  const std::string line = concat(stored, ",", name, "\n");
  TENSORTAP_RETURN_IF_ERROR(append(std::string(kMappingFile), line));
  last_mapped_ = stored;
  last_mapped_line_ = line.size();
  return {};
}

// Calls `give` with the name, or with its replacement where it is too long.
template <class Give>
Status NamedFolder::under_stored_name(const std::string& name, Stage stage, std::string& stored, Give&& give) {
  stored = name;
  if (rules_.long_name == FolderRules::LongName::kHashed) {
    Status status = give(stored);
    if (status.system_error() != ENAMETOOLONG) return status;
    stored = hashed_name(join_path(path(), name));
    // Before the file, so that no file is without its name.
    if (stage == Stage::kFinal) TENSORTAP_RETURN_IF_ERROR(list_in_mapping(stored, name));
    return give(stored);
  }
  if (name.size() <= kLongestFileName) return give(stored);
  Status status;
  for (int i = 0; i < kMostDraws; ++i) {
    stored = concat(draw(), std::string_view(name).substr(name.rfind('.')));
    status = give(stored);
    if (status.code() != StatusCode::kUnsupported) break;
  }
  if (!status.ok() || stage == Stage::kStaged) return status;
  status = list_in_mapping(stored, name);
  if (!status.ok()) remove(stored);
  return status;
}

Status NamedFolder::write_at_once(const std::string& name, const WriteContent& content) const {
  const int file = ::openat(folder_.fd(), name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode());
  if (file < 0) return naming_error(folder_, name, errno);
  Status status = content(file, name);
  if (::close(file) != 0 && status.ok() && errno != EINTR) status = errno_status(name, errno);
  if (status.ok()) return status;
  (void)::unlinkat(folder_.fd(), name.c_str(), 0);
  return status.with_context(path());
}

// `temporary` gets the file's name where it has one until it is whole.
Result<File> NamedFolder::open_unnamed(std::string& temporary) {
  if (without_names_) {
    Result<File> file = File::open_at(folder_.fd(), ".", path(), O_RDWR | O_TMPFILE, rules_.access);
    const bool tried = std::exchange(tried_, true);
    if (file.ok()) set_mode(*file);
    if (file.ok() && (tried || path_exists(concat("/proc/self/fd/", file->fd())))) return file;
    if (!file.ok() && file.status().code() == StatusCode::kExhausted) return file.status();
    without_names_ = false;
  }
  temporary = next_temporary();
  Result<File> file = File::open_at(folder_.fd(), temporary, path(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, rules_.access);
  if (file.ok()) set_mode(*file);
  return file;
}

Status NamedFolder::give_name(const File& file, const std::string& temporary, const std::string& name) const {
  const std::string self = concat("/proc/self/fd/", file.fd());
  const int done = temporary.empty() ? ::linkat(AT_FDCWD, self.c_str(), folder_.fd(), name.c_str(), AT_SYMLINK_FOLLOW)
                                     : ::renameat2(folder_.fd(), temporary.c_str(), folder_.fd(), name.c_str(), RENAME_NOREPLACE);
  return done == 0 ? Status() : naming_error(folder_, name, errno);
}

Status NamedFolder::write(const std::string& name, const WriteContent& content, std::string& stored, Stage stage) {
  if (rules_.visible == FolderRules::Visible::kAtOnce) {
    return under_stored_name(name, stage, stored, [&](const std::string& file) { return write_at_once(file, content); });
  }
  std::string temporary;
  TENSORTAP_ASSIGN_OR_RETURN(const File file, open_unnamed(temporary));
  Status status = content(file.fd(), file.path());
  if (status.ok()) {
    status = under_stored_name(name, stage, stored, [&](const std::string& as) { return give_name(file, temporary, as); });
  }
  if (!status.ok() && !temporary.empty()) (void)::unlinkat(folder_.fd(), temporary.c_str(), 0);
  return status;
}

Status NamedFolder::write(const std::string& name, std::span<const FilePart> parts, std::string& stored) {
  return write(
      name, [parts](int file, const std::string& path) { return write_parts(file, path, parts); }, stored);
}

Status NamedFolder::write_once(const std::string& name, std::string_view content) {
  if (folder_.contains(name)) return {};
  std::string stored;
  const FilePart part = part_of_text(content);
  Status status = write(name, {&part, 1}, stored);
  return status.code() == StatusCode::kUnsupported ? Status() : status;
}

Status NamedFolder::copy(const NamedFolder& from, const std::string& there, const std::string& name, uint64_t& copied) const {
  TENSORTAP_ASSIGN_OR_RETURN(const File file, from.folder_.open_file(there, O_RDONLY));
  TENSORTAP_ASSIGN_OR_RETURN(copied, file.size());
  return write_at_once(name, [&](int to, const std::string& path) { return copy_range(file.fd(), 0, copied, to, path); });
}

Status NamedFolder::link(const NamedFolder& from, const std::string& there, const std::string& name, std::string& stored,
                         uint64_t& copied) {
  copied = 0;
  return under_stored_name(name, Stage::kFinal, stored, [&](const std::string& file) {
    if (::linkat(from.folder_.fd(), there.c_str(), folder_.fd(), file.c_str(), 0) == 0) return Status();
    return has_no_links(errno) ? copy(from, there, file, copied) : naming_error(folder_, file, errno);
  });
}

Status NamedFolder::point(const std::string& target, const std::string& name) {
  return ::symlinkat(target.c_str(), folder_.fd(), name.c_str()) == 0 ? Status() : naming_error(folder_, name, errno);
}

Status NamedFolder::move(NamedFolder& from, const std::string& there, const std::string& name, std::string& stored) {
  // A plain rename would overwrite.
  Status renamed = under_stored_name(name, Stage::kFinal, stored, [&](const std::string& file) {
    if (::renameat2(from.folder_.fd(), there.c_str(), folder_.fd(), file.c_str(), RENAME_NOREPLACE) == 0) return Status();
    return naming_error(folder_, file, errno);
  });
  if (renamed.ok()) return renamed;
  uint64_t copied = 0;
  TENSORTAP_RETURN_IF_ERROR(link(from, there, name, stored, copied));
  from.remove(there);
  return {};
}

void NamedFolder::remove(const std::string& stored) {
  (void)::unlinkat(folder_.fd(), stored.c_str(), 0);
  if (stored != last_mapped_) return;
  last_mapped_.clear();
  cut(std::string(kMappingFile), last_mapped_line_);
}

// Removes the last bytes of a finished file, and the file when nothing is left of it.
void NamedFolder::cut(const std::string& name, size_t bytes) const {
  const Result<File> there = folder_.open_file(name, O_RDONLY);
  if (!there.ok()) return;
  (void)::fchmod(there->fd(), mode() | S_IWUSR);
  const Result<uint64_t> size = there->size();
  Result<File> file = folder_.open_file(name, O_WRONLY);
  if (file.ok() && size.ok() && *size > bytes) (void)file->truncate(*size - bytes);
  if (size.ok() && *size == bytes) (void)folder_.remove(name);
  (void)::fchmod(there->fd(), mode());
}

Status NamedFolder::put_in_place(const std::string& name, std::span<const FilePart> parts, bool sync) {
  const std::string temporary = next_temporary();
  TENSORTAP_ASSIGN_OR_RETURN(File file, folder_.make_temporary(temporary, name, rules_.access));
  set_mode(file);
  Status status = write_parts(file.fd(), file.path(), parts);
  if (status.ok() && sync) status = file.sync();
  if (status.ok()) status = folder_.rename(temporary, name);
  if (!status.ok()) (void)::unlinkat(folder_.fd(), temporary.c_str(), 0);
  return status;
}

Status NamedFolder::rewrite(const std::string& name, std::span<const FilePart> parts) { return put_in_place(name, parts, true); }

Status NamedFolder::replace(const std::string& name, std::string_view content) {
  const FilePart part = part_of_text(content);
  return put_in_place(name, {&part, 1}, false);
}

Status NamedFolder::append(const std::string& name, std::string_view lines) {
  Result<File> file = folder_.open_file(name, O_WRONLY | O_APPEND | O_CREAT | O_EXCL, rules_.access);
  const bool made = file.ok();
  if (!made && file.status().system_error() != EEXIST) return file.status();
  if (made) {
    set_mode(*file);
  } else if (rules_.read_only) {
    // Not even its owner may write it.
    TENSORTAP_ASSIGN_OR_RETURN(const File there, folder_.open_file(name, O_RDONLY));
    (void)::fchmod(there.fd(), mode() | S_IWUSR);
    file = folder_.open_file(name, O_WRONLY | O_APPEND);
    (void)::fchmod(there.fd(), mode());
  } else {
    file = folder_.open_file(name, O_WRONLY | O_APPEND);
  }
  Status status = file.ok() ? append_whole(file->fd(), file->path(), lines) : file.status();
  if (status.ok()) text_bytes_ += lines.size();
  if (!status.ok() && made) (void)folder_.remove(name);
  return status;
}

// Rows of an earlier run stay above ours, as long as they have the same columns.
Status NamedFolder::open_table(const std::string& name, std::string_view header) {
  if (table_.is_open()) return {};
  Result<File> file = folder_.open_file(name, O_WRONLY | O_APPEND | O_CREAT | O_EXCL, rules_.access);
  if (file.ok()) {
    Status status = append_whole(file->fd(), file->path(), header);
    if (!status.ok()) {
      (void)folder_.remove(name);
      return status;
    }
    text_bytes_ += header.size();
    table_ = *std::move(file);
    return {};
  }
  if (file.status().system_error() != EEXIST) return file.status();
  TENSORTAP_ASSIGN_OR_RETURN(File there, folder_.open_file(name, O_RDWR | O_APPEND));
  std::string first(header.size(), '\0');
  const ssize_t read = ::pread(there.fd(), first.data(), first.size(), 0);
  if (read != static_cast<ssize_t>(first.size()) || first != header) {
    return unsupported(concat(there.path(), " of an earlier dump has other columns; dump into another folder"));
  }
  table_ = std::move(there);
  return {};
}

Status NamedFolder::append_rows(const std::string& name, std::string_view header, std::string_view rows) {
  TENSORTAP_RETURN_IF_ERROR(open_table(name, header));
  TENSORTAP_RETURN_IF_ERROR(append_whole(table_.fd(), table_.path(), rows));
  text_bytes_ += rows.size();
  return {};
}

uint64_t NamedFolder::take_text_bytes() { return std::exchange(text_bytes_, 0); }

}  // namespace tensortap
