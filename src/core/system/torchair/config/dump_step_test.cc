#include "system/torchair/config/dump_step.h"

#include <gtest/gtest.h>

#include <functional>
#include <regex>
#include <string>
#include <string_view>

namespace tensortap::torchair {
namespace {

// The expression of TorchAir, whose time grows with the power of the digits.
bool torchair_takes(const std::string& text) {
  static const std::regex pattern("([0-9]+(-[0-9]+)?\\|?)*");
  return std::regex_match(text, pattern);
}

void for_every_text(std::string_view letters, size_t longest, const std::function<void(const std::string&)>& visit, std::string text = "") {
  visit(text);
  if (text.size() == longest) return;
  for (const char letter : letters) for_every_text(letters, longest, visit, text + letter);
}

TEST(TorchAirSteps, AreTakenWhereTorchAirTakesThem) {
  size_t taken = 0;
  const auto compare = [&taken](const std::string& text) {
    EXPECT_EQ(parse_steps(text).valid, torchair_takes(text)) << text;
    taken += parse_steps(text).valid ? 1U : 0U;
  };
  for_every_text("0-|a", 6, compare);
  for_every_text("0-|", 8, compare);
  EXPECT_GT(taken, 200U);
}

TEST(TorchAirSteps, AreNumbersAndRanges) {
  EXPECT_TRUE(parse_steps("").steps.is_all());
  EXPECT_EQ(parse_steps("0|3-5|10").steps.to_text(), "0,3-5,10");
  EXPECT_EQ(parse_steps("02|3|").steps.to_text(), "2-3");
  EXPECT_EQ(parse_steps("10-20-30").steps.to_text(), "10-20,30");
}

TEST(TorchAirSteps, SayWhichRangeSelectsNothing) {
  const Steps turned = parse_steps("5-3");
  EXPECT_TRUE(turned.valid);
  EXPECT_TRUE(turned.steps.is_never());
  EXPECT_NE(turned.note.find("\"5-3\""), std::string::npos);
  EXPECT_EQ(parse_steps("5-3|7").steps.to_text(), "7");
}

TEST(TorchAirSteps, TakeNoTimeForLongTexts) {
  EXPECT_FALSE(parse_steps(std::string(200, '1') + "a").valid);
  EXPECT_TRUE(parse_steps(std::string(200, '1')).valid);
}

}  // namespace
}  // namespace tensortap::torchair
