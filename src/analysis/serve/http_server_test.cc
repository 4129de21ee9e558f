#include "serve/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.h"
#include "serve/page_files.h"

namespace tensortap {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A server that answers with what it was asked.
class HttpServerTest : public testing::Test {
 protected:
  HttpServerTest() {
    WebService service;
    service.get = [](std::string_view target) { return Answer{200, "text/plain", "got " + std::string(target)}; };
    service.post = [](std::string_view target, std::string_view body) {
      return Answer{200, "text/plain", "put " + std::string(target) + " " + std::string(body)};
    };
    service.events = [this](std::string_view target) -> WebService::Events {
      if (target != "/api/live") return nullptr;
      return [this]() -> std::optional<std::string> {
        return ++pieces_ > 3 ? std::nullopt : std::optional(pieces_ == 2 ? "" : concat("data: ", pieces_.load(), "\n\n"));
      };
    };
    service.pages = 2;
    auto listening = HttpServer::listen(std::move(service), 0);
    EXPECT_TRUE(listening.ok()) << listening.status().message();
    server_ = *std::move(listening);
    thread_ = std::thread([this] { server_->run(); });
    const std::string address = server_->address();
    token_ = address.substr(address.find('=') + 1);
    host_ = concat("127.0.0.1:", server_->port());
  }
  ~HttpServerTest() override {
    server_->stop();
    thread_.join();
  }

  [[nodiscard]] int connected() const {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    place.sin_port = htons(server_->port());
    EXPECT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&place), sizeof place), 0);
    return socket;
  }
  // Sends bytes and reads until the server closes.
  [[nodiscard]] std::string exchange(const std::string& bytes) const {
    const int socket = connected();
    for (size_t sent = 0; sent < bytes.size();) {
      const ssize_t count = ::send(socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) break;
      sent += static_cast<size_t>(count);
    }
    std::string answer;
    char part[4096];
    for (ssize_t count = 0; (count = ::recv(socket, part, sizeof part, 0)) > 0;) answer.append(part, static_cast<size_t>(count));
    ::close(socket);
    return answer;
  }
  [[nodiscard]] std::string token() const { return concat("Authorization: Bearer ", token_, "\r\n"); }
  [[nodiscard]] std::string ask(const std::string& line, const std::string& headers = {}, const std::string& body = {}) const {
    return exchange(concat(line, " HTTP/1.1\r\nHost: ", host_, "\r\nConnection: close\r\n", headers, "\r\n", body));
  }

  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
  std::string token_;
  std::string host_;
  std::atomic<int> pieces_ = 0;
};

TEST_F(HttpServerTest, TheAddressLeadsToThePage) {
  EXPECT_EQ(server_->address(), concat("http://", host_, "/?token=", token_));
  for (const std::string& target : {std::string("/"), "/?token=" + token_, std::string("/?token=0")}) {
    const std::string page = ask("GET " + target);
    EXPECT_THAT(page, StartsWith("HTTP/1.1 200"));
    EXPECT_THAT(page, HasSubstr("Content-Type: text/html; charset=utf-8\r\n"));
    EXPECT_THAT(page, testing::EndsWith(std::string(page_file("index.html"))));
    EXPECT_THAT(page, Not(HasSubstr("Cookie"))) << "which would go to every port of this machine";
    EXPECT_THAT(page, Not(HasSubstr(token_)));
  }
  EXPECT_THAT(ask("GET /app.js"), HasSubstr("Content-Type: text/javascript"));
  EXPECT_THAT(ask("GET /other.js"), StartsWith("HTTP/1.1 404"));
}

