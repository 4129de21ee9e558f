#include "base/spans.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace tensortap {
namespace {

constexpr std::array<int, 4> kNumbers = {1, 2, 3, 4};
const std::span<const int> kWhole(kNumbers);

TEST(Spans, APartIsThereWhollyOrNotAtAll) {
  const auto middle = part_of(kWhole, 1, 2);
  ASSERT_TRUE(middle);
  EXPECT_EQ(middle->size(), 2U);
  EXPECT_EQ(middle->front(), 2);
  EXPECT_TRUE(part_of(kWhole, 4, 0));
  EXPECT_FALSE(part_of(kWhole, 4, 1));
  EXPECT_FALSE(part_of(kWhole, 5, 0));
  EXPECT_FALSE(part_of(kWhole, 1, UINT64_MAX));
  EXPECT_FALSE(part_of(kWhole, UINT64_MAX, 2));
}

TEST(Spans, EndsAreCutToWhatIsThere) {
  EXPECT_EQ(first_of(kWhole, 3).size(), 3U);
  EXPECT_EQ(first_of(kWhole, UINT64_MAX).size(), 4U);
  EXPECT_EQ(after(kWhole, 3).front(), 4);
  EXPECT_TRUE(after(kWhole, 5).empty());
  EXPECT_TRUE(after(kWhole, UINT64_MAX).empty());
}

}  // namespace
}  // namespace tensortap
