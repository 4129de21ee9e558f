#include "serve/connection_gate.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace tensortap {
namespace {

constexpr int64_t kNever = int64_t{1} << 60;  // later than any test runs

// A gate, and what came out of it.
class ConnectionGateTest : public testing::Test {
 protected:
  ConnectionGateTest() : listening_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)) {
    place_.sin_family = AF_INET;
    place_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof place_;
    EXPECT_EQ(::bind(listening_, address(), size), 0);
    EXPECT_EQ(::listen(listening_, 1000), 0);
    EXPECT_EQ(::getsockname(listening_, address(), &size), 0);
  }
  ~ConnectionGateTest() override {
    if (gate_ != nullptr) gate_->end();
    if (thread_.joinable()) thread_.join();
    ::close(listening_);
  }
  void open(const ConnectionGate::Limits& limits) {
    gate_ = std::make_unique<ConnectionGate>(listening_, limits, [this](std::shared_ptr<Connection> connection) {
      const std::lock_guard lock(mutex_);
      out_.push_back(std::move(connection));
      came_.notify_all();
    });
    thread_ = std::thread([this] { gate_->run(); });
  }
  // A client that has sent this.
  [[nodiscard]] int client(std::string_view sent) {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(::connect(socket, address(), sizeof place_), 0);
    EXPECT_EQ(::send(socket, sent.data(), sent.size(), MSG_NOSIGNAL), static_cast<ssize_t>(sent.size()));
    return socket;
  }
  // The next that comes out.
  std::shared_ptr<Connection> next() {
    std::unique_lock lock(mutex_);
    came_.wait(lock, [this] { return !out_.empty(); });
    auto connection = std::move(out_.front());
    out_.erase(out_.begin());
    return connection;
  }
  // Waits until the gate ends it.
  static bool ends(int socket) {
    char end = 0;
    const bool ended = ::recv(socket, &end, 1, 0) <= 0;
    ::close(socket);
    return ended;
  }
  sockaddr* address() { return reinterpret_cast<sockaddr*>(&place_); }

  int listening_;
  sockaddr_in place_{};
  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<std::shared_ptr<Connection>> out_;
  std::unique_ptr<ConnectionGate> gate_;
  std::thread thread_;
};

TEST_F(ConnectionGateTest, AWholeHeadPassesThoseThatAreSilent) {
  open({.head_bytes = 100, .head_ns = kNever, .idle_ns = kNever, .waiting = 100});
  std::vector<int> silent;
  for (int i = 0; i < 50; ++i) silent.push_back(client(i % 2 == 0 ? "" : "GET / HTTP/1.1\r\nX: a"));
  const int asking = client("GET /a HTTP/1.1\r\n\r\nbody");
  auto connection = next();
  EXPECT_EQ(connection->head(), "GET /a HTTP/1.1\r\n\r\n");
  char read[100];
  EXPECT_EQ(connection->read(read, sizeof read, kNever), 23);
  gate_->give_back(std::move(connection), true);
  EXPECT_EQ(::send(asking, "GET /b\r\n\r\n", 10, MSG_NOSIGNAL), 10);
  connection = next();
  EXPECT_EQ(connection->head(), "GET /b\r\n\r\n");
  EXPECT_EQ(::send(silent[1], "\r\n\r\n", 4, MSG_NOSIGNAL), 4);
  EXPECT_EQ(next()->head(), "GET / HTTP/1.1\r\nX: a\r\n\r\n");
  for (const int socket : silent) ::close(socket);
  ::close(asking);
}

TEST_F(ConnectionGateTest, ARequestThatWasSentAheadIsHeard) {
  open({.head_bytes = 100, .head_ns = kNever, .idle_ns = kNever, .waiting = 100});
  const int asking = client("GET /a\r\n\r\nGET /b\r\n\r\n");
  auto connection = next();
  char read[10];
  EXPECT_EQ(connection->read(read, sizeof read, kNever), 10);
  gate_->give_back(std::move(connection), false);
  EXPECT_EQ(next()->head(), "GET /b\r\n\r\n");
  ::close(asking);
}

TEST_F(ConnectionGateTest, TooManyEndTheOneThatWaitedLongest) {
  open({.head_bytes = 100, .head_ns = kNever, .idle_ns = kNever, .waiting = 3});
  const int first = client("GET /first");
  const std::vector<int> others = {client("a"), client("b"), client("c")};
  EXPECT_TRUE(ends(first));
  EXPECT_EQ(::send(others[2], "\r\n\r\n", 4, MSG_NOSIGNAL), 4);
  EXPECT_EQ(next()->head(), "c\r\n\r\n");
  for (const int socket : others) ::close(socket);
}

TEST_F(ConnectionGateTest, TooSlowAndTooMuchEnd) {
  open({.head_bytes = 100, .head_ns = 1'000'000, .idle_ns = kNever, .waiting = 100});
  EXPECT_TRUE(ends(client("GET / HTTP/1.1\r\nX: a")));
  EXPECT_TRUE(ends(client("")));
  EXPECT_TRUE(ends(client(std::string(20'000, 'a'))));
}

TEST_F(ConnectionGateTest, TheEndClosesAll) {
  open({.head_bytes = 100, .head_ns = kNever, .idle_ns = kNever, .waiting = 100});
  const int waiting = client("GET");
  const int asking = client("GET /\r\n\r\n");
  auto connection = next();
  gate_->end();
  thread_.join();
  gate_->give_back(std::move(connection), true);
  EXPECT_TRUE(ends(waiting));
  EXPECT_TRUE(ends(asking));
}

}  // namespace
}  // namespace tensortap
