#include "find/trends.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "base/spans.h"
#include "find/nonfinite_origins.h"
#include "find/record_roles.h"
#include "find/robust_line.h"
#include "tensor/number_formats.h"

namespace tensortap {
namespace {

constexpr double kLeastSlope = 0.1;    // doublings a step
constexpr double kLeastChange = 3;     // doublings: 8 times
constexpr double kLeastCertainty = 3;  // standard deviations
constexpr size_t kMostPoints = 64;     // that a line is laid through
constexpr double kDeadShare = 0.99;
constexpr double kAliveShare = 0.9;
constexpr double kSpikeDeviations = 8;    // medians of the deviations
constexpr double kLeastDeviation = 0.25;  // doublings: what is steadier than that counts as this steady
constexpr size_t kSpikeReach = 8;         // steps on either side
constexpr size_t kLeastChanges = 4;       // of what is said to have stopped

double value_of(const StepPoint& point, Measure measure) { return measure == Measure::kRms ? point.rms : point.absmax; }

// The points with a value that has a logarithm, and their places in `points`.
struct Logarithms {
  std::vector<Point> points;
  std::vector<size_t> places;
};

Logarithms logarithms_of(std::span<const StepPoint> points, Measure measure) {
  Logarithms made;
  for (size_t i = 0; i < points.size(); ++i) {
    const double value = value_of(points[i], measure);
    if (!(value > 0) || !std::isfinite(value)) continue;
    made.points.push_back({static_cast<double>(points[i].step), std::log2(value)});
    made.places.push_back(i);
  }
  return made;
}

std::vector<double> heights(std::span<const Point> points) {
  std::vector<double> found;
  for (const Point& point : points) found.push_back(point.y);
  return found;
}

double lowest_of(std::span<const Point> points) {
  double lowest = std::numeric_limits<double>::infinity();
  for (const Point& point : points) lowest = std::min(lowest, point.y);
  return lowest;
}

double early_median(std::span<const Point> points) { return median_of(heights(first_of(points, std::max<size_t>(1, points.size() / 4)))); }

bool is_steep(const RobustLine& line, double change) {
  return std::abs(line.slope) >= kLeastSlope && line.slope * change > 0 && std::abs(change) >= kLeastChange &&
         line.certainty * line.slope > 0 && std::abs(line.certainty) >= kLeastCertainty;
}

// How many points before the last `count` still lie on the line through those: the change began there.
size_t reach_back(std::span<const Point> points, size_t count, const RobustLine& line) {
  std::vector<double> misses;
  for (const Point& point : after(points, points.size() - count)) misses.push_back(std::abs(point.y - line.at(point.x)));
  const double allowed = std::max(kLeastDeviation, 4 * median_of(misses));
  const auto fits = [&](size_t i) { return std::abs(points[i].y - line.at(points[i].x)) <= allowed; };
  size_t first = points.size() - count;
  // One point beside the line is passed over, two are where it began.
  while (first > 0 && (fits(first - 1) || (first > 1 && fits(first - 2)))) --first;
  while (first + kLeastSteps < points.size() && !fits(first)) ++first;
  return points.size() - first;
}

struct Slope {
  size_t count = 0;  // of the last points
  RobustLine line;
  double from = 0;
  double change = 0;
};

// The steepest of the last 8, 16, 32, ... and all points, then as far back as the line reaches.
std::optional<Slope> last_slope(std::span<const Point> points) {
  std::optional<Slope> best;
  const auto judge = [&](size_t count) {
    const auto window = after(points, points.size() - count);
    const double from = early_median(window);
    const double change = points.back().y - from;
    if (std::abs(change) < kLeastChange) return std::optional<Slope>();  // no line is steep then, and lines take long
    const RobustLine line = robust_line(thinned(window, kMostPoints));
    return is_steep(line, change) ? std::optional(Slope{count, line, from, change}) : std::nullopt;
  };
  for (size_t count = kLeastSteps; count / 2 < points.size(); count *= 2) {
    const auto found = points.size() < kLeastSteps ? std::nullopt : judge(std::min(count, points.size()));
    if (found && (!best || std::abs(found->line.slope) > std::abs(best->line.slope))) best = found;
  }
  if (!best) return best;
  const auto longer = judge(reach_back(points, best->count, best->line));
  return longer ? longer : best;
}

std::optional<double> steps_to_limit(const RecordRow& record, double slope, double absmax) {
  const auto dtype = static_cast<DType>(record.dtype);
  if (slope <= 0 || !is_floating(dtype) || !(absmax > 0) || !std::isfinite(absmax)) return std::nullopt;
  const double limit = float_limits(dtype).largest;
  if (!std::isfinite(limit) || limit <= 0) return std::nullopt;
  return std::max(0.0, (std::log2(limit) - std::log2(absmax)) / slope);
}

std::optional<Trend> slope_of(const DumpIndex& dump, std::span<const StepPoint> points, Measure measure) {
  const Logarithms logarithms = logarithms_of(points, measure);
  const auto found = last_slope(logarithms.points);
  if (!found) return std::nullopt;
  const StepPoint& last = points[logarithms.places.back()];
  Trend trend;
  trend.kind = found->line.slope > 0 ? TrendKind::kExploding : TrendKind::kVanishing;
  trend.measure = measure;
  trend.row = last.row;
  trend.since = points[logarithms.places[logarithms.places.size() - found->count]].step;
  trend.step = last.step;
  trend.steps = found->count;
  trend.slope = found->line.slope;
  trend.from = std::exp2(found->from);
  trend.to = value_of(last, measure);
  trend.evidence = std::abs(found->change);
  trend.steps_to_limit = steps_to_limit(dump.rows()[last.row], trend.slope, last.absmax);
  return trend;
}

// The point that is farthest above the middle of the steps around it. A step with small values is none: its batch was an easy one.
std::optional<Trend> spike_of(std::span<const StepPoint> points, Measure measure) {
  const Logarithms logarithms = logarithms_of(points, measure);
  const std::span<const Point> all = logarithms.points;
  std::optional<Trend> best;
  const double lowest = lowest_of(all);
  // A series begins with steps unlike the others.
  for (size_t i = 2; i < all.size(); ++i) {
    const size_t begin = i < kSpikeReach ? 0 : i - kSpikeReach;
    const std::span<const Point> earlier = first_of(after(all, begin), i - begin);
    const std::span<const Point> later = first_of(after(all, i + 1), kSpikeReach);
    if (earlier.size() + later.size() + 1 < kLeastSteps) break;
    const double wanted = best ? best->evidence : kLeastChange;
    if (all[i].y - lowest < wanted) continue;  // most steps of most series, without their middles
    std::vector<double> around = heights(earlier);
    for (const Point& point : later) around.push_back(point.y);
    const double middle = median_of(around);
    const double distance = all[i].y - middle;
    if (distance < kLeastChange || (best && distance <= best->evidence)) continue;
    for (double& value : around) value = std::abs(value - middle);
    const double deviation = std::max(kLeastDeviation, median_of(std::move(around)));
    if (distance <= kSpikeDeviations * deviation) continue;
    const StepPoint& point = points[logarithms.places[i]];
    best = Trend{.kind = TrendKind::kSpike,
                 .measure = measure,
                 .row = point.row,
                 .since = point.step,
                 .step = point.step,
                 .steps = 1,
                 .slope = 0,
                 .from = std::exp2(middle),
                 .to = value_of(point, measure),
                 .evidence = distance,
                 .steps_to_limit = {}};
  }
  return best;
}

// Of a state that the last steps are in: how many, and the trend without what is particular to it.
Trend state(TrendKind kind, Measure measure, std::span<const StepPoint> points, size_t count) {
  Trend trend;
  trend.kind = kind;
  trend.measure = measure;
  trend.row = points.back().row;
  trend.since = points[points.size() - count].step;
  trend.step = points.back().step;
  trend.steps = count;
  trend.evidence = static_cast<double>(count);
  return trend;
}

template <class Holds>
size_t last_ones(std::span<const StepPoint> points, const Holds& holds) {
  size_t count = 0;
  while (count < points.size() && holds(points[points.size() - 1 - count])) ++count;
  return count;
}

// What was alive before: what never was is no trend, and a zero state or mask as often as not.
std::optional<Trend> dead_of(std::span<const StepPoint> points) {
  const size_t count = last_ones(points, [](const StepPoint& point) { return point.zero_share >= kDeadShare; });
  if (count < kLeastSteps) return std::nullopt;
  const auto before = first_of(points, points.size() - count);
  double least = 1;
  for (const StepPoint& point : before) least = std::min(least, std::isnan(point.zero_share) ? 1 : point.zero_share);
  if (least >= kAliveShare) return std::nullopt;
  Trend trend = state(TrendKind::kDead, Measure::kZeroShare, points, count);
  trend.from = least;
  trend.to = points.back().zero_share;
  return trend;
}

// What changed from step to step before; of a parameter that is trained, also what never changed. What is NaN from a step on is not meant:
// all that reads it stays so, and find_report.h says where it began.
std::optional<Trend> frozen_of(std::span<const StepPoint> points, bool is_trained) {
  const uint64_t identity = points.back().identity;
  if (identity == 0 || points.back().nonfinite) return std::nullopt;
  const size_t count = last_ones(points, [&](const StepPoint& point) { return point.identity == identity; });
  if (count < kLeastSteps) return std::nullopt;
  const auto before = first_of(points, points.size() - count);
  size_t changes = 0;
  for (size_t i = 1; i < before.size(); ++i) changes += before[i].identity != before[i - 1].identity ? 1 : 0;
  const bool stopped = changes >= kLeastChanges && changes * 4 >= before.size() * 3;
  if (!stopped && !(is_trained && before.empty())) return std::nullopt;
  return state(TrendKind::kFrozen, Measure::kContent, points, count);
}

bool is_known(const StepPoint& point) {
  return point.nonfinite || point.identity != 0 || !std::isnan(point.rms) || !std::isnan(point.absmax) || !std::isnan(point.zero_share);
}

class Trends {
 public:
  explicit Trends(const DumpIndex& dump) : dump_(dump), roles_(dump) {
    for (const RecordRow& record : dump.rows()) {
      has_outputs_ = has_outputs_ || record.slot_kind != static_cast<uint8_t>(SlotKind::kInput);
      is_training_ = is_training_ || static_cast<Phase>(record.phase) == Phase::kUpdate;
    }
  }

