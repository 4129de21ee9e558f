// The rise or fall that a series of logarithms ends with, where it is more than training makes of itself.

#ifndef TENSORTAP_FIND_LAST_SLOPE_H_
#define TENSORTAP_FIND_LAST_SLOPE_H_

#include <cstddef>
#include <optional>
#include <span>

#include "find/robust_line.h"

namespace tensortap {

struct LastSlope {
  size_t count = 0;   // of the last points
  double slope = 0;   // doublings a step
  double from = 0;    // the level that it left
  double change = 0;  // doublings
};

// What is known beside the points.
struct SeriesEnd {
  std::optional<double> room;   // doublings from the last point to the largest value of the type
  bool goes_nonfinite = false;  // the value after the last point is NaN or Inf
  // Slope times change that a line has to reach, where it does not change by 12 doublings. A network that begins to learn rises by 6
  // doublings at 0.1 to 0.3 a step or by 4 at 0.6, its gradients by 8 at 0.4 or 5 at 0.8, then both stop. Its weights do not.
  double least_product = 4;
};

// `points` are (step, log2 of a measure), by step. Of the last 8, 16, 32, ... and all points the steepest line that changes by 3 doublings
// or more, by 0.1 or more a step, steadily; then as far back as it reaches. A line that reaches the largest value of its type within 20
// steps needs no `least_product`. What slows down does not count: the later half of a line goes on at the pace of the earlier one.
std::optional<LastSlope> last_slope(std::span<const Point> points, const SeriesEnd& end = {});

// A rise of the last few points, too short for a line, to above all points before: four doublings or more in as many steps, ten in
// three steps, or, before NaN or Inf, six in two steps. Each step doubles it at least.
std::optional<LastSlope> last_jumps(std::span<const Point> points, const SeriesEnd& end);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_LAST_SLOPE_H_
