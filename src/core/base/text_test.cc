#include "base/text.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/counted.h"

namespace tensortap {
namespace {

TEST(Text, NumbersReadBackToTheSameValue) {
  EXPECT_EQ(to_text(0.1), "0.1");
  EXPECT_EQ(to_text(std::nan("")), "nan");
  EXPECT_EQ(to_text(-INFINITY), "-inf");
  EXPECT_EQ(concat("row ", 3, " of ", std::string("x")), "row 3 of x");
}

TEST(Text, SplitKeepsEmptyParts) {
  EXPECT_EQ(split("a,,b", ',').size(), 3U);
  EXPECT_EQ(split("", ',').size(), 1U);
}

TEST(Text, NounsFollowTheirNumber) {
  EXPECT_EQ(counted(0, "op"), "0 ops");
  EXPECT_EQ(counted(1, "op"), "1 op");
  EXPECT_EQ(counted(2, "op"), "2 ops");
}

TEST(Text, ParseTakesWholeTextsOnly) {
  int64_t value = 7;
  EXPECT_FALSE(parse_integer("12x", value));
  EXPECT_FALSE(parse_integer("", value));
  EXPECT_FALSE(parse_integer("99999999999999999999", value));
  EXPECT_EQ(value, 7);
  EXPECT_TRUE(parse_integer("-12", value));
  EXPECT_EQ(value, -12);
}

TEST(Text, Bytes) {
  uint64_t bytes = 0;
  EXPECT_TRUE(parse_bytes("4 GiB", bytes));
  EXPECT_EQ(bytes, uint64_t{4} << 30);
  EXPECT_TRUE(parse_bytes("1.5k", bytes));
  EXPECT_EQ(bytes, 1500U);
  EXPECT_FALSE(parse_bytes("4 parsecs", bytes));
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(12'345'678), "12.3 MB");
}

TEST(Text, NearestNames) {
  const std::vector<std::string> names = {"conv1/Conv", "conv2/Conv", "relu", "softmax"};
  EXPECT_EQ(nearest("sofmax", names).front(), "softmax");
  EXPECT_EQ(did_you_mean("rellu", names), " Did you mean \"relu\"?");
  EXPECT_EQ(did_you_mean("completely different", names), "");
}

}  // namespace
}  // namespace tensortap
