#include "system/mindspore/config/iteration.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <regex>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"

namespace tensortap::mindspore {
namespace {

// Another way to the same answer: every part against a pattern, numbers as long double, one step at a time.
bool is_dumped(const std::string& text, uint32_t step) {
  if (text == "all") return true;
  static const std::regex part("([0-9]+)(-([0-9]+))?");
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find('|', begin), text.size());
    const std::string piece = text.substr(begin, end - begin);
    begin = end + 1;
    std::smatch match;
    if (!std::regex_match(piece, match, part)) continue;
    const auto number = [&](size_t group) { return std::stold(match[group].str()); };
    constexpr long double kTooLarge = 18446744073709551616.0L;  // 2^64
    const long double first = number(1);
    const long double last = match[2].matched ? number(3) : first;
    if (first < kTooLarge && last < kTooLarge && first <= step && step <= last) return true;
  }
  return false;
}

TEST(MindsporeIteration, GoldenCellByCell) {
  const Result<std::string> file = read_file(TENSORTAP_TESTDATA "/golden/mindspore/match/iteration.jsonl");
  ASSERT_TRUE(file.ok()) << file.status().message();
  size_t cells = 0;
  for (const std::string_view line : split(trim(*file), '\n')) {
    const Json row = *parse_json(line, "iteration.jsonl");
    const auto text = row["iteration"].get<std::string>();
    ASSERT_TRUE(is_iteration(text)) << text;
    const StepSet steps = parse_iteration(text).steps;
    const auto dumped = row["dumped"].get<std::vector<int64_t>>();
    for (const Json& asked : row["asked"]) {
      const bool expected = std::ranges::find(dumped, asked.get<int64_t>()) != dumped.end();
      EXPECT_EQ(steps.contains(asked.get<int64_t>()), expected) << text << " at " << asked;
      EXPECT_EQ(is_dumped(text, asked.get<uint32_t>()), expected) << "the reference: " << text << " at " << asked;
      ++cells;
    }
  }
  EXPECT_EQ(cells, 16U * 17U);
}

TEST(MindsporeIteration, TextsThatMindsporeRefuses) {
  for (const char* text : {"", "ALL", "all|1", "0 | 5-8", "0,1", "a", "1.", "+1", "0\n", "all "}) EXPECT_FALSE(is_iteration(text)) << text;
  for (const char* text : {"all", "0", "-", "|", "0-1-2", "00", "99999999999999999999"}) EXPECT_TRUE(is_iteration(text)) << text;
}

TEST(MindsporeIteration, PartsWithoutAMeaningMatchNothingAndAreCounted) {
  const Iterations some = parse_iteration("3-1|7|0-1-2||99999999999999999999");
  EXPECT_EQ(some.steps.to_text(), "7");
  EXPECT_EQ(some.malformed, 4U);
  EXPECT_EQ(some.first_malformed, "3-1");
  const Iterations none = parse_iteration("-|5-");
  EXPECT_TRUE(none.steps.is_never());
  EXPECT_FALSE(none.steps.empty()) << "an empty set is a mistake of the native config";
  EXPECT_FALSE(none.steps.contains(0));
  EXPECT_EQ(*StepSet::parse(none.steps.to_text()), none.steps) << "as it goes to a source";
}

TEST(MindsporeIteration, AMillionPartsAreNoWork) {
  std::string text;
  for (int i = 1'000'000; i > 0; --i) text += concat(2 * i, "|");
  EXPECT_TRUE(parse_iteration(text).steps.contains(2));
}

RC_GTEST_PROP(MindsporeIteration, AgreesWithTheReference, ()) {
  const auto part = rc::gen::oneOf(rc::gen::map(rc::gen::inRange(0, 30), [](int n) { return std::to_string(n); }),
                                   rc::gen::map(rc::gen::pair(rc::gen::inRange(0, 30), rc::gen::inRange(0, 30)),
                                                [](std::pair<int, int> p) { return concat(p.first, "-", p.second); }),
                                   rc::gen::container<std::string>(rc::gen::elementOf(std::string("0123456789--|"))));
  std::string text;
  const int parts = *rc::gen::inRange(1, 8);
  for (int i = 0; i < parts; ++i) text += (i > 0 ? "|" : "") + *part;
  RC_PRE(!text.empty());
  RC_ASSERT(is_iteration(text));
  const StepSet steps = parse_iteration(text).steps;
  for (uint32_t step = 0; step < 35; ++step) RC_ASSERT(steps.contains(step) == is_dumped(text, step));
  const auto far = *rc::gen::arbitrary<uint32_t>();
  RC_ASSERT(steps.contains(far) == is_dumped(text, far));
}

}  // namespace
}  // namespace tensortap::mindspore
