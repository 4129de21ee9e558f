// ConnectionGate: where connections wait until a whole head of a request has come. Those that send slowly, or nothing, keep no thread.

#ifndef TENSORTAP_SERVE_CONNECTION_GATE_H_
#define TENSORTAP_SERVE_CONNECTION_GATE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "serve/connection.h"

namespace tensortap {

class ConnectionGate {
 public:
  struct Limits {
    size_t head_bytes = size_t{64} << 10;
    int64_t head_ns = 2'000'000'000;  // for a head, from the moment at which the connection came or came back
    int64_t idle_ns = 5'000'000'000;  // instead, for a client that is trusted
    size_t waiting = 256;             // connections; one more ends the one that has waited longest
  };
  // Told, from run(), of a connection with a whole head.
  using Ready = std::function<void(std::shared_ptr<Connection> connection)>;

  // Borrows the socket that listens, which is non-blocking.
  ConnectionGate(int listening, Limits limits, Ready ready);
  ~ConnectionGate();
  ConnectionGate(const ConnectionGate&) = delete;
  ConnectionGate& operator=(const ConnectionGate&) = delete;

  // Until end(); then all that wait are closed. Once.
  void run();
  // For its next request. Any thread.
  void give_back(std::shared_ptr<Connection> connection, bool is_trusted);
  // Any thread, before or while run() runs.
  void end();

 private:
  struct Waiting {
    std::shared_ptr<Connection> connection;
    int64_t until_ns = 0;
  };

  void accept_some();
  void take_given_back();
  void add(std::shared_ptr<Connection> connection, int64_t until_ns);
  // Hears the one that came, or that has come back with the next request already sent.
  void hear(std::list<Waiting>::iterator one);
  [[nodiscard]] int wait_ms() const;
  void wake() const;

  const int listening_;
  const Limits limits_;
  const Ready ready_;
  int wakeup_ = -1;             // an eventfd
  std::list<Waiting> waiting_;  // of run() alone, the one that has waited longest first
  std::mutex mutex_;
  std::vector<Waiting> given_back_;
  bool has_ended_ = false;
};

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_CONNECTION_GATE_H_
