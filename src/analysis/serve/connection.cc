#include "serve/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/clock.h"

namespace tensortap {
namespace {

constexpr std::string_view kEndOfHead = "\r\n\r\n";
constexpr int64_t kMillisecond = 1'000'000;
// The kernel takes a whole file of the page at once, so that no thread waits for a client that does not read.
constexpr int kSendBytes = 256 << 10;

bool is_ready(int socket, short events, int64_t until_ns) {
  while (true) {
    const int64_t left = std::max<int64_t>(until_ns - monotonic_ns(), 0);
    pollfd asked{socket, events, 0};
    const int count = ::poll(&asked, 1, static_cast<int>(std::min<int64_t>((left + kMillisecond - 1) / kMillisecond, 60'000)));
    if (count > 0) return true;
    if (count == 0 ? left == 0 : errno != EINTR) return false;
  }
}

}  // namespace

Connection::Connection(int socket) : socket_(socket) {
  const int yes = 1;
  setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  setsockopt(socket_, SOL_SOCKET, SO_SNDBUF, &kSendBytes, sizeof kSendBytes);
}

Connection::~Connection() {
  ::shutdown(socket_, SHUT_RDWR);
  ::close(socket_);
}

bool Connection::receive(size_t most) {
  std::array<char, 16384> part{};
  while (received_.size() <= most) {
    const ssize_t count = ::recv(socket_, part.data(), part.size(), MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    if (count == 0) return false;
    received_.append(part.data(), static_cast<size_t>(count));
    if (!head().empty()) return true;  // the rest may be a body: read() reads it later
  }
  return false;
}

std::string_view Connection::head() const {
  const size_t end = received_.find(kEndOfHead);
  return end == std::string::npos ? std::string_view() : std::string_view(received_).substr(0, end + kEndOfHead.size());
}

ssize_t Connection::read(char* bytes, size_t size, int64_t until_ns) {
  if (!received_.empty()) {
    const size_t count = received_.copy(bytes, size);
    received_.erase(0, count);
    return static_cast<ssize_t>(count);
  }
  while (is_ready(socket_, POLLIN, until_ns)) {
    const ssize_t count = ::recv(socket_, bytes, size, MSG_DONTWAIT);
    if (count >= 0 || (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)) return count;
  }
  return -1;
}

ssize_t Connection::write(const char* bytes, size_t size, int64_t until_ns) const {
  while (is_ready(socket_, POLLOUT, until_ns)) {
    const ssize_t count = ::send(socket_, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count >= 0 || (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)) return count;
  }
  return -1;
}

bool Connection::is_readable() const { return !received_.empty() || is_ready(socket_, POLLIN, 0); }

bool Connection::is_writable() const {
  if (!is_ready(socket_, POLLOUT, 0)) return false;
  char next = 0;
  return ::recv(socket_, &next, 1, MSG_PEEK | MSG_DONTWAIT) != 0;  // 0: the client has gone
}

}  // namespace tensortap
