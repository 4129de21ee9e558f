#include "system/mindspore/tree/writer_folder.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/clock.h"
#include "base/files.h"
#include "base/folder.h"
#include "base/size_signal.h"
#include "base/text.h"
#include "system/mindspore/tensor_name.h"

namespace tensortap::mindspore {
namespace {

constexpr size_t kBlock = size_t{64} << 10;
constexpr int kMostDraws = 100;
constexpr std::string_view kStatisticFile = "statistic.csv";
constexpr std::string_view kMappingFile = "mapping.csv";

Status write_all(int file, std::string_view bytes, std::string_view path) {
  while (!bytes.empty()) {
    const ssize_t written = without_size_signal([&] { return ::write(file, bytes.data(), bytes.size()); });
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno_status(path, errno);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

// Appends all or nothing.
Status append_whole(int file, std::string_view bytes, std::string_view path) {
  const off_t end = ::lseek(file, 0, SEEK_END);
  if (end < 0) return errno_status(path, errno);
  Status status = write_all(file, bytes, path);
  if (!status.ok() && ::ftruncate(file, end) != 0) return errno_status(path, errno);
  return status;
}

Status copy_all(int from, int to, uint64_t& copied, std::string_view path) {
  copied = 0;
  while (true) {
    const ssize_t sent = without_size_signal([&] { return ::sendfile(to, from, nullptr, size_t{1} << 30); });
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno_status(path, errno);
    if (sent == 0) return {};
    copied += static_cast<uint64_t>(sent);
  }
}

Status copy_file(int from_folder, const char* from_name, int folder, const char* name, uint64_t& copied) {
  const Descriptor from(::openat(from_folder, from_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat info {};
  if (!from.is_open() || ::fstat(from.get(), &info) != 0) return errno_status(from_name, errno);
  const Descriptor to(::openat(folder, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, info.st_mode & 0777));
  if (!to.is_open()) return errno == EEXIST ? unsupported(concat(quote(name), " is there already")) : errno_status(name, errno);
  Status status = copy_all(from.get(), to.get(), copied, name);
  if (!status.ok()) (void)::unlinkat(folder, name, 0);
  return status;
}

bool has_no_links(int error) { return error == EXDEV || error == EPERM || error == EMLINK || error == ENOSYS || error == EOPNOTSUPP; }

// Digits that say nothing, as the real system draws them.
uint32_t draw() {
  static thread_local uint64_t state = static_cast<uint64_t>(monotonic_ns()) ^ static_cast<uint64_t>(::getpid()) << 32;
  state = state * 6364136223846793005U + 1442695040888963407U;
  return static_cast<uint32_t>(state >> 33);
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Result<Folder> make_tree_folders(const std::string& root, const std::string& below, Access access) {
  TENSORTAP_ASSIGN_OR_RETURN(const Folder whole, Folder::open(root));
  return whole.make_below(below, folder_mode(access));
}

Status write_tree_file(const Folder& folder, const std::string& name, std::string_view content, Earlier earlier, Access access) {
  const std::string path = join_path(folder.path(), name);
  if (earlier == Earlier::kReplace && folder.contains(name)) TENSORTAP_RETURN_IF_ERROR(folder.remove(name));
  const Descriptor file(::openat(folder.fd(), name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, tree_file_mode(access)));
  if (!file.is_open()) return errno == EEXIST && earlier == Earlier::kKeep ? Status() : errno_status(path, errno);
  Status status = write_all(file.get(), content, path);
  if (!status.ok()) (void)folder.remove(name);
  return status;
}

Status append_tree_file(const Folder& folder, const std::string& name, std::string_view content, Access access) {
  const std::string path = join_path(folder.path(), name);
  const Descriptor made(::openat(folder.fd(), name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, tree_file_mode(access)));
  if (!made.is_open() && errno != EEXIST) return errno_status(path, errno);
  if (made.is_open()) {
    Status status = append_whole(made.get(), content, path);
    if (!status.ok()) (void)folder.remove(name);
    return status;
  }
  // Its owner may not write it either as it stands.
  TENSORTAP_ASSIGN_OR_RETURN(const File there, folder.open_file(name, O_RDONLY));
  (void)::fchmod(there.fd(), tree_file_mode(access) | S_IWUSR);
  const Result<File> file = folder.open_file(name, O_WRONLY);
  Status status = file.ok() ? append_whole(file->fd(), content, path) : file.status();
  (void)::fchmod(there.fd(), tree_file_mode(access));
  return status;
}

// Takes the last `bytes` of such a file away again, and the file when nothing is left of it.
void cut_tree_file(const Folder& folder, const std::string& name, size_t bytes, Access access) {
  const Result<File> there = folder.open_file(name, O_RDONLY);
  if (!there.ok()) return;
  [[maybe_unused]] int done = ::fchmod(there->fd(), tree_file_mode(access) | S_IWUSR);
  const Result<uint64_t> size = there->size();
  Result<File> file = folder.open_file(name, O_WRONLY);
  if (file.ok() && size.ok() && *size > bytes) (void)file->truncate(*size - bytes);
  if (size.ok() && *size == bytes) (void)folder.remove(name);
  done = ::fchmod(there->fd(), tree_file_mode(access));
}

Result<std::shared_ptr<IterationFolder>> IterationFolder::create(const std::string& root, const std::string& below, std::string_view header,
                                                                 Access access) {
  TENSORTAP_ASSIGN_OR_RETURN(Folder folder, make_tree_folders(root, below, access));
  return std::shared_ptr<IterationFolder>(new IterationFolder(std::move(folder), header, access));
}

Status IterationFolder::list_in_mapping(const std::string& stored, const std::string& name) {
  const std::string line = concat(stored, ",", name, "\n");
  TENSORTAP_RETURN_IF_ERROR(append_tree_file(folder_, std::string(kMappingFile), line, access_));
  written_ += line.size();
  last_mapped_ = stored;
  last_mapped_line_ = line.size();
  return {};
}

template <class Action>
Status IterationFolder::under_stored_name(const std::string& name, Stage stage, std::string& stored, Action&& action) {
  if (name.size() <= kLongestFileName) {
    stored = name;
    return action(stored.c_str());
  }
  Status status;
  for (int i = 0; i < kMostDraws; ++i) {
    stored = concat(draw(), ".npy");
    status = action(stored.c_str());
    if (status.code() != StatusCode::kUnsupported) break;
  }
  if (!status.ok() || stage == Stage::kStaged) return status;
  status = list_in_mapping(stored, name);
  if (!status.ok()) remove_tensor(stored);
  return status;
}

Status IterationFolder::create_tensor(NpyTensorWriter& writer, const std::string& name, const TensorView& view, Stage stage,
                                      std::string& stored) {
  const uint64_t bytes = packed_bytes(view.desc.dtype, view.desc.shape.numel().value_or(0)).value_or(0);
  return under_stored_name(name, stage, stored,
                           [&](const char* file) { return writer.write(folder_.fd(), file, view, bytes, tree_file_mode(access_)); });
}

Status IterationFolder::link_tensor(const IterationFolder& from, const std::string& stored_there, const std::string& name,
                                    std::string& stored, uint64_t& copied) {
  copied = 0;
  return under_stored_name(name, Stage::kFinal, stored, [&](const char* file) {
    if (::linkat(from.folder_.fd(), stored_there.c_str(), folder_.fd(), file, 0) == 0) return Status();
    if (errno == EEXIST) return unsupported(concat(quote(file), " is there already"));
    if (has_no_links(errno)) return copy_file(from.folder_.fd(), stored_there.c_str(), folder_.fd(), file, copied);
    return errno_status(join_path(path(), file), errno);
  });
}

Status IterationFolder::move_tensor(IterationFolder& from, const std::string& stored_there, const std::string& name, std::string& stored) {
  // A plain rename would overwrite.
  const Status renamed = under_stored_name(name, Stage::kFinal, stored, [&](const char* file) {
    if (::renameat2(from.folder_.fd(), stored_there.c_str(), folder_.fd(), file, RENAME_NOREPLACE) == 0) return Status();
    return errno == EEXIST ? unsupported(concat(quote(file), " is there already")) : errno_status(join_path(path(), file), errno);
  });
  if (renamed.ok()) return renamed;
  uint64_t copied = 0;
  TENSORTAP_RETURN_IF_ERROR(link_tensor(from, stored_there, name, stored, copied));
  from.remove_tensor(stored_there);
  return {};
}

void IterationFolder::remove_tensor(const std::string& stored) {
  (void)::unlinkat(folder_.fd(), stored.c_str(), 0);
  if (stored != last_mapped_) return;
  last_mapped_.clear();
  cut_tree_file(folder_, std::string(kMappingFile), last_mapped_line_, access_);
}

// Rows of an earlier run stay above ours, as long as they have the same columns.
Status IterationFolder::open_statistic() {
  if (statistic_.is_open()) return {};
  const std::string path = join_path(folder_.path(), kStatisticFile);
  Descriptor file(::openat(folder_.fd(), kStatisticFile.data(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, file_mode(access_)));
  if (file.is_open()) {
    if (Status status = append_whole(file.get(), header_, path); !status.ok()) {
      (void)::unlinkat(folder_.fd(), kStatisticFile.data(), 0);
      return status;
    }
    written_ += header_.size();
    statistic_ = std::move(file);
    return {};
  }
  if (errno != EEXIST) return errno_status(path, errno);
  // Held open by its descriptor below; this one has looked that it is a file of our own.
  TENSORTAP_ASSIGN_OR_RETURN(const File there, folder_.open_file(kStatisticFile, O_RDWR));
  file = Descriptor(::fcntl(there.fd(), F_DUPFD_CLOEXEC, 0));
  if (!file.is_open()) return errno_status(path, errno);
  std::string first(header_.size(), '\0');
  const ssize_t read = ::pread(file.get(), first.data(), first.size(), 0);
  if (read != static_cast<ssize_t>(first.size()) || first != header_) {
    return unsupported(concat(path, " of an earlier dump has other columns; dump into another folder"));
  }
  statistic_ = std::move(file);
  return {};
}

Status IterationFolder::flush() {
  if (rows_.empty()) return {};
  TENSORTAP_RETURN_IF_ERROR(append_whole(statistic_.get(), rows_, join_path(path(), kStatisticFile)));
  written_ += rows_.size();
  rows_.clear();
  return {};
}

Status IterationFolder::add_statistic(std::string_view row) {
  // At the first row, so that a file that does not take it is told at once.
  TENSORTAP_RETURN_IF_ERROR(open_statistic());
  if (rows_.size() + row.size() > kBlock) TENSORTAP_RETURN_IF_ERROR(flush());
  rows_ += row;
  return {};
}

uint64_t IterationFolder::take_written_bytes() { return std::exchange(written_, 0); }

}  // namespace tensortap::mindspore
