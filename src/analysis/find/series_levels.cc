#include "find/series_levels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/spans.h"
#include "find/robust_line.h"

namespace tensortap {
namespace {

// The value that a tenth of them are above; of less than ten the largest.
double upper_tenth(std::vector<double>& values) {
  const auto place = values.end() - 1 - static_cast<std::ptrdiff_t>(values.size() / 10);
  std::ranges::nth_element(values, place);
  return *place;
}

}  // namespace

void SeriesLevels::add(SeriesRole role, std::span<const StepPoint> points) {
  std::vector<Point> found;
  for (const StepPoint& point : points) {
    if (point.rms > 0 && std::isfinite(point.rms)) found.push_back({static_cast<double>(point.step), std::log2(point.rms)});
  }
  if (found.empty()) return;
  std::vector<double> first;
  for (const Point& point : first_of(std::span<const Point>(found), std::max<size_t>(1, found.size() / 4))) first.push_back(point.y);
  const double start = median_of(std::move(first));
  early_[static_cast<size_t>(role)].push_back(start);
  const auto [least, most] = std::ranges::minmax(found, {}, &Point::y);
  if (role != SeriesRole::kGradient || most.y - least.y < 1e-6) return;
  for (const Point& point : found) changes_[static_cast<int64_t>(point.x)].push_back(point.y - start);
}

void SeriesLevels::finish() {
  constexpr size_t kLeastSeries = 3;
  for (auto& [step, changes] : changes_) {
    if (changes.size() >= kLeastSeries) change_[step] = upper_tenth(changes);
  }
  changes_.clear();
  for (size_t role = 0; role < kRoles; ++role) {
    usual_[role] = early_[role].empty() ? -std::numeric_limits<double>::infinity() : upper_tenth(early_[role]);
  }
}

double SeriesLevels::gradient_change(int64_t step) const {
  const auto found = change_.find(step);
  return found == change_.end() ? 0 : found->second;
}

}  // namespace tensortap
