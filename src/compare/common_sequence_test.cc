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

}  // namespace
}  // namespace tensortap
