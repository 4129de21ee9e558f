#include "tree/mapping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensortap {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(Mapping, ReadsLinesWithAnyEndAndCommasInNames) {
  EXPECT_THAT(mapped_names("1,a\n\n2,b,c\r\nno comma\n,nothing\n1,later"), ElementsAre(Pair("1", "later"), Pair("2", "b,c")));
  const auto lines = mapping_lines("x\n7.npy,A.b\n");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].stored, "");
  EXPECT_EQ(lines[0].line, "x");
  EXPECT_EQ(lines[1].name, "A.b");
}

}  // namespace
}  // namespace tensortap
