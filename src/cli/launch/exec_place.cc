#include "cli/launch/exec_place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
#include "registry/registry.h"

namespace tensortap::cli {

Result<ExecPlace> ExecPlace::take(const CaptureSpec& spec) {
  ExecPlace place;
  const auto layout = std::ranges::find(layouts(), spec.layout, &Layout::name);
  place.shared_ = layout != layouts().end() && layout->shares_folder;
  std::string path = spec.out.empty() ? join_path("tensortap_dump", wall_clock_name()) : spec.out;
  path = std::filesystem::absolute(path).lexically_normal().string();
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  place.path_ = path;
  for (int attempt = 2; spec.out.empty() && path_exists(place.path_); ++attempt) place.path_ = concat(path, "-", attempt);
  for (std::string part = place.path_; !path_exists(part); part = parent_path(part)) place.made_.push_back(part);
  TENSORTAP_RETURN_IF_ERROR(make_directories(place.path_, spec.access).with_context("output folder"));
  TENSORTAP_ASSIGN_OR_RETURN(place.folder_, File::open(place.path_, O_RDONLY | O_DIRECTORY));
  if (place.shared_) return place;
  TENSORTAP_RETURN_IF_ERROR(place.hold());
  TENSORTAP_ASSIGN_OR_RETURN(const auto names, list_directory(place.path_));
  if (names.empty()) return place;
  return invalid_argument(fmt::format("output folder {} is not empty (it holds {}{}). Choose another with --out, or remove it",
                                      quote(place.path_), quote(names.front()), names.size() > 1 ? ", ..." : ""));
}

bool ExecPlace::still_there() const {
  struct stat held {};
  struct stat found {};
  return fstat(folder_.fd(), &held) == 0 && stat(path_.c_str(), &found) == 0 && held.st_dev == found.st_dev && held.st_ino == found.st_ino;
}

bool ExecPlace::still_ours() const { return still_there() || is_own_directory(path_); }

ExecPlace::~ExecPlace() {
  if (held_ >= 0) close(held_);
}

void ExecPlace::give_back() const {
  for (const std::string& part : made_) rmdir(part.c_str());
}

// By a name in the kernel that ends with us and leaves no file: the folder's own lock is for the session in the program.
Status ExecPlace::hold() {
  struct stat facts {};
  if (stat(path_.c_str(), &facts) != 0) return errno_status(path_, errno);
  const std::string name = concat("tensortap exec ", facts.st_dev, " ", facts.st_ino);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());  // after a NUL: no file
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  held_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  // Without such sockets we continue: the session in the program refuses a folder that is not empty.
  if (held_ < 0 || bind(held_, reinterpret_cast<const sockaddr*>(&address), size) == 0 || errno != EADDRINUSE)
    return {};  // NOLINT: C's way
  return invalid_argument(
      fmt::format("output folder {} is taken: another `tensortap exec` is running with it. Choose another with --out", quote(path_)));
}

}  // namespace tensortap::cli
