#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <vector>

#include "plan/capture_spec.h"

namespace tensortap {
namespace {

constexpr int64_t kOpen = std::numeric_limits<int64_t>::max();

TEST(StepSet, ReadsNumbersAndRanges) {
  const Result<StepSet> steps = StepSet::parse("0, 3-5,10-");
  ASSERT_TRUE(steps.ok()) << steps.status().message();
  for (const int64_t in : {0, 3, 4, 5, 10, 11, 1000000}) EXPECT_TRUE(steps->contains(in)) << in;
  for (const int64_t out : {-1, 1, 2, 6, 9}) EXPECT_FALSE(steps->contains(out)) << out;
  EXPECT_EQ(steps->to_text(), "0,3-5,10-");
  EXPECT_EQ(steps->last(), kOpen);
  EXPECT_EQ(steps->first(), 0);
}

TEST(StepSet, ReadsTheFormWithBars) { EXPECT_EQ(StepSet::parse("0|3-5|10")->to_text(), "0,3-5,10"); }

TEST(StepSet, AnAskedSeparatorIsTheOnlyOne) { EXPECT_FALSE(StepSet::parse("0,1", '|').ok()); }

TEST(StepSet, AllAndNothing) {
  EXPECT_TRUE(StepSet::all().is_all());
  EXPECT_TRUE(StepSet::parse("all")->is_all());
  EXPECT_TRUE(StepSet::parse("0-")->is_all());
  EXPECT_EQ(StepSet::all().to_text(), "all");
  EXPECT_TRUE(StepSet().empty());
  EXPECT_EQ(StepSet().last(), -1);
  EXPECT_FALSE(StepSet().contains(0));
  EXPECT_TRUE(StepSet::never().is_never());
  EXPECT_FALSE(StepSet::never().empty());
  EXPECT_FALSE(StepSet::never().contains(0));
  EXPECT_TRUE(StepSet::parse(StepSet::never().to_text())->is_never());
  EXPECT_FALSE(StepSet::all().is_never());
}

TEST(StepSet, SaysWhatIsWrong) {
  for (const auto& [text, part] : std::vector<std::pair<std::string, std::string>>{{"5-3", "\"5-3\" are the wrong way round"},
                                                                                   {"", "\"\" are not a number"},
                                                                                   {"1,,2", "\"\" are not"},
                                                                                   {"1,x", "\"x\" are not a number"},
                                                                                   {"-3", "\"-3\" are not"},
                                                                                   {"3--5", "\"3--5\" are not"},
                                                                                   {"1.5", "\"1.5\" are not"},
                                                                                   {"99999999999999999999", "are not a number"}}) {
    const Result<StepSet> steps = StepSet::parse(text);
    ASSERT_FALSE(steps.ok()) << text;
    EXPECT_EQ(steps.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(steps.status().message().find(part), std::string::npos) << steps.status().message();
    EXPECT_NE(steps.status().message().find("0,3-5,10-"), std::string::npos) << "an example to follow";
  }
}

// The set of steps as a plain set of numbers says the same, and the text reads back.
RC_GTEST_PROP(StepSet, EqualsAPlainSetAndReadsBack, ()) {
  const auto ranges =
      *rc::gen::container<std::vector<std::pair<int, int>>>(rc::gen::pair(rc::gen::inRange(-3, 60), rc::gen::inRange(-3, 60)));
  StepSet steps;
  std::set<int> plain;
  for (const auto& [first, last] : ranges) {
    steps.add(first, last);
    for (int step = std::max(first, 0); step <= last; ++step) plain.insert(step);
  }
  for (int step = -5; step < 70; ++step) RC_ASSERT(steps.contains(step) == plain.contains(step));
  RC_ASSERT(steps.last() == (plain.empty() ? -1 : *plain.rbegin()));
  RC_ASSERT(steps.first() == (plain.empty() ? -1 : *plain.begin()));
  if (plain.empty()) return;
  RC_ASSERT(*StepSet::parse(steps.to_text()) == steps);
}

}  // namespace
}  // namespace tensortap
