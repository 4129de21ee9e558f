#include "serve/http_server.h"

// The header asks select(2) otherwise, which knows no descriptors from 1024 on.
#define CPPHTTPLIB_USE_POLL
// As long as WebRequest takes: the list of open groups is long.
#define CPPHTTPLIB_REQUEST_URI_MAX_LENGTH 33000

#include <arpa/inet.h>
#include <httplib.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
#include "serve/access_rules.h"
#include "serve/page_files.h"

namespace tensortap {
namespace {

constexpr size_t kThreads = 16;
constexpr size_t kMostBodyBytes = size_t{1} << 20;
constexpr size_t kMostHeadBytes = size_t{64} << 10;
constexpr int64_t kReadNs = 10'000'000'000;
constexpr time_t kIdleSeconds = 5;
constexpr time_t kWriteSeconds = 10;
constexpr size_t kRequestsOfConnection = 1000;
constexpr int kWaiting = 64;  // connections

// What a request reads: so many bytes, within so much time.
class BoundedStream : public httplib::Stream {
 public:
  explicit BoundedStream(httplib::Stream& inner) : inner_(inner), until_ns_(monotonic_ns() + kReadNs) {}
  [[nodiscard]] bool is_readable() const override { return inner_.is_readable(); }
  [[nodiscard]] bool is_writable() const override { return inner_.is_writable(); }
  ssize_t read(char* ptr, size_t size) override {
    if (left_ == 0 || monotonic_ns() > until_ns_) return -1;
    const ssize_t count = inner_.read(ptr, std::min(size, left_));
    if (count > 0) left_ -= static_cast<size_t>(count);
    return count;
  }
  ssize_t write(const char* ptr, size_t size) override { return inner_.write(ptr, size); }
  void get_remote_ip_and_port(std::string& ip, int& port) const override { inner_.get_remote_ip_and_port(ip, port); }
  void get_local_ip_and_port(std::string& ip, int& port) const override { inner_.get_local_ip_and_port(ip, port); }
  [[nodiscard]] socket_t socket() const override { return inner_.socket(); }

 private:
  httplib::Stream& inner_;
  size_t left_ = kMostHeadBytes + kMostBodyBytes;
  int64_t until_ns_;
};

std::vector<std::string> values_of(const httplib::Request& request, const std::string& name) {
  std::vector<std::string> values;
  const auto [begin, end] = request.headers.equal_range(name);
  for (auto one = begin; one != end; ++one) values.push_back(one->second);
  return values;
}

// The library answers from its own threads, which nothing may throw out of, and reads whatever it is sent: this class sees to both.
class Listener : public httplib::Server {
 public:
  explicit Listener(int socket) {
    svr_sock_ = socket;
    set_keep_alive_max_count(kRequestsOfConnection);
    set_keep_alive_timeout(kIdleSeconds);
    set_read_timeout(kIdleSeconds);
    set_write_timeout(kWriteSeconds);
    set_payload_max_length(kMostBodyBytes);
    new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  }
  ~Listener() override { end(); }

  // Also before the library listens, when its own stop() does nothing.
  void end() {
    const int listening = svr_sock_.exchange(-1);
    if (listening < 0) return;
    ::shutdown(listening, SHUT_RDWR);
    ::close(listening);
    const std::lock_guard lock(mutex_);
    for (const int socket : connections_) ::shutdown(socket, SHUT_RDWR);
  }
  [[nodiscard]] bool has_ended() const { return svr_sock_ < 0; }

 private:
  bool process_and_close_socket(socket_t socket) override {
    {
      const std::lock_guard lock(mutex_);
      connections_.insert(socket);
    }
    const int yes = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    bool answered = false;
    try {
      answered = httplib::detail::process_server_socket(
          svr_sock_, socket, keep_alive_max_count_, keep_alive_timeout_sec_, read_timeout_sec_, read_timeout_usec_, write_timeout_sec_,
          write_timeout_usec_, [this](httplib::Stream& stream, bool is_last, bool& closed) { return answer(stream, is_last, closed); });
    } catch (const std::exception&) {
      // Memory ran out, or the library stumbled over a request: this connection ends, the others go on.
    }
    const std::lock_guard lock(mutex_);
    connections_.erase(socket);
    ::shutdown(socket, SHUT_RDWR);
    ::close(socket);
    return answered;
  }

  bool answer(httplib::Stream& stream, bool is_last, bool& closed) {
    BoundedStream bounded(stream);
    bool ends = true;  // after what is no request
    const bool answered = process_request(bounded, is_last, closed, [&ends](httplib::Request& request) {
      request.ranges.clear();  // the library throws for ranges beyond the answer
      // What follows the head of a refused request must not be read as the next one.
      ends = request.method != "GET" || request.has_header("Content-Length") || request.has_header("Transfer-Encoding");
    });
    closed |= ends;
    return answered;
  }

