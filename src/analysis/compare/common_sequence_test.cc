#include "compare/common_sequence.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace tensortap {
namespace {

std::vector<uint64_t> letters(std::string_view text) { return {text.begin(), text.end()}; }

// What both have, and whether it stands at the places that are given.
std::string common(std::string_view a, std::string_view b, size_t most_edits = 100) {
  const auto found = common_sequence(letters(a), letters(b), most_edits);
  if (!found) return "too many edits";
  std::string text;
  for (size_t i = 0; i < found->size(); ++i) {
    const auto [at_a, at_b] = (*found)[i];
    EXPECT_EQ(a[at_a], b[at_b]);
    if (i > 0) {
      EXPECT_GT(at_a, (*found)[i - 1].first);
      EXPECT_GT(at_b, (*found)[i - 1].second);
    }
    text += a[at_a];
  }
  return text;
}

TEST(CommonSequence, IsTheLongestInTheOrderOfBoth) {
  EXPECT_EQ(common("abcdef", "abcdef"), "abcdef");
  EXPECT_EQ(common("abcdef", "abxcdef"), "abcdef");
  EXPECT_EQ(common("abcdef", "bdef"), "bdef");
  EXPECT_EQ(common("abcabba", "cbabac").size(), 4U);
  EXPECT_EQ(common("abc", "xyz"), "");
}

TEST(CommonSequence, MayBeOfSequencesWithoutElements) {
  EXPECT_EQ(common("", ""), "");
  EXPECT_EQ(common("abc", ""), "");
  EXPECT_EQ(common("", "abc"), "");
}

TEST(CommonSequence, IsNotLookedForBeyondTheLimit) {
  EXPECT_EQ(common("aaaa", "bbbb", 7), "too many edits");
  EXPECT_EQ(common("aaaa", "bbbb", 8), "");
  EXPECT_EQ(common("abcd", "abd", 1), "abd");
}

// Places in b of what both have.
std::vector<size_t> places(std::string_view a, std::string_view b, size_t first_that_agrees) {
  auto found = common_sequence(letters(a), letters(b), 100);
  EXPECT_TRUE(found);
  prefer_agreement(letters(a), letters(b), *found, [&](size_t at_a, size_t at_b) { return at_b == at_a + first_that_agrees; });
  std::vector<size_t> in_b;
  for (const auto& [at_a, at_b] : *found) {
    EXPECT_EQ(a[at_a], b[at_b]);
    in_b.push_back(at_b);
  }
  return in_b;
}

// Calls "draw, scale, copy" for one weight and "draw, scale, add, copy" for another one: which of the two one program lacks, values tell.
TEST(CommonSequence, OfSeveralAsLongTheOneThatAgreesIsTaken) {
  EXPECT_EQ(places("dsac", "dscdsac", 3), (std::vector<size_t>{3, 4, 5, 6}));
  EXPECT_EQ(places("xyxyz", "xyxyxyz", 0), (std::vector<size_t>{0, 1, 2, 3, 6}));
  EXPECT_EQ(places("xyxyz", "xyxyxyz", 2), (std::vector<size_t>{2, 3, 4, 5, 6}));
  // The other way round.
  auto found = common_sequence(letters("dscdsac"), letters("dsac"), 100);
  ASSERT_TRUE(found);
  prefer_agreement(letters("dscdsac"), letters("dsac"), *found, [](size_t a, size_t b) { return a == b + 3; });
  EXPECT_EQ(found->front().first, 3U);
}

}  // namespace
}  // namespace tensortap
