#include "system/tap/written_rows.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace tensortap::tap {
namespace {

TEST(WrittenRows, CountsWhatACutTakes) {
  WrittenRows rows;
  rows.add(0, 128);
  rows.add(256, 128);
  rows.add(128, 128);
  EXPECT_EQ(rows.cut(384), 0U);
  EXPECT_EQ(rows.cut(300), 84U);
  EXPECT_EQ(rows.cut(300), 0U) << "counted once";
  rows.add(384, 16);
  EXPECT_EQ(rows.cut(0), 316U);
  EXPECT_EQ(rows.cut(0), 0U);
}

// Against a plain set.
TEST(WrittenRows, CountsAsASetDoes) {
  std::mt19937 random(11);  // NOLINT(cert-msc51-cpp): the same rows every time
  for (int round = 0; round < 50; ++round) {
    WrittenRows rows;
    std::set<uint64_t> there;
    for (int i = 0; i < 200; ++i) {
      const uint64_t first = random() % 500;
      uint64_t count = 0;
      while (count < 20 && !there.contains(first + count)) ++count;
      if (count > 0) rows.add(first, count);
      for (uint64_t row = 0; row < count; ++row) there.insert(first + row);
      if (random() % 10 != 0) continue;
      const uint64_t end = random() % 600;
      const auto gone = there.lower_bound(end);
      ASSERT_EQ(rows.cut(end), static_cast<uint64_t>(std::distance(gone, there.end())));
      there.erase(gone, there.end());
    }
  }
}

}  // namespace
}  // namespace tensortap::tap