  std::mutex mutex_;
  std::set<int> connections_;
};

Answer page_answer(std::string_view path) {
  const std::string_view name = path == "/" ? "index.html" : path.substr(1);
  const std::string_view content = page_file(name);
  if (content.empty()) return error_answer(404, concat(quote(path), ": there is no such address"));
  const std::string_view type = name.ends_with(".js") ? "text/javascript" : name.ends_with(".css") ? "text/css" : "text/html";
  return {200, concat(type, "; charset=utf-8"), std::string(content)};
}

// Comes from a page of another site, such as the file that the browser was given: a redirection would go without the cookie then.
bool is_from_elsewhere(const httplib::Request& request) { return request.get_header_value("Sec-Fetch-Site") == "cross-site"; }

class WebServer : public HttpServer {
 public:
  WebServer(WebService service, AccessRules rules, int socket, uint16_t port)
      : service_(std::move(service)), rules_(std::move(rules)), port_(port), listener_(socket) {
    listener_.set_default_headers(
        {{"Content-Security-Policy", "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
         {"X-Content-Type-Options", "nosniff"},
         {"Referrer-Policy", "no-referrer"},
         {"Cross-Origin-Resource-Policy", "same-origin"},
         {"Cache-Control", "no-store"}});
    using Handled = httplib::Server::HandlerResponse;
    listener_.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      return begin(request, response) ? Handled::Handled : Handled::Unhandled;
    });
    listener_.Post("/api/live/set", [this](const httplib::Request& request, httplib::Response& response) {
      if (service_.post) {
        put(service_.post(request.target, request.body), response);
      } else {
        put(error_answer(404, "nothing here is live"), response);
      }
    });
    listener_.set_error_handler([](const httplib::Request&, httplib::Response& response) {
      if (response.body.empty()) put(error_answer(response.status, "this is no request that the server understands"), response);
    });
    listener_.set_exception_handler([](const httplib::Request&, httplib::Response& response, const std::exception_ptr&) {
      put(error_answer(500, "there is not enough memory for this answer"), response);
    });
  }

  [[nodiscard]] uint16_t port() const override { return port_; }
  [[nodiscard]] std::string address() const override { return concat("http://127.0.0.1:", port_, rules_.entrance()); }
  void run() override { listener_.listen_after_bind(); }
  void stop() override { listener_.end(); }

 private:
  static void put(Answer answer, httplib::Response& response) {
    response.status = answer.status;
    response.body = std::move(answer.body);
    response.headers.erase("Content-Type");
    response.set_header("Content-Type", answer.type);
  }

  // Whether the answer is there: everything but what comes with a body, which is read later.
  bool begin(const httplib::Request& request, httplib::Response& response) {
    const AccessRules::Decision decision =
        rules_.judge({request.method, request.target, values_of(request, "Host"), values_of(request, "Origin"),
                      values_of(request, "Cookie"), request.get_header_value("X-Tensortap") == "1"});
    const std::string_view path = path_of_page(std::string_view(request.target).substr(0, request.target.find('?')));
    if (decision.status != 0) {
      put(error_answer(decision.status, decision.sentence), response);
    } else if (decision.is_entrance) {
      enter(request, response);
    } else if (request.method == "POST") {
      if (path == "/api/live/set") return false;
      put(error_answer(405, concat(quote(path), ": only GET is answered here")), response);
    } else if (path.starts_with("/api/")) {
      get(request, response);
    } else {
      put(page_answer(path), response);
    }
    return true;
  }

  // Without the dump whose page asks.
  [[nodiscard]] std::string_view path_of_page(std::string_view path) const {
    size_t number = 0;
    std::string_view rest;
    return split_dump_target(path, number, rest) && number < service_.pages ? rest : path;
  }

  void enter(const httplib::Request& request, httplib::Response& response) const {
    response.set_header("Set-Cookie", rules_.cookie());
    if (is_from_elsewhere(request)) {
      put({200, "text/html; charset=utf-8", "<!DOCTYPE html><meta http-equiv=\"refresh\" content=\"0;url=/\"><title>tensortap</title>"},
          response);
      return;
    }
    response.set_header("Location", "/");
    put({303, "text/plain; charset=utf-8", "tensortap\n"}, response);
  }

  void get(const httplib::Request& request, httplib::Response& response) {
    const WebService::Events events = service_.events ? service_.events(request.target) : nullptr;
    if (!events) {
      put(service_.get(request.target), response);
      return;
    }
    response.set_chunked_content_provider("text/event-stream", [this, events](size_t, httplib::DataSink& sink) {
      const auto piece = events();
      if (!piece || listener_.has_ended()) {
        sink.done();
        return true;
      }
      // A line that says nothing tells a connection that is gone.
      const std::string_view text = piece->empty() ? std::string_view(":\n\n") : std::string_view(*piece);
      return sink.write(text.data(), text.size());
    });
  }

  WebService service_;
  AccessRules rules_;
  uint16_t port_;
  Listener listener_;
};

Status port_error(uint16_t port, int error) {
  if (error == EADDRINUSE) {
    return invalid_argument(concat("port ", port, ": another program listens there; give another --port, or none for one that is free"));
  }
  if (error == EACCES) return invalid_argument(concat("port ", port, ": only root may listen there; give a --port from 1024 on, or none"));
  return errno_status(concat("port ", port), error);
}

}  // namespace

bool split_dump_target(std::string_view target, size_t& number, std::string_view& rest) {
  constexpr std::string_view kBegin = "/dump/";
  if (!target.starts_with(kBegin)) return false;
  target.remove_prefix(kBegin.size());
  const size_t end = target.find('/');
  uint64_t found = 0;
  if (end == std::string_view::npos || !parse_unsigned(target.substr(0, end), found)) return false;
  number = found;
  rest = target.substr(end);
  return true;
}

Result<std::unique_ptr<HttpServer>> HttpServer::listen(WebService service, uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
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
  auto rules = AccessRules::make(ntohs(place.sin_port));
  if (!rules.ok()) {
    ::close(socket);
    return rules.status();
  }
  return std::unique_ptr<HttpServer>(std::make_unique<WebServer>(std::move(service), *std::move(rules), socket, ntohs(place.sin_port)));
}

}  // namespace tensortap
