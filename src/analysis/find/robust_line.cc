#include "find/robust_line.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tensortap {

std::vector<double> heights(std::span<const Point> points) {
  std::vector<double> found;
  for (const Point& point : points) found.push_back(point.y);
  return found;
}

double median_of(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

std::vector<Point> thinned(std::span<const Point> points, size_t most) {
  if (points.size() <= most) return {points.begin(), points.end()};
  std::vector<Point> kept;
  for (size_t i = 0; i < most; ++i) {
    const size_t begin = i * points.size() / most;
    const size_t end = (i + 1) * points.size() / most;
    std::vector<double> x;
    std::vector<double> y;
    for (size_t k = begin; k < end; ++k) {
      x.push_back(points[k].x);
      y.push_back(points[k].y);
    }
    kept.push_back({median_of(std::move(x)), median_of(std::move(y))});
  }
  return kept;
}

RobustLine robust_line(std::span<const Point> points) {
  RobustLine line;
  if (points.size() < 2) return line;
  std::vector<double> slopes;
  slopes.reserve(points.size() * (points.size() - 1) / 2);
  double order = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    for (size_t k = i + 1; k < points.size(); ++k) {
      const double rise = points[k].y - points[i].y;
      order += rise > 0 ? 1 : rise < 0 ? -1 : 0;
      if (points[k].x > points[i].x) slopes.push_back(rise / (points[k].x - points[i].x));
    }
  }
  if (slopes.empty()) return line;
  line.slope = median_of(std::move(slopes));
  std::vector<double> rest;
  for (const Point& point : points) rest.push_back(point.y - line.slope * point.x);
  line.intercept = median_of(std::move(rest));
  const auto n = static_cast<double>(points.size());
  const double deviation = std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
  line.certainty = order == 0 ? 0 : (order - std::copysign(1.0, order)) / deviation;
  return line;
}

}  // namespace tensortap
