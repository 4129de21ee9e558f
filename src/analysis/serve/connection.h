// Connection: one client of the server, and what it has sent so far.

#ifndef TENSORTAP_SERVE_CONNECTION_H_
#define TENSORTAP_SERVE_CONNECTION_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tensortap {

// One thread at a time. Times are those of monotonic_ns().
class Connection {
 public:
  // Owns the socket, and closes it in the end.
  explicit Connection(int socket);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] int socket() const { return socket_; }

  // Takes the bytes that have come, without waiting. False when the client has gone, or when more than `most` bytes wait without a head.
  bool receive(size_t most);
  // The head of a request with the empty line behind it; "" until all of it has come.
  [[nodiscard]] std::string_view head() const;
  [[nodiscard]] bool has_received() const { return !received_.empty(); }

  // Up to `size` bytes: of what has come, or of what comes until then. 0 when the client has gone, -1 when nothing came.
  ssize_t read(char* bytes, size_t size, int64_t until_ns);
  // How many bytes were taken until then, at least one; -1 when none.
  ssize_t write(const char* bytes, size_t size, int64_t until_ns) const;
  [[nodiscard]] bool is_readable() const;
  [[nodiscard]] bool is_writable() const;

 private:
  int socket_;
  std::string received_;  // and not read yet
};

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_CONNECTION_H_
