#include "ranks/apart_ranks.h"

#include <algorithm>
#include <cmath>

#include "find/robust_line.h"

namespace tensortap {
namespace {

constexpr size_t kLeastRanks = 3;

// How many times the median step of the other ranks so many steps in a row have to be. Between ranks that compute the same of batches of
// their own, the logarithm of a step's distance spreads by about 1.2.
struct Run {
  size_t steps;
  double times;
};
constexpr Run kRuns[] = {{1, 50}, {2, 20}, {3, 6}, {8, 3}};

size_t longest_run(std::span<const double> values, double above) {
  size_t longest = 0;
  size_t now = 0;
  for (const double value : values) {
    now = value > above ? now + 1 : 0;
    longest = std::max(longest, now);
  }
  return longest;
}

}  // namespace

std::vector<double> distances_from_median(std::span<const RankCell> cells) {
  if (cells.size() < kLeastRanks || cells.front().is_read) return {};
  std::vector<double> norms;
  for (const RankCell& cell : cells) {
    if (cell.shape != cells.front().shape || !(cell.l2 > 0)) return {};
    norms.push_back(cell.l2);
  }
  const double middle = median_of(norms);
  for (double& norm : norms) norm = std::abs(std::log(norm / middle));
  return norms;
}

ApartRanks::ApartRanks(const RankJob& job)
    : job_(job),
      sums_(job.ranks().size() * job.steps().size()),
      streaks_(job.ranks().size() < kLeastRanks ? 0 : job.ranks().size() * job.ops().size()) {}

std::span<const ApartRanks::Sum> ApartRanks::steps_of(uint32_t place) const {
  const size_t steps = job_.steps().size();
  return std::span(sums_).subspan(place * steps, steps);
}

ApartRanks::Sum ApartRanks::sum_of(uint32_t place) const {
  Sum all;
  for (const Sum& step : steps_of(place)) {
    all.distances += step.distances;
    all.values += step.values;
  }
  return all;
}

void ApartRanks::follow(Streak& streak, uint32_t step, bool far) {
  if (streak.last != step) {
    streak.previous = streak.last;
    streak.last = step;
  }
  if (!far || streak.last_far == step) return;
  if (streak.last_far == kNowhere || streak.last_far != streak.previous) streak.since = step;
  streak.last_far = step;
}

void ApartRanks::add(std::span<const RankCell> cells, std::span<const double> distances) {
  if (distances.empty()) return;
  const double usual = std::max(kFar * median_of({distances.begin(), distances.end()}), kLeastDistance);
  ++judged_;
  for (size_t i = 0; i < distances.size(); ++i) {
    Sum& sum = sums_[cells[i].place * job_.steps().size() + cells[i].key.step];
    sum.distances += distances[i];
    ++sum.values;
    follow(streaks_[cells[i].place * job_.ops().size() + cells[i].key.job_op], cells[i].key.step, distances[i] > usual);
  }
}

bool ApartRanks::lasts(uint32_t place) const {
  std::vector<double> others;
  std::vector<double> own;
  for (uint32_t one = 0; one < job_.ranks().size(); ++one) {
    for (const Sum& sum : steps_of(one)) {
      if (sum.values > 0) (one == place ? own : others).push_back(sum.mean());
    }
  }
  if (others.empty()) return false;
  const double usual = std::max(median_of(std::move(others)), kLeastDistance);
  return std::ranges::any_of(kRuns, [&](const Run& run) { return longest_run(own, run.times * usual) >= run.steps; });
}

}  // namespace tensortap
