#include "ranks/pair_ranges.h"

#include <algorithm>
#include <cmath>

#include "find/collective_types.h"
#include "ranks/ranks_json.h"

namespace tensortap {

bool PairRanges::Series::is_far() const {
  for (size_t i = 0; i < kRuns.size(); ++i) {
    if (in_row[i] >= kRuns[i].steps) return true;
  }
  return false;
}

void PairRanges::add(std::span<const RankCell> cells) {
  if (job_.ranks().size() != 2 || cells.size() != 2) return;
  const RankCell& one = cells.front();
  const RankCell& other = cells.back();
  if (one.role != CellRole::kOther || one.is_read || one.is_shard || !one.is_forward) return;
  if (one.shape != other.shape || !(one.l2 > 0) || !(other.l2 > 0) || is_collective(job_.ops()[one.key.job_op].type)) return;
  // Equal values, as of weights, say nothing of ranges.
  if (one.content != 0 && one.content == other.content && (one.has_digest || one.l2 == other.l2)) return;
  const double distance = std::log(other.l2 / one.l2);
  Series& series = series_[{one.key.job_op, one.key.call, one.key.slot}];
  ++series.steps;
  if (series.is_second != (distance > 0)) {
    series.in_row = {};
    series.is_second = distance > 0;
  }
  for (size_t i = 0; i < kRuns.size(); ++i) series.in_row[i] = std::abs(distance) >= std::log(kRuns[i].times) ? series.in_row[i] + 1 : 0;
  if (series.in_row.front() < 2) {
    series.since = one.key.step;
    series.sum = 0;
  }
  series.sum += std::abs(distance);
}

size_t PairRanges::judged() const {
  return static_cast<size_t>(std::ranges::count_if(series_, [](const auto& one) { return one.second.steps > 1; }));
}

size_t PairRanges::far() const {
  return static_cast<size_t>(std::ranges::count_if(series_, [](const auto& one) { return one.second.is_far(); }));
}

bool PairRanges::is_apart() const {
  const size_t count = far();
  return count > 0 && count * kShare >= judged();
}

Json PairRanges::report() const {
  if (job_.ranks().size() != 2) return nullptr;
  Json json = {{"judged", judged()}, {"far", far()}, {"apart", is_apart()}, {"times", nullptr}, {"larger", nullptr}, {"since", nullptr}};
  const std::pair<const std::tuple<uint32_t, uint32_t, uint32_t>, Series>* first = nullptr;
  for (const auto& one : series_) {
    if (one.second.is_far() && (first == nullptr || one.second.since < first->second.since)) first = &one;
  }
  if (first == nullptr) return json;
  const Series& series = first->second;
  json["times"] = json_number(std::exp(series.sum / series.in_row.front()));
  json["larger"] = job_.ranks()[series.is_second ? 1 : 0].rank;
  json["since"] = {{"step", job_.steps()[series.since]}};
  json["since"].update(job_op_json(job_, std::get<0>(first->first)));
  return json;
}

}  // namespace tensortap
