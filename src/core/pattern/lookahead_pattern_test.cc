#include "pattern/lookahead_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <regex>
#include <string>
#include <string_view>
#include <utility>

namespace tensortap {
namespace {

using testing::HasSubstr;

LookaheadPattern compiled(std::string_view text) {
  Result<LookaheadPattern> pattern = LookaheadPattern::compile(text);
  EXPECT_TRUE(pattern.ok()) << text << ": " << pattern.status().message();
  return pattern.ok() ? *std::move(pattern) : LookaheadPattern();
}

TEST(LookaheadPattern, LooksAhead) {
  const LookaheadPattern not_gradients = compiled("(?!Gradients/)(Default/)?.*Conv2D-op[0-9]+");
  EXPECT_TRUE(not_gradients.matches("Default/conv1/Conv2D-op12"));
  EXPECT_FALSE(not_gradients.matches("Gradients/Default/conv1/Conv2D-op12"));
  EXPECT_FALSE(not_gradients.matches("Default/conv1/Conv2D-op12x"));
  const LookaheadPattern both = compiled("(?=.*relu)(?=.*block3)");
  EXPECT_TRUE(both.is_in("net/block3/relu-op1"));
  EXPECT_FALSE(both.is_in("net/block2/relu-op1"));
  EXPECT_FALSE(both.matches("net/block3/relu-op1")) << "nothing is behind what was looked for";
  EXPECT_TRUE(compiled("conv(?![12]$)\\d*").matches("conv12"));
  EXPECT_FALSE(compiled("conv(?![12]$)\\d*").matches("conv2"));
  EXPECT_TRUE(compiled("a(?=b(?!c))b.").matches("abd"));
  EXPECT_FALSE(compiled("a(?=b(?!c))b.").matches("abc"));
}

TEST(LookaheadPattern, KnowsWhatIsBehindWhereItLooksAhead) {
  EXPECT_FALSE(compiled("a(?=^b)b").matches("ab"));
  EXPECT_FALSE(compiled("a(?=\\bb)b").matches("ab"));
  EXPECT_TRUE(compiled("/(?=\\bb)b").matches("/b"));
}

TEST(LookaheadPattern, EndsWhateverThePattern) {
  EXPECT_FALSE(compiled("(?=a)((a*)*)*b").matches(std::string(2000, 'a')));
  EXPECT_TRUE(compiled("(?=a)(a|a|aa)*").matches(std::string(2000, 'a')));
  EXPECT_FALSE(compiled("(?=a)a*").matches(std::string(LookaheadPattern::kLongestText + 1, 'a')));
  EXPECT_TRUE(compiled("(?=a)(a?){0,500}").matches(std::string(500, 'a')));
}

TEST(LookaheadPattern, SaysWhatIsWrong) {
  const auto error = [](std::string_view text) { return LookaheadPattern::compile(text).status().message(); };
  EXPECT_EQ(error("(?=a"), "column 5: a ( without its )");
  EXPECT_EQ(error("(?=a))"), "column 6: a ) without its (");
  EXPECT_THAT(error("(?=a)*"), HasSubstr("nothing to repeat"));
  EXPECT_THAT(error("*(?=a)"), HasSubstr("column 1: nothing to repeat"));
  EXPECT_THAT(error("(?=a)(?<=b)"), HasSubstr("a group of this kind"));
  EXPECT_THAT(error("(a)(?=b)\\1"), HasSubstr("column 10: this escape"));
  EXPECT_THAT(error("(?=a)\\"), HasSubstr("at the end"));
  EXPECT_THAT(error("(?=[a)"), HasSubstr("a [ without its ]"));
  EXPECT_THAT(error("(?=[z-a])"), HasSubstr("the wrong way round"));
  EXPECT_THAT(error("(?=[[:alpha:]])"), HasSubstr("classes by name"));
  EXPECT_THAT(error("(?=a)b{2,1}"), HasSubstr("the wrong way round"));
  EXPECT_THAT(error("(?=a)b{,1}"), HasSubstr("a number is missing"));
  EXPECT_THAT(error("(?=a)b{1"), HasSubstr("a { without its }"));
  EXPECT_THAT(error("(?=a)b{1001}"), HasSubstr("more than 1000 repeats"));
  EXPECT_THAT(error("(?=a)((b{100}){100}){100}"), HasSubstr("too large"));
  EXPECT_THAT(error("(?=a)" + std::string(100, '(') + std::string(100, ')')), HasSubstr("too deeply"));
}

// Patterns of few characters, of every construct.
class RandomPattern {
 public:
  explicit RandomPattern(uint32_t seed) : random_(seed) {}
  uint32_t draw(uint32_t below) { return std::uniform_int_distribution<uint32_t>(0, below - 1)(random_); }
  std::string any_of(std::initializer_list<const char*> texts) { return std::data(texts)[draw(static_cast<uint32_t>(texts.size()))]; }

  std::string pattern(int depth) {
    std::string text;
    for (uint32_t terms = 1 + draw(3); terms > 0; --terms) text += term(depth);
    return draw(4) == 0 ? text + "|" + term(depth) : text;
  }
  std::string term(int depth) {
    switch (draw(depth > 0 ? 8 : 4)) {
      case 0:
        // libstdc++ takes the place where it looks ahead for the beginning of the text.
        return looks_ ? "$" : any_of({"^", "$", "\\b", "\\B"});
      case 1:
        return any_of({"[ab]", "[^a]", "[a-c/]", "[\\d_]", ".", "\\w", "\\W", "\\.", "\\s"}) + repeats();
      case 4:
        return "(" + pattern(depth - 1) + ")" + repeats();
      case 5:
        return "(?:" + pattern(depth - 1) + ")" + repeats();
      case 6:
        return "(?=" + ahead(depth - 1) + ")";
      case 7:
        return "(?!" + ahead(depth - 1) + ")";
      default:
        return any_of({"a", "b", "c", "/", "1"}) + repeats();
    }
  }
  std::string text() {
    std::string text;
    for (uint32_t letters = draw(7); letters > 0; --letters) text += any_of({"a", "b", "c", "/", "1", "_", ".", " "});
    return text;
  }

 private:
  std::string ahead(int depth) {
    const bool inside = std::exchange(looks_, true);
    std::string text = pattern(depth);
    looks_ = inside;
    return text;
  }
  std::string repeats() { return draw(2) == 0 ? "" : any_of({"*", "+", "?", "{2}", "{1,2}", "{0}", "{1,}", "*?", "+?"}); }
  std::mt19937 random_;
  bool looks_ = false;
};

// The library that MindSpore matches with.
TEST(LookaheadPattern, AgreesWithTheStandardLibrary) {
  RandomPattern random(20261123);
  for (int i = 0; i < 2000; ++i) {
    const std::string pattern = random.pattern(2);
    const std::regex expected(pattern);
    const LookaheadPattern found = compiled(pattern);
    for (int j = 0; j < 10; ++j) {
      const std::string text = random.text();
      EXPECT_EQ(found.matches(text), std::regex_match(text, expected)) << pattern << " on \"" << text << '"';
      EXPECT_EQ(found.is_in(text), std::regex_search(text, expected)) << pattern << " in \"" << text << '"';
    }
  }
}

}  // namespace
}  // namespace tensortap