TEST_F(HttpServerTest, DumpsOfAJobHavePagesOfTheirOwn) {
  EXPECT_THAT(ask("GET /dump/1/", token()), testing::EndsWith(std::string(page_file("index.html"))));
  EXPECT_THAT(ask("GET /dump/1/app.js", token()), HasSubstr("Content-Type: text/javascript"));
  EXPECT_THAT(ask("GET /dump/1/api/dump?wait=no", token()), HasSubstr("\r\n\r\ngot /dump/1/api/dump?wait=no"));
  EXPECT_THAT(ask("GET /dump/1/"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask("GET /dump/1/api/dump"), StartsWith("HTTP/1.1 401"));
  for (const char* other : {"/dump/2/", "/dump/1", "/dump/-1/", "/dump//", "/dump/99999999999999999999/", "/dump/1/dump/1/"}) {
    EXPECT_THAT(ask(concat("GET ", other), token()), StartsWith("HTTP/1.1 404")) << other;
  }
}

TEST_F(HttpServerTest, EveryAnswerForbidsWhatThePageDoesNotNeed) {
  for (const std::string& answer :
       {ask("GET /", token()), ask("GET /api/x", token()), ask("GET /"), ask("PUT /"), exchange("nonsense\r\n\r\n")}) {
    EXPECT_THAT(answer, HasSubstr("Content-Security-Policy: default-src 'self';")) << answer;
    EXPECT_THAT(answer, HasSubstr("X-Content-Type-Options: nosniff\r\n"));
    EXPECT_THAT(answer, Not(HasSubstr("Access-Control")));
  }
}

TEST_F(HttpServerTest, TheServiceIsAskedByThoseWhoMay) {
  EXPECT_THAT(ask("GET /api/records?where=nan%20%3E%200", token()), HasSubstr("\r\n\r\ngot /api/records?where=nan%20%3E%200"));
  for (const std::string& wrong :
       {std::string(), "Authorization: Bearer 0\r\n" + token(), concat("Cookie: tensortap_", server_->port(), "=", token_, "\r\n")}) {
    EXPECT_THAT(ask("GET /api/records", wrong), StartsWith("HTTP/1.1 401")) << wrong;
  }
  EXPECT_THAT(ask("GET /api/records?token=" + token_), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(ask("GET /api/records", token() + "Origin: http://evil.example\r\n"), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(exchange(concat("GET /api/records HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n", token(), "\r\n")),
              StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(ask("DELETE /api/records", token()), StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(ask("GET /api/records", token() + "Range: bytes=99999999999999999999-\r\n"), Not(HasSubstr("got ")));
  EXPECT_THAT(ask("GET /api/records", token() + "Range: bytes=5000-6000\r\n"), HasSubstr("got /api/records"));
}

TEST_F(HttpServerTest, AChangeHasABody) {
  const std::string may = concat(token(), "Origin: http://", host_, "\r\nX-Tensortap: 1\r\n");
  EXPECT_THAT(ask("POST /api/live/set", may + "Content-Length: 3\r\n", "abc"), HasSubstr("\r\n\r\nput /api/live/set abc"));
  EXPECT_THAT(ask("POST /api/other", may + "Content-Length: 3\r\n", "abc"), StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(ask("POST /api/live/set", token() + "Content-Length: 3\r\n", "abc"), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(ask("POST /api/live/set", may + "Content-Length: 2000000\r\n", std::string(2000000, 'a')), Not(HasSubstr("put ")));
}

TEST_F(HttpServerTest, WhatIsNoRequestEnds) {
  for (const std::string& bytes :
       {std::string("\r\n\r\n"), std::string("GET\r\n\r\n"), "GET /" + std::string(40000, 'a') + " HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\n" + std::string(2000000, 'a'), std::string("GET / HTTP/9.9\r\nHost: a\r\n\r\n")}) {
    const std::string answer = exchange(bytes + "\r\n\r\n");
    EXPECT_THAT(answer, Not(HasSubstr("200"))) << bytes.substr(0, 40);
  }
  EXPECT_THAT(ask("GET /api/x", token()), HasSubstr("got /api/x")) << "and others are answered";
}

TEST_F(HttpServerTest, EventsComeInPieces) {
  const std::string events = ask("GET /api/live", token());
  EXPECT_THAT(events, HasSubstr("Content-Type: text/event-stream"));
  EXPECT_THAT(events, HasSubstr("data: 1\n\n"));
  EXPECT_THAT(events, HasSubstr(":\n\n"));
  EXPECT_THAT(events, HasSubstr("data: 3\n\n"));
}

TEST_F(HttpServerTest, AConnectionTakesSeveralRequests) {
  const std::string head = concat(" HTTP/1.1\r\nHost: ", host_, "\r\n", token());
  const std::string may = concat("Origin: http://", host_, "\r\nX-Tensortap: 1\r\nConnection: close\r\nContent-Length: 3\r\n");
  const std::string answers = exchange("GET /api/1" + head + "\r\nGET /api/2" + head + "\r\nPOST /api/live/set" + head + may + "\r\nabc");
  EXPECT_THAT(answers, HasSubstr("got /api/1"));
  EXPECT_THAT(answers, HasSubstr("got /api/2"));
  EXPECT_THAT(answers, HasSubstr("put /api/live/set abc"));
}

// Whoever has no token may keep neither threads nor connections from those who have it.
TEST_F(HttpServerTest, SilentConnectionsHoldNobodyUp) {
  std::vector<int> silent;
  for (int i = 0; i < 100; ++i) {
    silent.push_back(connected());
    const std::string begun = i % 3 == 0 ? "" : i % 3 == 1 ? "GET / HTTP/1.1\r\nX: a" : concat("POST /api/live/set HTTP/1.1\r\n", token());
    EXPECT_EQ(::send(silent.back(), begun.data(), begun.size(), MSG_NOSIGNAL), static_cast<ssize_t>(begun.size()));
  }
  EXPECT_THAT(ask("GET /api/x", token()), HasSubstr("got /api/x"));
  EXPECT_THAT(ask("GET /app.js"), StartsWith("HTTP/1.1 200"));
  for (const int socket : silent) {
    char end = 0;
    EXPECT_LE(::recv(socket, &end, 1, 0), 0) << "the server ends connections that send no request";
    ::close(socket);
  }
}

TEST_F(HttpServerTest, ATakenPortIsNamed) {
  const auto second = HttpServer::listen({}, server_->port());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(second.status().message(), HasSubstr(concat("port ", server_->port(), ": another program listens there")));
}

TEST(HttpServer, EndsBeforeItBegins) {
  auto server = HttpServer::listen({}, 0);
  ASSERT_TRUE(server.ok());
  (*server)->stop();
  (*server)->run();
}

}  // namespace
}  // namespace tensortap
