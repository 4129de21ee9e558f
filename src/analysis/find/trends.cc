#include "find/trends.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/spans.h"
#include "find/last_slope.h"
#include "find/nonfinite_origins.h"
#include "find/op_semantics.h"
#include "find/record_roles.h"
#include "find/robust_line.h"
#include "find/series_levels.h"
#include "find/trained_weights.h"
#include "tensor/number_formats.h"

namespace tensortap {
namespace {

constexpr double kLeastChange = 3;              // doublings: 8 times
constexpr double kVanishingProduct = 2;         // last_slope.h
constexpr double kLeastProducts[] = {0, 6, 4};  // by SeriesRole
constexpr double kDeadShare = 0.99;
constexpr double kAliveShare = 0.9;
constexpr double kLivelyShare = 0.75;
constexpr double kLeastLeap = 2;          // doublings, above the two steps before
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

double lowest_of(std::span<const Point> points) {
  double lowest = std::numeric_limits<double>::infinity();
  for (const Point& point : points) lowest = std::min(lowest, point.y);
  return lowest;
}

// Doublings up to the largest value of the record's type.
std::optional<double> room_above(const RecordRow& record, double absmax) {
  const auto dtype = static_cast<DType>(record.dtype);
  if (!is_floating(dtype) || !(absmax > 0) || !std::isfinite(absmax)) return std::nullopt;
  const double limit = float_limits(dtype).largest;
  if (!std::isfinite(limit) || limit <= 0) return std::nullopt;
  return std::max(0.0, std::log2(limit) - std::log2(absmax));
}

std::optional<Trend> slope_of(const DumpIndex& dump, std::span<const StepPoint> points, double least_product, Measure measure) {
  const Logarithms logarithms = logarithms_of(points, measure);
  if (logarithms.points.empty()) return std::nullopt;
  const StepPoint& last = points[logarithms.places.back()];
  const bool breaks = logarithms.places.back() + 1 < points.size() && points[logarithms.places.back() + 1].nonfinite;
  const SeriesEnd end = {room_above(dump.rows()[last.row], last.absmax), breaks, least_product};
  auto found = last_slope(logarithms.points, end);
  if (!found) found = last_jumps(logarithms.points, end);
  if (!found) return std::nullopt;
  Trend trend;
  trend.kind = found->slope > 0 ? TrendKind::kExploding : TrendKind::kVanishing;
  trend.measure = measure;
  trend.row = last.row;
  trend.since = points[logarithms.places[logarithms.places.size() - found->count]].step;
  trend.step = last.step;
  trend.steps = found->count;
  trend.slope = found->slope;
  trend.from = std::exp2(found->from);
  trend.to = value_of(last, measure);
  trend.evidence = std::abs(found->change);
  if (end.room && trend.slope > 0) trend.steps_to_limit = *end.room / trend.slope;
  return trend;
}

std::optional<Trend> slope_of(const DumpIndex& dump, std::span<const StepPoint> points, double least_product) {
  const auto found = slope_of(dump, points, least_product, Measure::kAbsMax);
  return found ? found : slope_of(dump, points, least_product, Measure::kRms);
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
    if (all[i].y - std::max(all[i - 1].y, all[i - 2].y) < kLeastLeap) continue;
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

// Makes the trend of a state in which the last `count` steps are, without the fields that only one kind of state has.
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
// A gradient is zero for some steps where a margin is kept; a value of the forward pass that becomes all zeros at once is not.
std::optional<Trend> dead_of(std::span<const StepPoint> points, bool is_gradient) {
  const size_t count = last_ones(points, [](const StepPoint& point) { return point.zero_share >= kDeadShare; });
  const auto before = first_of(points, points.size() - count);
  double least = 1;
  double most = 0;
  for (const StepPoint& point : before) {
    const double share = std::isnan(point.zero_share) ? 1 : point.zero_share;
    least = std::min(least, share);
    most = std::max(most, share);
  }
  const auto all_zero = [](const StepPoint& point) { return point.zero_share == 1; };
  const bool at_once =
      !is_gradient && before.size() >= kLeastSteps && most < kLivelyShare && std::ranges::all_of(after(points, before.size()), all_zero);
  if (count < (at_once ? kLeastJudged : kLeastSteps) || least >= kAliveShare) return std::nullopt;
  Trend trend = state(TrendKind::kDead, Measure::kZeroShare, points, count);
  trend.from = least;
  trend.to = points.back().zero_share;
  return trend;
}

// Finds content that changed from step to step before and then stopped. A trained parameter also counts if it never changed. NaN that stays
// from a step on does not count: everything that reads it stays NaN as well, and find_report.h reports where it began.
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

double last_finite_rms(std::span<const StepPoint> points) {
  double rms = std::nan("");
  for (const StepPoint& point : points) {
    if (std::isfinite(point.rms)) rms = point.rms;
  }
  return rms;
}

bool is_known(const StepPoint& point) {
  return point.nonfinite || point.identity != 0 || !std::isnan(point.rms) || !std::isnan(point.absmax) || !std::isnan(point.zero_share);
}

class Trends {
 public:
  explicit Trends(const DumpIndex& dump) : dump_(dump), roles_(dump), trained_(dump, roles_.facts()) {
    for (const OpInfo& op : dump.ops()) computes_.push_back(!only_moves(op.type) && !makes_constants(op.type));
    for (const RecordRow& record : dump.rows()) {
      has_outputs_ = has_outputs_ || record.slot_kind != static_cast<uint8_t>(SlotKind::kInput);
      if (roles_.facts().is_parameter(record) && record.storage != 0) parameters_.emplace(record.op, record.slot_index, record.storage);
    }
  }

  TrendReport find(uint64_t last) {
    std::vector<SeriesEntry> entries = series_entries(dump_, [this](const RecordRow& record) { return is_judged(record); });
    const int64_t first = first_step(entries, last);
    std::erase_if(entries, [first](const SeriesEntry& entry) { return entry.step < first; });
    level(entries);
    std::span<const SeriesEntry> rest = entries;
    while (!rest.empty()) {
      const auto series = first_series(rest);
      rest = after(rest, series.size());
      ++report_.series;
      const std::vector<StepPoint> points = step_points(dump_, series);
      if (static_cast<size_t>(std::ranges::count_if(points, is_known)) < kLeastJudged) {
        report_.unknown += points.size() < kLeastJudged ? 0 : 1;
        continue;
      }
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
  [[nodiscard]] SeriesRole role_of(const RecordRow& record) const {
    if (is_weight(record)) return SeriesRole::kWeight;
    return roles_.is_gradient(record) ? SeriesRole::kGradient : SeriesRole::kValue;
  }

  void level(std::span<const SeriesEntry> entries) {
    while (!entries.empty()) {
      const auto series = first_series(entries);
      entries = after(entries, series.size());
      const RecordRow& record = dump_.rows()[series.front().row];
      if (static_cast<Phase>(record.phase) != Phase::kUpdate) levels_.add(role_of(record), step_points(dump_, series));
    }
    levels_.finish();
  }

  // A value that grows from almost nothing explodes only when it is as large as other values. When a training converges, all gradients
  // fall.
  [[nodiscard]] bool stands_out(const Trend& trend, SeriesRole role, std::span<const StepPoint> points) const {
    if (trend.kind == TrendKind::kExploding) {
      const double rms = last_finite_rms(points);
      return std::isnan(rms) || std::log2(rms) >= levels_.usual(role);
    }
    Logarithms relative = logarithms_of(points, trend.measure);
    for (Point& point : relative.points) point.y -= levels_.gradient_change(static_cast<int64_t>(point.x));
    const auto found = last_slope(relative.points, {{}, false, kVanishingProduct});
    return found && found->slope < 0;
  }

  [[nodiscard]] std::optional<Trend> rise_or_fall(SeriesRole role, std::span<const StepPoint> points) const {
    const std::optional<Trend> rise = slope_of(dump_, points, kLeastProducts[static_cast<size_t>(role)]);
    if (rise && rise->kind == TrendKind::kExploding) return stands_out(*rise, role, points) ? rise : std::nullopt;
    if (role != SeriesRole::kGradient) return std::nullopt;
    const std::optional<Trend> fall = slope_of(dump_, points, kVanishingProduct);
    return fall && fall->kind == TrendKind::kVanishing && stands_out(*fall, role, points) ? fall : std::nullopt;
  }

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
  // A parameter that needs no gradient from a step on has the role no more, but it is the same series.
  [[nodiscard]] bool was_parameter(const RecordRow& record) const {
    return roles_.facts().is_parameter(record) || (record.slot_kind == static_cast<uint8_t>(SlotKind::kInput) && record.storage != 0 &&
                                                   parameters_.contains({record.op, record.slot_index, record.storage}));
  }
  [[nodiscard]] bool is_weight(const RecordRow& record) const { return roles_.is_weight(record) || was_parameter(record); }
  // An op's input is judged where its producer wrote it. A view may show memory that nothing was written to yet; written values are judged
  // where they were computed.
  [[nodiscard]] bool is_judged(const RecordRow& record) const {
    if (!is_floating(static_cast<DType>(record.dtype)) || record.numel == 0) return false;
    if (!has_outputs_ || was_parameter(record)) return true;
    return record.slot_kind != static_cast<uint8_t>(SlotKind::kInput) && computes_[record.op];
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
    const bool weight = is_weight(record);
    if (record.numel > 1) add(frozen_of(points, weight && trained_.contains(record)));
    // An optimizer's own numbers grow from 0 and shrink as they should.
    if (static_cast<Phase>(record.phase) == Phase::kUpdate) return;
    if (!weight) add(dead_of(points, roles_.is_gradient(record)));
    if (const std::optional<Trend> slope = rise_or_fall(role_of(record), points)) {
      add(slope);
    } else {
      const auto spike = spike_of(points, Measure::kAbsMax);
      add(spike ? spike : spike_of(points, Measure::kRms));
    }
  }

  const DumpIndex& dump_;
  const RecordRoles roles_;
  const TrainedWeights trained_;
  SeriesLevels levels_;
  std::vector<bool> computes_;                                 // by op
  std::set<std::tuple<OpId, uint16_t, uint64_t>> parameters_;  // op, number of the input, memory
  bool has_outputs_ = false;
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

std::optional<Trend> slope_of(const DumpIndex& dump, std::span<const StepPoint> points) { return slope_of(dump, points, 0.0); }

TrendReport find_trends(const DumpIndex& dump, uint64_t last) { return Trends(dump).find(last); }

}  // namespace tensortap
