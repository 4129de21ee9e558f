// HttpServer: the server of a web view: HTTP on this machine, for those who know the token.

#ifndef TENSORTAP_SERVE_HTTP_SERVER_H_
#define TENSORTAP_SERVE_HTTP_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "serve/answer.h"

namespace tensortap {

// What the server asks for its answers, from several threads at a time.
struct WebService {
  std::function<Answer(std::string_view target)> get;
  // Answers a request for a change. May be empty.
  std::function<Answer(std::string_view target, std::string_view body)> post;
  // Makes an event stream: a function that returns the next piece of it ("" = nothing new), or nothing at the end; it waits up to a moment
  // itself. An empty function when the target is no stream. May be empty.
  using Events = std::function<std::optional<std::string>()>;
  std::function<Events(std::string_view target)> events;
  // The number of dumps with a separate page, below "/dump/0/" and so on; targets of their answers begin with that.
  size_t pages = 0;
};

// The number of the dump in "/dump/3/api/dump", and what comes behind it: "/api/dump". Number and rest are untouched when it has none.
bool split_dump_target(std::string_view target, size_t& number, std::string_view& rest);

// Where a server listens: on 127.0.0.1, or on a socket in the file system, which its owner alone may use.
struct ListenAt {
  uint16_t port = 0;               // 0 = one that is free
  std::string socket;              // a path; "" = none. `port` is then the one that the address names, for what forwards to the socket
  std::vector<std::string> hosts;  // other names under which the page may be asked for (AccessRules::Names)
};

class HttpServer {
 public:
  // Errors: kInvalidArgument for a port that is taken or may not be used, a path that is too long or exists; kIo.
  static Result<std::unique_ptr<HttpServer>> listen(WebService service, const ListenAt& at);
  static Result<std::unique_ptr<HttpServer>> listen(WebService service, uint16_t port) {
    return listen(std::move(service), ListenAt{port, "", {}});
  }
  virtual ~HttpServer() = default;
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] virtual uint16_t port() const = 0;
  // "http://127.0.0.1:PORT/?token=HEX"
  [[nodiscard]] virtual std::string address() const = 0;
  // Answers until stop(). Once.
  virtual void run() = 0;
  // Ends run(), from any thread, before or while it runs: closes all connections, and waits for answers that are being made.
  virtual void stop() = 0;

 protected:
  HttpServer() = default;
};

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_HTTP_SERVER_H_
