#include "serve/connection_gate.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/clock.h"

namespace tensortap {
namespace {

constexpr int64_t kNsOfMillisecond = 1'000'000;
constexpr int kLongestWaitMs = 1000;
constexpr int kPauseMs = 20;  // where the process has no descriptor for another connection

bool is_set(const pollfd& asked) { return asked.revents != 0; }

}  // namespace

ConnectionGate::ConnectionGate(int listening, Limits limits, Ready ready)
    : listening_(listening), limits_(limits), ready_(std::move(ready)), wakeup_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

ConnectionGate::~ConnectionGate() {
  if (wakeup_ >= 0) ::close(wakeup_);
}

void ConnectionGate::wake() const {
  const uint64_t one = 1;
  // A full counter wakes the loop as well.
  const ssize_t written = ::write(wakeup_, &one, sizeof one);
  static_cast<void>(written);
}

void ConnectionGate::give_back(std::shared_ptr<Connection> connection, bool is_trusted) {
  const int64_t until_ns = monotonic_ns() + (is_trusted ? limits_.idle_ns : limits_.head_ns);
  const std::lock_guard lock(mutex_);
  if (has_ended_) return;
  given_back_.push_back({std::move(connection), until_ns});
  wake();
}

void ConnectionGate::end() {
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  wake();
}

void ConnectionGate::add(std::shared_ptr<Connection> connection, int64_t until_ns) {
  if (waiting_.size() >= limits_.waiting) waiting_.pop_front();
  waiting_.push_back({std::move(connection), until_ns});
}

void ConnectionGate::take_given_back() {
  uint64_t count = 0;
  const ssize_t taken = ::read(wakeup_, &count, sizeof count);
  static_cast<void>(taken);
  std::vector<Waiting> back;
  {
    const std::lock_guard lock(mutex_);
    back.swap(given_back_);
  }
  for (Waiting& one : back) {
    add(std::move(one.connection), one.until_ns);
    hear(std::prev(waiting_.end()));
  }
}

void ConnectionGate::accept_some() {
  // Not all at once: those that were accepted are heard before they are too many.
  for (size_t i = 0; i < limits_.waiting / 4 + 1; ++i) {
    const int socket = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket >= 0) {
      add(std::make_shared<Connection>(socket), monotonic_ns() + limits_.head_ns);
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    // No further connection waits, or no descriptor is left for it: then others have to go first.
    if (errno == EMFILE || errno == ENFILE) ::poll(nullptr, 0, kPauseMs);
    return;
  }
}

void ConnectionGate::hear(std::list<Waiting>::iterator one) {
  const bool is_there = one->connection->receive(limits_.head_bytes);
  std::shared_ptr<Connection> connection;
  if (!one->connection->head().empty()) connection = std::move(one->connection);
  if (connection != nullptr || !is_there) waiting_.erase(one);
  if (connection != nullptr) ready_(std::move(connection));
}

int ConnectionGate::wait_ms() const {
  int64_t until_ns = monotonic_ns() + kLongestWaitMs * kNsOfMillisecond;
  for (const Waiting& one : waiting_) until_ns = std::min(until_ns, one.until_ns);
  return static_cast<int>(std::max<int64_t>(until_ns - monotonic_ns() + kNsOfMillisecond - 1, 0) / kNsOfMillisecond);
}

void ConnectionGate::run() {
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (has_ended_) break;
    }
    std::vector<pollfd> asked = {{listening_, POLLIN, 0}, {wakeup_, POLLIN, 0}};
    std::vector<std::list<Waiting>::iterator> heard;
    for (auto one = waiting_.begin(); one != waiting_.end(); ++one) {
      asked.push_back({one->connection->socket(), POLLIN, 0});
      heard.push_back(one);
    }
    if (::poll(asked.data(), asked.size(), wait_ms()) < 0 && errno != EINTR) break;
    for (size_t i = 0; i < heard.size(); ++i) {
      if (is_set(asked[i + 2])) hear(heard[i]);
    }
    const int64_t now = monotonic_ns();
    std::erase_if(waiting_, [now](const Waiting& one) { return one.until_ns <= now; });
    if (is_set(asked[1])) take_given_back();
    if (is_set(asked[0])) accept_some();
  }
  waiting_.clear();
  const std::lock_guard lock(mutex_);
  given_back_.clear();
}

}  // namespace tensortap
