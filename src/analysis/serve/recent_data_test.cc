#include "serve/recent_data.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace tensortap {
namespace {

TEST(RecentData, ATensorIsReadOnceAsLongAsFewOthersAre) {
  RecentData recent;
  std::vector<size_t> read;
  const auto get = [&](size_t row, int64_t elements, bool is_mapped = false) {
    const auto data = recent.get(row, [&]() -> Result<RecordData> {
      read.push_back(row);
      RecordData made;
      made.view.desc = {DType::kFloat32, Shape({elements})};
      if (!is_mapped) made.owner = std::make_shared<int>(0);
      return made;
    });
    ASSERT_TRUE(data.ok());
    EXPECT_EQ(data->view.desc.shape.dims()[0], elements);
  };
  for (int time = 0; time < 3; ++time) get(1, 10);
  EXPECT_EQ(read, std::vector<size_t>({1}));
  for (size_t row = 2; row < 6; ++row) get(row, 10);
  get(5, 10);
  get(1, 10);
  EXPECT_EQ(read, std::vector<size_t>({1, 2, 3, 4, 5, 1})) << "the oldest of five was given up";
  read.clear();
  for (int time = 0; time < 2; ++time) get(7, 10, true);
  EXPECT_EQ(read, std::vector<size_t>({7, 7})) << "mapped data are not kept";
  read.clear();
  constexpr int64_t kTooLarge = 80 << 20;
  for (int time = 0; time < 2; ++time) get(8, kTooLarge);
  EXPECT_EQ(read, std::vector<size_t>({8, 8})) << "320 MiB are not kept";
  read.clear();
  get(9, 40 << 20);
  get(10, 40 << 20);
  get(9, 40 << 20);
  EXPECT_EQ(read, std::vector<size_t>({9, 10, 9})) << "two of 160 MiB are too large together";
  EXPECT_FALSE(recent.get(11, []() -> Result<RecordData> { return not_found("gone"); }).ok());
}

}  // namespace
}  // namespace tensortap
