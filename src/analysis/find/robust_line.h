// Lines and middles that single values do not bend: Theil and Sen's slope, medians.

#ifndef TENSORTAP_FIND_ROBUST_LINE_H_
#define TENSORTAP_FIND_ROBUST_LINE_H_

#include <cstddef>
#include <span>
#include <vector>

namespace tensortap {

struct Point {
  double x = 0;
  double y = 0;
};

// The `y` of all points.
std::vector<double> heights(std::span<const Point> points);

// The value in the middle, or the mean of the two there; NaN of none. NaN may not be among them.
double median_of(std::vector<double> values);

// At most `most` points (2 or more) in the place of many: the medians of as many runs of neighbours. Points of a line give points of it.
std::vector<Point> thinned(std::span<const Point> points, size_t most);

struct RobustLine {
  double slope = 0;      // the median of the slopes of all pairs of points
  double intercept = 0;  // at x = 0: the median of what the slope leaves
  // How far the order of the values is from chance, in standard deviations (Mann and Kendall); negative for values that fall. Eight points
  // in a row reach 3.3.
  double certainty = 0;
  [[nodiscard]] double at(double x) const { return intercept + slope * x; }
};
// Quadratic in the number of points, which have rising x; all 0 of less than two.
RobustLine robust_line(std::span<const Point> points);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_ROBUST_LINE_H_
