#include "serve/access_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tensortap {
namespace {

using testing::HasSubstr;

constexpr std::string_view kToken = "0123456789abcdef0123456789abcdef";

AskedBy allowed() { return {"GET", "/api/dump", {"127.0.0.1:8123"}, {}, {"other=1; tensortap_8123=" + std::string(kToken)}, false}; }

int status_of(const AskedBy& asked) { return AccessRules(std::string(kToken), 8123).judge(asked).status; }

TEST(AccessRules, TheCookieOpens) {
  EXPECT_EQ(status_of(allowed()), 0);
  AskedBy asked = allowed();
  asked.hosts = {"localhost:8123"};
  asked.origins = {"http://localhost:8123"};
  EXPECT_EQ(status_of(asked), 0);
}

TEST(AccessRules, WithoutItThereIsNothing) {
  for (const std::string& cookie : {std::string(), std::string("tensortap_8123="), "tensortap_8123=" + std::string(kToken) + "0",
                                    "tensortap_8124=" + std::string(kToken), "xtensortap_8123=" + std::string(kToken),
                                    std::string("tensortap_8123=0123456789abcdef0123456789abcdee")}) {
    AskedBy asked = allowed();
    asked.cookies = {cookie};
    EXPECT_EQ(status_of(asked), 401) << cookie;
  }
  AskedBy asked = allowed();
  asked.cookies.clear();
  EXPECT_EQ(status_of(asked), 401);
}

TEST(AccessRules, TheTokenInTheAddressIsTheEntrance) {
  const AccessRules rules(std::string(kToken), 8123);
  AskedBy asked = allowed();
  asked.cookies.clear();
  const std::string entrance = rules.entrance();
  asked.target = entrance;
  EXPECT_EQ(rules.judge(asked).status, 0);
  EXPECT_TRUE(rules.judge(asked).is_entrance);
  for (const std::string& target : {std::string("/?token="), entrance + "0", entrance + "&a=b", "/api/dump?token=" + std::string(kToken)}) {
    asked.target = target;
    EXPECT_EQ(rules.judge(asked).status, 401) << target;
    EXPECT_FALSE(rules.judge(asked).is_entrance) << target;
  }
  EXPECT_THAT(rules.cookie(), HasSubstr("tensortap_8123=" + std::string(kToken) + "; Path=/; HttpOnly; SameSite=Strict"));
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
  asked.cookies.clear();
  EXPECT_EQ(status_of(asked), 401);
  for (const char* method : {"PUT", "DELETE", "HEAD", "OPTIONS", "get", ""}) {
    AskedBy other = allowed();
    other.method = method;
    EXPECT_EQ(status_of(other), 405) << method;
  }
}

TEST(AccessRules, EveryServerHasATokenOfItsOwn) {
  const auto one = AccessRules::make(1);
  const auto other = AccessRules::make(1);
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_EQ(one->entrance().size(), std::string_view("/?token=").size() + 32);
  EXPECT_NE(one->entrance(), other->entrance());
}

}  // namespace
}  // namespace tensortap
