#include "base/code_file.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/text.h"

namespace tensortap {
namespace {

constexpr int kMostLinks = 40;  // as many as the kernel follows
constexpr mode_t kWrittenByOthers = S_IWGRP | S_IWOTH;

std::string octal(mode_t mode) {
  std::string text = "0";
  for (const int shift : {6, 3, 0}) text += static_cast<char>('0' + (mode >> shift & 7));
  return text;
}

// What is wrong with something that belongs to the wrong user, or that others may write.
Status owned_by_another(const std::string& path, const struct stat& facts) {
  return unsupported(concat(quote(path), " belongs to user ", facts.st_uid, ", who is neither the user of this process (", geteuid(),
                            ") nor root, and could put any code there"));
}

Status open_to_others(const std::string& path, const struct stat& facts) {
  return unsupported(concat("other users can write ", quote(path), " (mode ", octal(facts.st_mode),
                            ") and could put any code there; `chmod go-w ", path, "` ends that"));
}

// An open folder on the way from the root.
class Place {
 public:
  Place(int fd, std::string path, const struct stat& facts) : fd_(fd), path_(std::move(path)), facts_(facts) {}
  Place(Place&& other) noexcept : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)), facts_(other.facts_) {}
  Place& operator=(Place&&) = delete;
  ~Place() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const struct stat& facts() const { return facts_; }
  // Whether only the user, root and, in a folder like /tmp, the owner of an entry can change what an entry's name means.
  [[nodiscard]] Status keeps_names() const {
    if (facts_.st_uid != geteuid() && facts_.st_uid != 0) return owned_by_another(path_, facts_);
    if ((facts_.st_mode & kWrittenByOthers) == 0 || ((facts_.st_mode & S_ISVTX) != 0 && facts_.st_uid == 0)) return {};
    return open_to_others(path_, facts_);
  }

 private:
  int fd_;
  std::string path_;
  struct stat facts_;
};

// Goes from the root to a path, name by name, and looks at everything on the way.
class Walk {
 public:
  Result<Place> go(const std::string& path) {
    TENSORTAP_RETURN_IF_ERROR(push(AT_FDCWD, "/", "/"));
    add_names(path);
    while (!names_.empty()) {
      const std::string name = std::move(names_.back());
      names_.pop_back();
      if (name.empty() || name == ".") continue;
      if (name == "..") {
        if (places_.size() > 1) places_.pop_back();
        continue;
      }
      TENSORTAP_RETURN_IF_ERROR(enter(name));
    }
    return std::move(places_.back());
  }

 private:
  void add_names(std::string_view path) {
    const auto parts = split(path, '/');
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) names_.emplace_back(*part);
  }

  Status push(int folder, const std::string& name, std::string path) {
    const int fd = openat(folder, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return errno_status(path, errno);
    struct stat facts {};
    const int failed = fstat(fd, &facts);
    places_.emplace_back(fd, std::move(path), facts);
    return failed == 0 ? Status() : errno_status(places_.back().path(), errno);
  }

  Status enter(const std::string& name) {
    const Place& folder = places_.back();
    if (!S_ISDIR(folder.facts().st_mode)) return errno_status(folder.path(), ENOTDIR);
    TENSORTAP_RETURN_IF_ERROR(folder.keeps_names());
    TENSORTAP_RETURN_IF_ERROR(push(folder.fd(), name, join_path(folder.path(), name)));
    const Place& entered = places_.back();
    if (entered.facts().st_uid != geteuid() && entered.facts().st_uid != 0) return owned_by_another(entered.path(), entered.facts());
    return S_ISLNK(entered.facts().st_mode) ? follow() : Status();
  }

  // The last place is a link: goes on where it points to.
  Status follow() {
    const std::string path = places_.back().path();
    if (++links_ > kMostLinks) return errno_status(path, ELOOP);
    std::array<char, PATH_MAX> target;
    const ssize_t size = readlinkat(places_.back().fd(), "", target.data(), target.size());
    if (size < 0) return errno_status(path, errno);
    const std::string_view text(target.data(), static_cast<size_t>(size));
    if (text.starts_with('/')) {
      while (places_.size() > 1) places_.pop_back();
    } else {
      places_.pop_back();
    }
    add_names(text);
    return {};
  }

  std::vector<Place> places_;       // from the root to here
  std::vector<std::string> names_;  // still to go, the next one last
  int links_ = 0;
};

// "" when the path leads nowhere.
std::string without_links(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), std::free);
  return real == nullptr ? std::string() : std::string(real.get());
}

Status no_more_open_than(const struct stat& own, const std::string& path) {
  struct stat facts {};
  if (lstat(path.c_str(), &facts) != 0) return errno_status(path, errno);
  if (facts.st_uid != geteuid() && facts.st_uid != 0 && facts.st_uid != own.st_uid) return owned_by_another(path, facts);
  if ((facts.st_mode & kWrittenByOthers & ~own.st_mode) != 0) return open_to_others(path, facts);
  return {};
}

// The resolved path of something beside our libraries, "" when it is somewhere else.
Result<std::string> beside_us(const std::string& path, const std::string& own_folder) {
  const std::string own = own_folder.empty() ? std::string() : without_links(own_folder);
  const std::string real = without_links(path);
  if (own.empty() || !real.starts_with(concat(own, "/"))) return std::string();
  struct stat facts {};
  if (stat(own.c_str(), &facts) != 0) return errno_status(own, errno);
  for (size_t end = real.find('/', own.size() + 1);; end = real.find('/', end + 1)) {
    TENSORTAP_RETURN_IF_ERROR(no_more_open_than(facts, real.substr(0, end)));
    if (end == std::string::npos) return real;
  }
}

Result<Place> walk_to(const std::string& path) {
  if (path.starts_with('/')) return Walk().go(path);
  const std::string here = without_links(".");
  if (here.empty()) return errno_status("the working folder", errno);
  return Walk().go(join_path(here, path));
}

}  // namespace

Result<std::string> trusted_code_file(const std::string& path, const std::string& own_folder) {
  TENSORTAP_ASSIGN_OR_RETURN(const std::string ours, beside_us(path, own_folder));
  if (!ours.empty()) return ours;
  TENSORTAP_ASSIGN_OR_RETURN(const Place file, walk_to(path));
  if (!S_ISREG(file.facts().st_mode)) return unsupported(concat(quote(file.path()), " is not a regular file"));
  if ((file.facts().st_mode & kWrittenByOthers) != 0) return open_to_others(file.path(), file.facts());
  return file.path();
}

Result<std::string> trusted_code_folder(const std::string& path, const std::string& own_folder) {
  TENSORTAP_ASSIGN_OR_RETURN(const std::string ours, beside_us(path, own_folder));
  if (!ours.empty()) return ours;
  TENSORTAP_ASSIGN_OR_RETURN(const Place folder, walk_to(path));
  if (!S_ISDIR(folder.facts().st_mode)) return errno_status(folder.path(), ENOTDIR);
  TENSORTAP_RETURN_IF_ERROR(folder.keeps_names());
  return folder.path();
}

Status check_library_file(const std::string& path) {
  if (is_directory(path)) return invalid_argument(concat(path, " is a folder"));
  return File::open(path, O_RDONLY).status();
}

std::string folder_of_code(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  return parent_path(info.dli_fname);
}

}  // namespace tensortap
