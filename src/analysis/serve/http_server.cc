#include "serve/http_server.h"

// The header asks select(2) otherwise, which knows no descriptors from 1024 on.
#define CPPHTTPLIB_USE_POLL
// As long as WebRequest takes: the list of open groups is long.
#define CPPHTTPLIB_REQUEST_URI_MAX_LENGTH 33000

#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <exception>
#include <functional>
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
#include "serve/connection.h"
#include "serve/connection_gate.h"
#include "serve/listening_socket.h"
#include "serve/page_files.h"

namespace tensortap {
namespace {

constexpr size_t kThreads = 16;                 // for those who sent the token
constexpr size_t kStrangerThreads = 4;          // for all others, who get the files of the page and refusals
constexpr size_t kMostStrangers = 64;           // whose requests wait for a thread
constexpr size_t kRequestsOfConnection = 1000;  // as answers say; they are not counted
constexpr size_t kMostStreams = 8;              // each takes a thread
constexpr size_t kMostBodyBytes = size_t{1} << 20;
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kReadNs = 10 * kSecond;
constexpr int64_t kWriteNs = 10 * kSecond;           // for each part of an answer
constexpr int64_t kWriteToStrangerNs = 2 * kSecond;  // for all of it

// A request: reads so many bytes, within so much time, and writes as fast as the client takes it.
class RequestStream : public httplib::Stream {
 public:
  RequestStream(Connection& connection, bool is_known)
      : connection_(connection), is_known_(is_known), began_ns_(monotonic_ns()), left_(connection.head().size() + kMostBodyBytes) {}
  [[nodiscard]] bool is_readable() const override { return connection_.is_readable(); }
  [[nodiscard]] bool is_writable() const override { return connection_.is_writable(); }
  ssize_t read(char* ptr, size_t size) override {
    if (left_ == 0) return -1;
    const ssize_t count = connection_.read(ptr, std::min(size, left_), began_ns_ + kReadNs);
    if (count > 0) left_ -= static_cast<size_t>(count);
    return count;
  }
  ssize_t write(const char* ptr, size_t size) override {
    return connection_.write(ptr, size, is_known_ ? monotonic_ns() + kWriteNs : began_ns_ + kWriteToStrangerNs);
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override { ip.clear(), port = 0; }
  void get_local_ip_and_port(std::string& ip, int& port) const override { ip.clear(), port = 0; }
  [[nodiscard]] socket_t socket() const override { return connection_.socket(); }

 private:
  Connection& connection_;
  const bool is_known_;
  const int64_t began_ns_;
  size_t left_;
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
  // Owns the socket.
  Listener(int socket, std::function<bool(std::string_view head)> is_known)
      : is_known_(std::move(is_known)),
        socket_(socket),
        gate_(socket, {}, [this](std::shared_ptr<Connection> connection) { begin(std::move(connection)); }),
        known_(kThreads),
        strangers_(kStrangerThreads) {
    svr_sock_ = socket;
    set_keep_alive_max_count(kRequestsOfConnection);
    set_keep_alive_timeout(static_cast<time_t>(ConnectionGate::Limits().idle_ns / kSecond));
    set_payload_max_length(kMostBodyBytes);
  }
  ~Listener() override {
    end();
    join();
    ::close(socket_);
  }

  void run() {
    gate_.run();
    join();
  }
  // Also before run().
  void end() {
    gate_.end();
    svr_sock_ = -1;
    const std::lock_guard lock(mutex_);
    for (const int socket : busy_) ::shutdown(socket, SHUT_RDWR);
  }
  [[nodiscard]] bool has_ended() const { return svr_sock_ < 0; }

 private:
  void join() {
    std::call_once(joined_, [this] {
      known_.shutdown();
      strangers_.shutdown();
    });
  }

  // The connection has a whole head.
  void begin(std::shared_ptr<Connection> connection) {
    const bool is_known = is_known_(connection->head());
    if (!is_known && waiting_strangers_ >= kMostStrangers) return;
    if (!is_known) ++waiting_strangers_;
    (is_known ? known_ : strangers_).enqueue([this, is_known, connection = std::move(connection)]() mutable {
      if (!is_known) --waiting_strangers_;
      if (answer(*connection, is_known)) gate_.give_back(std::move(connection), is_known);
    });
  }

  // Whether another request may follow.
  bool answer(Connection& connection, bool is_known) {
    {
      const std::lock_guard lock(mutex_);
      if (has_ended()) return false;
      busy_.insert(connection.socket());
    }
    RequestStream stream(connection, is_known);
    bool closed = false;
    bool ends = true;  // after what is no request
    bool answered = false;
    try {
      answered = process_request(stream, false, closed, [&ends](httplib::Request& request) {
        request.ranges.clear();  // the library throws for ranges beyond the answer
        // What follows the head of a refused request must not be read as the next one.
        ends = request.method != "GET" || request.has_header("Content-Length") || request.has_header("Transfer-Encoding");
      });
    } catch (const std::exception&) {
      // Memory ran out, or the library stumbled over a request: this connection ends, the others go on.
    }
    const std::lock_guard lock(mutex_);
    busy_.erase(connection.socket());
    return answered && !closed && !ends;
  }

  const std::function<bool(std::string_view head)> is_known_;
  const int socket_;
  ConnectionGate gate_;
  std::atomic<size_t> waiting_strangers_ = 0;
  std::mutex mutex_;
  std::set<int> busy_;  // sockets of requests that are being answered
  httplib::ThreadPool known_;
  httplib::ThreadPool strangers_;
  std::once_flag joined_;
};

Answer page_answer(std::string_view path) {
  const std::string_view name = path == "/" ? "index.html" : path.substr(1);
  const std::string_view content = page_file(name);
  if (content.empty()) return error_answer(404, concat(quote(path), ": no such address"));
  const std::string_view type = name.ends_with(".js")    ? "text/javascript; charset=utf-8"
                                : name.ends_with(".css") ? "text/css; charset=utf-8"
                                : name.ends_with(".svg") ? "image/svg+xml"
                                                         : "text/html; charset=utf-8";
  return {200, std::string(type), std::string(content)};
}

// Counts an event stream as long as it is open.
struct OpenStream {
  explicit OpenStream(std::atomic<size_t>& open) : count(open), number(++open) {}
  ~OpenStream() { --count; }
  OpenStream(const OpenStream&) = delete;
  OpenStream& operator=(const OpenStream&) = delete;
  std::atomic<size_t>& count;
  const size_t number;
};

class WebServer : public HttpServer {
 public:
  WebServer(WebService service, AccessRules rules, int socket, uint16_t port, std::string path)
      : service_(std::move(service)),
        rules_(std::move(rules)),
        port_(port),
        path_(std::move(path)),
        listener_(socket, [this](std::string_view head) { return rules_.knows(head); }) {
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

  ~WebServer() override {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  [[nodiscard]] uint16_t port() const override { return port_; }
  [[nodiscard]] std::string address() const override { return concat("http://127.0.0.1:", port_, rules_.entrance()); }
  void run() override { listener_.run(); }
  void stop() override { listener_.end(); }

 private:
  static void put(Answer answer, httplib::Response& response) {
    response.status = answer.status;
    response.body = std::move(answer.body);
    response.headers.erase("Content-Type");
    response.set_header("Content-Type", answer.type);
  }

  // Whether the answer is complete: all but requests with a body, which is read later.
  bool begin(const httplib::Request& request, httplib::Response& response) {
    const std::string_view path = path_of_page(std::string_view(request.target).substr(0, request.target.find('?')));
    const bool is_page = !path.starts_with("/api/");
    const AccessRules::Decision decision =
        rules_.judge({request.method, values_of(request, "Host"), values_of(request, "Origin"), values_of(request, "Authorization"),
                      request.get_header_value("X-Tensortap") == "1", is_page});
    if (decision.status != 0) {
      put(error_answer(decision.status, decision.sentence), response);
    } else if (request.method == "POST") {
      if (path == "/api/live/set") return false;
      put(error_answer(405, concat(quote(path), ": only GET is answered here")), response);
    } else if (is_page) {
      put(page_answer(path), response);
    } else {
      get(request, response);
    }
    return true;
  }

  // The path without the dump whose page asks.
  [[nodiscard]] std::string_view path_of_page(std::string_view path) const {
    size_t number = 0;
    std::string_view rest;
    return split_dump_target(path, number, rest) && number < service_.pages ? rest : path;
  }

  void get(const httplib::Request& request, httplib::Response& response) {
    const WebService::Events events = service_.events ? service_.events(request.target) : nullptr;
    if (!events) {
      put(service_.get(request.target), response);
      return;
    }
    const auto stream = std::make_shared<OpenStream>(streams_);
    if (stream->number > kMostStreams) {
      put(error_answer(503, concat("at most ", kMostStreams, " event streams are open at a time")), response);
      return;
    }
    response.set_chunked_content_provider("text/event-stream", [this, events, stream](size_t, httplib::DataSink& sink) {
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
  std::string path_;  // of a socket in the file system, "" = none
  std::atomic<size_t> streams_ = 0;
  Listener listener_;
};

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

Result<std::unique_ptr<HttpServer>> HttpServer::listen(WebService service, const ListenAt& at) {
  TENSORTAP_ASSIGN_OR_RETURN(const ListeningSocket listening,
                             at.socket.empty() ? listen_on_port(at.port) : listen_on_path(at.socket, at.port));
  auto rules = AccessRules::make({at.socket.empty() ? listening.port : uint16_t{0}, at.hosts});
  if (!rules.ok()) {
    ::close(listening.socket);
    return rules.status();
  }
  return std::unique_ptr<HttpServer>(
      std::make_unique<WebServer>(std::move(service), *std::move(rules), listening.socket, listening.port, at.socket));
}

}  // namespace tensortap
