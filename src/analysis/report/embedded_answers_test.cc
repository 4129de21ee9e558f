#include "report/embedded_answers.h"

#include <gtest/gtest.h>

#include <string>

#include "base/json.h"

namespace tensortap {
namespace {

TEST(EmbeddedAnswers, NamesCannotEndTheScriptElement) {
  const std::string hostile = "</script><!--<script>\xe2\x80\xa8 \" \\ ]]>";
  EmbeddedAnswers answers(10'000);
  ASSERT_TRUE(answers.add_json("/api/op/1", to_json_text({{"name", hostile}})));
  ASSERT_TRUE(answers.add_json("/api/search?q=</script>", "[]"));
  const std::string text = answers.text();
  EXPECT_EQ(text.find('<'), std::string::npos) << text;
  const Json parsed = Json::parse(text);
  EXPECT_EQ(parsed.at("/api/op/1").at("name"), hostile);
  EXPECT_TRUE(parsed.contains("/api/search?q=</script>"));
}

TEST(EmbeddedAnswers, BytesAreBase64) {
  EmbeddedAnswers answers(1000);
  ASSERT_TRUE(answers.add_bytes("/api/heat", std::string("\0\xff<", 3)));
  EXPECT_EQ(Json::parse(answers.text()).at("/api/heat"), "AP88");
}

TEST(EmbeddedAnswers, WhatDoesNotFitIsLeftOut) {
  EmbeddedAnswers answers(60);
  EXPECT_TRUE(answers.add_json("/a", "1"));
  EXPECT_FALSE(answers.add_json("/a", "2")) << "it is there";
  EXPECT_FALSE(answers.add_json("/b", std::string(100, '1')));
  answers.hold_back(40);
  EXPECT_FALSE(answers.add_json("/c", "1234567890"));
  answers.hold_back(0);
  EXPECT_TRUE(answers.add_json("/c", "1234567890"));
  EXPECT_EQ(answers.count(), 2U);
  EXPECT_EQ(answers.text(), R"({"/a":1,"/c":1234567890})");
  EXPECT_EQ(answers.bytes(), answers.text().size());
  EXPECT_EQ(answers.find("/c"), "1234567890");
  EXPECT_EQ(answers.find("/b"), "");
}

}  // namespace
}  // namespace tensortap
