#include "serve/listening_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <system_error>

#include "base/files.h"
#include "base/text.h"

namespace tensortap {
namespace {

constexpr uint16_t kForwardedPort = 8123;  // that an address names for a socket in the file system
constexpr int kWaiting = 64;               // connections that the kernel keeps

Status port_error(uint16_t port, int error) {
  if (error == EADDRINUSE) {
    return invalid_argument(concat("port ", port, ": another program listens there; give another --port, or none for one that is free"));
  }
  if (error == EACCES) return invalid_argument(concat("port ", port, ": only root may listen there; give a --port from 1024 on, or none"));
  return errno_status(concat("port ", port), error);
}

// Whether a server answers at a path. A file of one that was killed stays.
bool answers_at(const sockaddr_un& place) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool answers = socket >= 0 && ::connect(socket, reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0;
  if (socket >= 0) ::close(socket);
  return answers;
}

}  // namespace

Result<ListeningSocket> listen_on_port(uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return errno_status("a socket", errno);
  const int yes = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  place.sin_port = htons(port);
  socklen_t size = sizeof place;
  auto* const address = reinterpret_cast<sockaddr*>(&place);
  if (::bind(socket, address, size) != 0 || ::listen(socket, kWaiting) != 0 || ::getsockname(socket, address, &size) != 0) {
    const Status status = port_error(port, errno);
    ::close(socket);
    return status;
  }
  return ListeningSocket{socket, ntohs(place.sin_port)};
}

Result<ListeningSocket> listen_on_path(const std::string& path, uint16_t port) {
  sockaddr_un place{};
  place.sun_family = AF_UNIX;
  if (path.size() >= sizeof place.sun_path) {
    return invalid_argument(concat("--listen unix:", path, ": a path of a socket has at most ", sizeof place.sun_path - 1, " bytes"));
  }
  std::ranges::copy(path, std::begin(place.sun_path));
  struct stat there {};
  if (::lstat(path.c_str(), &there) == 0) {
    const bool is_left = S_ISSOCK(there.st_mode) && there.st_uid == ::geteuid() && !answers_at(place);
    if (!is_left) return invalid_argument(concat("--listen unix:", path, ": exists already"));
    ::unlink(path.c_str());
  }
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return errno_status("a socket", errno);
  // Before it has a path no other user can reach it.
  ::fchmod(socket, S_IRUSR | S_IWUSR);
  if (::bind(socket, reinterpret_cast<sockaddr*>(&place), sizeof place) != 0) {
    const int error = errno;
    ::close(socket);
    return error == ENOENT || error == EACCES || error == ENOTDIR
               ? Result<ListeningSocket>(invalid_argument(concat("--listen unix:", path, ": ", std::generic_category().message(error))))
               : Result<ListeningSocket>(errno_status(concat("--listen unix:", path), error));
  }
  if (::chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0 || ::listen(socket, kWaiting) != 0) {
    const Status status = errno_status(concat("--listen unix:", path), errno);
    ::close(socket);
    ::unlink(path.c_str());
    return status;
  }
  return ListeningSocket{socket, port != 0 ? port : kForwardedPort};
}

}  // namespace tensortap