  TrendReport find(uint64_t last) {
    std::vector<SeriesEntry> entries = series_entries(dump_, [this](const RecordRow& record) { return is_judged(record); });
    const int64_t first = first_step(entries, last);
    std::erase_if(entries, [first](const SeriesEntry& entry) { return entry.step < first; });
    std::span<const SeriesEntry> rest = entries;
    while (!rest.empty()) {
      const auto series = first_series(rest);
      rest = after(rest, series.size());
      ++report_.series;
      const std::vector<StepPoint> points = step_points(dump_, series);
      if (static_cast<size_t>(std::ranges::count_if(points, is_known)) < kLeastSteps) continue;
      ++report_.judged;
      if (points.back().nonfinite) note_nonfinite(series);
      judge(dump_.rows()[series.front().row], points);
    }
    std::ranges::stable_sort(report_.trends, std::less<>(), [](const Trend& trend) { return std::tuple(trend.kind, -trend.evidence); });
    report_.depth = gradient_depth(dump_);
    count_harmless();
    return std::move(report_);
  }

 private:
  void note_nonfinite(std::span<const SeriesEntry> series) {
    for (const SeriesEntry& entry : series) {
      if (entry.step == series.back().step) endings_.emplace_back(report_.nonfinite, entry.row);
    }
    ++report_.nonfinite;
  }
  void count_harmless() {
    if (endings_.empty()) return;
    std::vector<size_t> rows;
    for (const auto& [series, row] : endings_) rows.push_back(row);
    const std::vector<bool> harms = harmful_rows(dump_, rows);
    std::vector<bool> harmed(report_.nonfinite);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (harms[i]) harmed[endings_[i].first] = true;
    }
    report_.harmless = static_cast<uint64_t>(std::ranges::count(harmed, false));
  }
  // What an op read is judged where its producer wrote it.
  [[nodiscard]] bool is_judged(const RecordRow& record) const {
    if (!is_floating(static_cast<DType>(record.dtype)) || record.numel == 0) return false;
    return record.slot_kind != static_cast<uint8_t>(SlotKind::kInput) || !has_outputs_ || roles_.facts().is_parameter(record);
  }
  int64_t first_step(std::span<const SeriesEntry> entries, uint64_t last) {
    std::vector<int64_t> steps;
    for (const SeriesEntry& entry : entries) steps.push_back(entry.step);
    std::ranges::sort(steps);
    steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
    report_.steps = last == 0 ? steps.size() : std::min<uint64_t>(last, steps.size());
    return steps.empty() ? 0 : steps[steps.size() - report_.steps];
  }

