#include "serve/web_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tensortap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(WebRequest, SplitsPathAndParameters) {
  const auto request = WebRequest::parse("/api/record/12/slice?at=0%2C%3A&where=nan+%3E+0&empty=&flag");
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->path(), "/api/record/12/slice");
  EXPECT_THAT(request->parts(), ElementsAre("api", "record", "12", "slice"));
  EXPECT_EQ(request->text("at"), "0,:");
  EXPECT_EQ(request->text("where"), "nan > 0");
  EXPECT_TRUE(request->has("empty"));
  EXPECT_TRUE(request->has("flag"));
  EXPECT_FALSE(request->has("other"));
  EXPECT_EQ(request->text("other"), "");
}

TEST(WebRequest, APlusIsABlankInParametersOnly) {
  const auto request = WebRequest::parse("/a+b?c=d+e");
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->path(), "/a+b");
  EXPECT_EQ(request->text("c"), "d e");
}

TEST(WebRequest, RefusesWhatIsNoAddress) {
  for (const std::string_view target : {"", "api", "/api?a=%", "/api?a=%4", "/api?a=%zz", "/%ff", "/api?a=%00", "/api?%ed%a0%80=1"}) {
    const auto request = WebRequest::parse(target);
    ASSERT_FALSE(request.ok()) << target;
    EXPECT_EQ(request.status().code(), StatusCode::kInvalidArgument) << target;
  }
  EXPECT_FALSE(WebRequest::parse("/" + std::string(kMostTargetBytes, 'a')).ok());
}

TEST(WebRequest, NumbersHaveBounds) {
  const auto request = WebRequest::parse("/api?from=3&limit=1001&step=-2&bad=3x");
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(*request->number("from", 0, 0, 10), 3);
  EXPECT_EQ(*request->number("step", 0, -5, 10), -2);
  EXPECT_EQ(*request->number("missing", 7, 0, 10), 7);
  EXPECT_THAT(request->page().status().message(), HasSubstr("limit \"1001\": not a whole number, 1 to 1000"));
  EXPECT_THAT(request->number("bad", 0, 0, 10).status().message(), HasSubstr("bad \"3x\""));
}

TEST(WebRequest, NamesAndWordsAreChecked) {
  const auto request = WebRequest::parse("/api?wher=1&only=first");
  ASSERT_TRUE(request.ok());
  EXPECT_THAT(request->check_names({"where", "only"}).message(), HasSubstr("\"wher\": no parameter of /api. Did you mean \"where\"?"));
  EXPECT_TRUE(request->check_names({"wher", "only"}).ok());
  const auto twice = WebRequest::parse("/api?plus=b&plus=a,%20c&from=1");
  EXPECT_THAT(twice->check_names({"plus", "from"}).message(), HasSubstr("plus: is given twice"));
  EXPECT_TRUE(twice->check_names({"plus", "from"}, {"plus"}).ok());
  EXPECT_THAT(twice->texts("plus"), ElementsAre("b", "a, c"));
  EXPECT_EQ(*request->choice("only", {"all", "first"}), "first");
  EXPECT_EQ(*request->choice("sort", {"order", "error"}), "order");
  EXPECT_THAT(request->choice("only", {"all", "none"}).status().message(), HasSubstr("not one of all, none"));
}

}  // namespace
}  // namespace tensortap
