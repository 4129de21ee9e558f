#include "find/last_slope.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/spans.h"

namespace tensortap {
namespace {

constexpr size_t kLeastPoints = 8;
constexpr size_t kMostPoints = 64;     // that a line is laid through
constexpr double kLeastSlope = 0.1;    // doublings a step
constexpr double kLeastRise = 3;       // doublings: 8 times
constexpr double kLeastCertainty = 3;  // standard deviations
constexpr double kLargeChange = 12;
constexpr double kNearLimit = 20;    // steps
constexpr double kLaterShare = 0.4;  // of the change in the later half; of a line it is a half
constexpr double kLeastMiss = 0.25;

size_t quarter(std::span<const Point> points) { return std::max<size_t>(1, points.size() / 4); }
double early_median(std::span<const Point> points) { return median_of(heights(first_of(points, quarter(points)))); }
double late_median(std::span<const Point> points) { return median_of(heights(after(points, points.size() - quarter(points)))); }

bool is_steep(const RobustLine& line, double change) {
  return std::abs(line.slope) >= kLeastSlope && line.slope * change > 0 && line.certainty * line.slope > 0 &&
         std::abs(line.certainty) >= kLeastCertainty;
}

bool is_much(double slope, double change, const SeriesEnd& end) {
  if (std::abs(slope * change) >= end.least_product || std::abs(change) >= kLargeChange) return true;
  return slope > 0 && end.room && *end.room <= slope * kNearLimit;
}

bool keeps_pace(std::span<const Point> window) {
  const std::span<const Point> later = after(window, window.size() / 2);
  const double whole = late_median(window) - early_median(window);
  const double rest = late_median(later) - early_median(later);
  // The medians of quarters are three quarters of the window apart, those of the later half three eighths.
  return rest / whole >= kLaterShare;
}

// How many points before the last `count` still lie on the line through those: the change began there.
size_t reach_back(std::span<const Point> points, size_t count, const RobustLine& line) {
  std::vector<double> misses;
  for (const Point& point : after(points, points.size() - count)) misses.push_back(std::abs(point.y - line.at(point.x)));
  const double allowed = std::max(kLeastMiss, 4 * median_of(misses));
  const auto fits = [&](size_t i) { return std::abs(points[i].y - line.at(points[i].x)) <= allowed; };
  size_t first = points.size() - count;
  // One point beside the line is passed over, two are where it began.
  while (first > 0 && (fits(first - 1) || (first > 1 && fits(first - 2)))) --first;
  while (first + kLeastPoints < points.size() && !fits(first)) ++first;
  return points.size() - first;
}

struct Judged {
  LastSlope found;
  RobustLine line;
};

std::optional<Judged> judge(std::span<const Point> points, size_t count, const SeriesEnd& end) {
  const auto window = after(points, points.size() - count);
  const double from = early_median(window);
  const double change = points.back().y - from;
  if (std::abs(change) < kLeastRise) return std::nullopt;  // no line is steep then, and lines take long
  const RobustLine line = robust_line(thinned(window, kMostPoints));
  if (!is_steep(line, change) || !is_much(line.slope, change, end) || !keeps_pace(window)) return std::nullopt;
  return Judged{{count, line.slope, from, change}, line};
}

}  // namespace

std::optional<LastSlope> last_slope(std::span<const Point> points, const SeriesEnd& end) {
  if (points.size() < kLeastPoints) return std::nullopt;
  std::optional<Judged> best;
  for (size_t count = kLeastPoints; count / 2 < points.size(); count *= 2) {
    const auto judged = judge(points, std::min(count, points.size()), end);
    if (judged && (!best || std::abs(judged->found.slope) > std::abs(best->found.slope))) best = judged;
  }
  if (!best) return std::nullopt;
  const auto longer = judge(points, reach_back(points, best->found.count, best->line), end);
  return longer ? longer->found : best->found;
}

std::optional<LastSlope> last_jumps(std::span<const Point> points, const SeriesEnd& end) {
  constexpr double kLeastJump = 1;
  constexpr double kLeastLeap = 10;
  size_t first = points.empty() ? 0 : points.size() - 1;
  double largest = 0;
  for (; first > 0; --first) {
    const double jump = points[first].y - points[first - 1].y;
    if (jump < kLeastJump) break;
    largest = std::max(largest, jump);
  }
  const size_t jumps = points.empty() ? 0 : points.size() - 1 - first;
  if (jumps < 2) return std::nullopt;
  for (const Point& point : first_of(points, first)) {
    if (point.y >= points.back().y) return std::nullopt;
  }
  const double change = points.back().y - points[first].y;
  const double last = points.back().y - points[points.size() - 2].y;
  const bool keeps_pace = last >= largest / 2;
  const bool found =
      (end.goes_nonfinite && change >= 6) || (keeps_pace && jumps >= 4) || (keeps_pace && jumps == 3 && change >= kLeastLeap);
  if (!found) return std::nullopt;
  return LastSlope{jumps + 1, change / (points.back().x - points[first].x), points[first].y, change};
}

}  // namespace tensortap
