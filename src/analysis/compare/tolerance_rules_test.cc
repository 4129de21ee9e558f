#include "compare/tolerance_rules.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tensortap {
namespace {

TEST(ToleranceRules, TakesTheFirstLineThatFits) {
  const auto rules = ToleranceRules::parse("# rules\n\nnorm.*:out0\t1e-3 2e-3\n^a b 0 1\n.* 1e-5 0\n", "r.txt");
  ASSERT_TRUE(rules.ok()) << rules.status().message();
  EXPECT_EQ(rules->of("x/norm1:out0").absolute, 1e-3);
  EXPECT_EQ(rules->of("x/norm1:out0").relative, 2e-3);
  EXPECT_EQ(rules->of("a b:out0").relative, 1);
  EXPECT_EQ(rules->of("x/norm1:out1").absolute, 1e-5);
}

TEST(ToleranceRules, SaysWhatIsWrongAndWhere) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", "r.txt: the last line has to be for everything"}, {".* 1 1\nx 1 1\n", "r.txt: the last line has to be for everything"},
      {"x 1\n", "r.txt:1: write a regular expression"},      {"\n.* -1 0\n", "r.txt:2: write a regular expression"},
      {".* nan 0\n", "r.txt:1: write a regular expression"}, {"( 1 1\n", "r.txt:1: \"(\" is not a regular expression"},
  };
  for (const auto& [text, message] : rows) {
    const auto rules = ToleranceRules::parse(text, "r.txt");
    ASSERT_FALSE(rules.ok()) << text;
    EXPECT_TRUE(rules.status().message().starts_with(message)) << rules.status().message();
  }
}

}  // namespace
}  // namespace tensortap