  void judge(const RecordRow& record, const std::vector<StepPoint>& points) {
    const auto add = [this](std::optional<Trend> trend) {
      if (trend) report_.trends.push_back(*trend);
    };
    const bool weight = roles_.is_weight(record);
    if (record.numel > 1) add(frozen_of(points, weight && is_training_));
    // An optimizer's own numbers grow from 0 and shrink as they should.
    if (static_cast<Phase>(record.phase) == Phase::kUpdate) return;
    if (!weight) add(dead_of(points));
    const std::optional<Trend> slope = slope_of(dump_, points);
    if (slope && (slope->kind == TrendKind::kExploding || roles_.is_gradient(record))) {
      add(slope);
    } else {
      const auto spike = spike_of(points, Measure::kAbsMax);
      add(spike ? spike : spike_of(points, Measure::kRms));
    }
  }

  const DumpIndex& dump_;
  const RecordRoles roles_;
  bool has_outputs_ = false;
  bool is_training_ = false;
  TrendReport report_;
  std::vector<std::pair<uint64_t, size_t>> endings_;  // of series that end with NaN or Inf: number of the series, row
};

}  // namespace

std::string_view trend_name(TrendKind kind) {
  constexpr std::string_view kNames[] = {"exploding", "spike", "vanishing", "dead", "frozen"};
  return kNames[static_cast<size_t>(kind)];
}

std::string_view measure_name(Measure measure) {
  constexpr std::string_view kNames[] = {"rms", "absmax", "zero_share", "content"};
  return kNames[static_cast<size_t>(measure)];
}

std::optional<Trend> slope_of(const DumpIndex& dump, std::span<const StepPoint> points) {
  const auto found = slope_of(dump, points, Measure::kAbsMax);
  return found ? found : slope_of(dump, points, Measure::kRms);
}

TrendReport find_trends(const DumpIndex& dump, uint64_t last) { return Trends(dump).find(last); }

}  // namespace tensortap
