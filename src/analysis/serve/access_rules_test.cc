#include "serve/access_rules.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tensortap {
namespace {

constexpr std::string_view kToken = "0123456789abcdef0123456789abcdef";

AskedBy allowed() { return {"GET", {"127.0.0.1:8123"}, {}, {"Bearer " + std::string(kToken)}, false, false}; }

AccessRules rules() { return {std::string(kToken), {8123, {}}}; }

int status_of(const AskedBy& asked) { return rules().judge(asked).status; }

TEST(AccessRules, TheTokenOpens) {
  EXPECT_EQ(status_of(allowed()), 0);
  AskedBy asked = allowed();
  asked.hosts = {"localhost:8123"};
  asked.origins = {"http://localhost:8123"};
  EXPECT_EQ(status_of(asked), 0);
}

TEST(AccessRules, WithoutItThereIsThePageAlone) {
  const std::string right = "Bearer " + std::string(kToken);
  for (const std::string& wrong : {std::string(), std::string("Bearer "), right + "0", "Basic " + std::string(kToken), std::string(kToken),
                                   std::string("Bearer 0123456789abcdef0123456789abcdee")}) {
    AskedBy asked = allowed();
    asked.authorizations = {wrong};
    EXPECT_EQ(status_of(asked), 401) << wrong;
    asked.is_page = true;
    EXPECT_EQ(status_of(asked), 0) << wrong;
  }
  AskedBy asked = allowed();
  asked.authorizations = {right, right};
  EXPECT_EQ(status_of(asked), 401);
  asked.authorizations.clear();
  EXPECT_EQ(status_of(asked), 401);
  asked.is_page = true;
  EXPECT_EQ(status_of(asked), 0);
  asked.hosts = {"evil.example:8123"};
  EXPECT_EQ(status_of(asked), 403) << "not even the page";
}

TEST(AccessRules, TheTokenIsSeenInAHead) {
  const std::string line = "Authorization: Bearer " + std::string(kToken) + "\r\n";
  EXPECT_TRUE(rules().knows("GET / HTTP/1.1\r\nHost: a\r\n" + line + "\r\n"));
  EXPECT_TRUE(rules().knows("GET / HTTP/1.1\r\nAUTHORIZATION:Bearer " + std::string(kToken) + "\r\n\r\n"));
  EXPECT_FALSE(rules().knows("GET / HTTP/1.1\r\nX-" + line + "\r\n"));
  EXPECT_FALSE(rules().knows("GET / HTTP/1.1\r\nAuthorization: Bearer \r\n\r\n"));
  EXPECT_FALSE(rules().knows("GET / HTTP/1.1\r\nCookie: tensortap_8123=" + std::string(kToken) + "\r\n\r\n"));
  EXPECT_FALSE(rules().knows(""));
  EXPECT_EQ(rules().entrance(), "/?token=" + std::string(kToken));
}

TEST(AccessRules, OtherNamesOfThisMachineAreRefused) {
  for (const char* host :
       {"evil.example:8123", "127.0.0.1", "127.0.0.1:8124", "localhost:81230", "127.0.0.1:8123.evil.example", "", "LOCALHOST:8123"}) {
    AskedBy asked = allowed();
    asked.hosts = {host};
    EXPECT_EQ(status_of(asked), 403) << host;
  }
  AskedBy asked = allowed();
  asked.hosts = {};
  EXPECT_EQ(status_of(asked), 403);
  asked.hosts = {"127.0.0.1:8123", "127.0.0.1:8123"};
  EXPECT_EQ(status_of(asked), 403);
}

TEST(AccessRules, OtherSitesAreRefused) {
  for (const char* origin :
       {"http://evil.example", "null", "https://127.0.0.1:8123", "http://127.0.0.1:8124", "http://localhost:8123", ""}) {
    AskedBy asked = allowed();
    asked.origins = {origin};
    EXPECT_EQ(status_of(asked), 403) << origin;
  }
}

TEST(AccessRules, AChangeNeedsMore) {
  AskedBy asked = allowed();
  asked.method = "POST";
  EXPECT_EQ(status_of(asked), 403);
  asked.is_marked = true;
  EXPECT_EQ(status_of(asked), 403) << "without an origin";
  asked.origins = {"http://127.0.0.1:8123"};
  EXPECT_EQ(status_of(asked), 0);
  asked.is_marked = false;
  EXPECT_EQ(status_of(asked), 403);
  asked.is_marked = true;
  asked.authorizations.clear();
  EXPECT_EQ(status_of(asked), 401);
  for (const char* method : {"PUT", "DELETE", "HEAD", "OPTIONS", "get", ""}) {
    AskedBy other = allowed();
    other.method = method;
    EXPECT_EQ(status_of(other), 405) << method;
  }
}

TEST(AccessRules, EveryServerHasATokenOfItsOwn) {
  const auto one = AccessRules::make({1, {}});
  const auto other = AccessRules::make({1, {}});
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_EQ(one->entrance().size(), std::string_view("/?token=").size() + 32);
  EXPECT_NE(one->entrance(), other->entrance());
}

TEST(AccessRules, OtherNamesAreThoseThatWereAllowed) {
  const AccessRules named(std::string(kToken), {8123, {"devbox", "Hub.example:8443"}});
  const auto status = [&](const std::string& host, std::vector<std::string> origins = {}) {
    AskedBy asked = allowed();
    asked.hosts = {host};
    asked.origins = std::move(origins);
    return named.judge(asked).status;
  };
  for (const char* host : {"devbox", "DEVBOX:80", "hub.example:8443", "127.0.0.1:8123"}) EXPECT_EQ(status(host), 0) << host;
  for (const char* host : {"hub.example", "devbox.evil.com", "evil-devbox", "devbox:x", "127.0.0.1:80"})
    EXPECT_EQ(status(host), 403) << host;
  EXPECT_EQ(status("devbox:80", {"https://devbox:80"}), 0);
  EXPECT_EQ(status("devbox:80", {"https://devbox:81"}), 403);
  EXPECT_EQ(status("127.0.0.1:8123", {"https://127.0.0.1:8123"}), 403);
  for (const char* name : {"devbox", "a.b-c", "devbox:1"}) EXPECT_TRUE(AccessRules::is_host_name(name)) << name;
  for (const char* name : {"", "*", ":1", "devbox:", "devbox:x", "http://a", "[::1]"})
    EXPECT_FALSE(AccessRules::is_host_name(name)) << name;
}

}  // namespace
}  // namespace tensortap
