#include "ranks/apart_ranks.h"

#include <algorithm>
#include <cmath>

#include "find/robust_line.h"

namespace tensortap {
namespace {

constexpr size_t kLeastRanks = 3;

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
    : job_(job), sums_(job.ranks().size()), streaks_(job.ranks().size() < kLeastRanks ? 0 : job.ranks().size() * job.ops().size()) {}

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
    Sum& sum = sums_[cells[i].place];
    sum.distances += distances[i];
    ++sum.values;
    follow(streaks_[cells[i].place * job_.ops().size() + cells[i].key.job_op], cells[i].key.step, distances[i] > usual);
  }
}

}  // namespace tensortap
