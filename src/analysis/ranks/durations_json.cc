// How long ranks take, as JSON.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "find/robust_line.h"
#include "ranks/rank_durations.h"
#include "ranks/rank_paces.h"
#include "ranks/ranks_json.h"

namespace tensortap {

Json RankDurations::report(size_t limit) const {
  const auto ranks = static_cast<uint32_t>(job_.ranks().size());
  std::vector<Slowest> slowest;
  std::vector<double> own_time(ranks);
  std::vector<double> usual_time(ranks);
  std::vector<uint64_t> slowest_in(ranks);
  for (uint32_t op = 0; op < job_.ops().size(); ++op) {
    std::vector<double> means;
    Slowest one{op, 0, -1, 0, 0};
    for (uint32_t place = 0; place < ranks; ++place) {
      if (sum(place, op).executions == 0) continue;
      means.push_back(sum(place, op).mean());
      if (means.back() > one.mean) {
        one.mean = means.back();
        one.place = place;
      }
    }
    if (means.size() < 2) continue;
    one.median = median_of(means);
    one.excess = (one.mean - one.median) * static_cast<double>(sum(one.place, op).executions);
    slowest.push_back(one);
    ++slowest_in[one.place];
    for (uint32_t place = 0; place < ranks; ++place) {
      if (sum(place, op).executions == 0) continue;
      own_time[place] += sum(place, op).nanoseconds;
      usual_time[place] += one.median * static_cast<double>(sum(place, op).executions);
    }
  }
  Json all = Json::array();
  for (uint32_t place = 0; place < ranks; ++place) {
    if (usual_time[place] <= 0) continue;
    const double ratio = own_time[place] / usual_time[place];
    all.push_back({{"rank", job_.ranks()[place].rank}, {"slowest_in", slowest_in[place]}, {"ratio", json_number(ratio)}});
  }
  std::ranges::stable_sort(slowest, [](const Slowest& a, const Slowest& b) { return a.excess > b.excess; });
  Json spread = Json::array();
  for (const Slowest& one : slowest) {
    if (spread.size() == limit) break;
    Json json = job_op_json(job_, one.job_op);
    json["rank"] = job_.ranks()[one.place].rank;
    json["mean_ns"] = json_number(one.mean);
    json["median_ns"] = json_number(one.median);
    json["ratio"] = one.median > 0 ? json_number(one.mean / one.median) : Json(nullptr);
    spread.push_back(std::move(json));
  }
  return {{"ops", slowest.size()}, {"ranks", std::move(all)}, {"spread", std::move(spread)}};
}

Json RankPaces::report() const {
  Json slow = Json::array();
  for (const Slow& one : slow_ranks()) {
    Json json = {{"rank", job_.ranks()[one.place].rank}, {"ratio", json_number(one.ratio)}, {"excess_ns", json_number(one.excess)}};
    json["since"] = one.part == &Timeline::later ? Json(job_.steps()[middle_step()]) : Json();
    json["where"] = nullptr;
    if (const auto loss = largest_loss(one)) {
      Json where = {{"before", loss->before}, {"own_ns", json_number(loss->own)}, {"others_ns", json_number(loss->others)}};
      where.update(job_op_json(job_, loss->job_op));
      json["where"] = std::move(where);
    }
    slow.push_back(std::move(json));
  }
  Json ranks = Json::array();
  for (size_t place = 0; place < timelines_.size(); ++place) {
    const Timeline& line = timelines_[place];
    if (line.executions == 0) continue;
    ranks.push_back({{"rank", job_.ranks()[place].rank},
                     {"usual_ns", json_number(line.always.sum)},
                     {"own_ns", json_number(line.own)},
                     {"waiting_ns", json_number(line.waiting)}});
  }
  size_t count = 0;
  for (const Times& own : units()) count = std::max(count, own.size());
  return {{"unit", by_steps() ? "step" : "eighth of the collectives"},
          {"units", count},
          {"slow", std::move(slow)},
          {"ranks", std::move(ranks)}};
}

}  // namespace tensortap
