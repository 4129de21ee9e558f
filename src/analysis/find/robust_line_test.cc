#include "find/robust_line.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tensortap {
namespace {

std::vector<Point> points_of(const std::vector<double>& heights) {
  std::vector<Point> points;
  for (size_t i = 0; i < heights.size(); ++i) points.push_back({static_cast<double>(i), heights[i]});
  return points;
}

TEST(Median, IsTheMiddleOrTheMeanOfTheTwoThere) {
  EXPECT_EQ(median_of({3}), 3);
  EXPECT_EQ(median_of({9, 1, 5}), 5);
  EXPECT_EQ(median_of({9, 1, 5, 7}), 6);
  EXPECT_TRUE(std::isnan(median_of({})));
}

TEST(RobustLine, IsExactOnALineWithGaps) {
  const RobustLine line = robust_line(std::vector<Point>{{0, 1}, {1, 1.25}, {5, 2.25}, {9, 3.25}, {40, 11}});
  EXPECT_EQ(line.slope, 0.25);
  EXPECT_EQ(line.intercept, 1);
  EXPECT_EQ(line.at(100), 26);
}

TEST(RobustLine, OutliersDoNotBendIt) {
  std::vector<Point> points;
  for (int i = 0; i < 20; ++i) points.push_back({double(i), 0.5 * i});
  points[3].y = 1e6;
  points[11].y = -1e6;
  points[19].y = 1e6;
  EXPECT_DOUBLE_EQ(robust_line(points).slope, 0.5);
}

// scipy.stats.theilslopes(y, x).slope and kendalltau(x, y).statistic of SciPy 1.17; the statistic is S / 28.
TEST(RobustLine, IsWhatSciPyComputes) {
  const RobustLine line =
      robust_line(std::vector<Point>{{0, 2.0}, {1, 1.5}, {4, 3.25}, {5, 3.0}, {7, 5.5}, {8, 4.0}, {12, 6.75}, {15, 6.5}});
  EXPECT_NEAR(line.slope, 0.35357142857142854, 1e-15);
  const double deviation = std::sqrt(8 * 7 * 21 / 18.0);
  EXPECT_NEAR(line.certainty, (0.7142857142857142 * 28 - 1) / deviation, 1e-12);
  EXPECT_NEAR(robust_line(points_of({8, 7, 6, 5, 4, 3, 2, 1})).certainty, -27 / deviation, 1e-12);
}

TEST(RobustLine, OfLessThanTwoPointsIsFlat) {
  EXPECT_EQ(robust_line({}).slope, 0);
  EXPECT_EQ(robust_line(points_of({5})).slope, 0);
  EXPECT_EQ(robust_line(points_of({5, 5, 5})).certainty, 0);
}

TEST(Thinned, KeepsALineALine) {
  std::vector<Point> points;
  for (int i = 0; i < 1000; ++i) points.push_back({double(i), 3.0 * i - 7});
  const std::vector<Point> few = thinned(points, 64);
  ASSERT_EQ(few.size(), 64U);
  EXPECT_DOUBLE_EQ(robust_line(few).slope, 3);
  EXPECT_EQ(thinned(points, 2000).size(), 1000U);
}

}  // namespace
}  // namespace tensortap
