// What the questions found, as JSON; durations_json.cc has what they found of times.

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/json.h"
#include "find/find_json.h"
#include "find/first_cause.h"
#include "find/nonfinite_origins.h"
#include "find/robust_line.h"
#include "ranks/apart_ranks.h"
#include "ranks/first_of_ranks.h"
#include "ranks/gradient_norms.h"
#include "ranks/job_paths.h"
#include "ranks/job_trends.h"
#include "ranks/ranks_json.h"
#include "ranks/replica_check.h"
#include "tensor/dtype.h"

namespace tensortap {
namespace {

constexpr size_t kMostOriginsOfRank = 1000;  // that are looked through for one that is not intended

const NonFiniteOrigin* origin_at(const NonFiniteFindings& found, size_t row) {
  if (found.seen && found.seen->chain.back().row == row) return &*found.seen;
  const auto origin = std::ranges::find_if(found.origins, [row](const NonFiniteOrigin& one) { return one.chain.back().row == row; });
  return origin == found.origins.end() ? nullptr : &*origin;
}

std::vector<uint32_t> places_with(const std::vector<bool>& flags, bool wanted) {
  std::vector<uint32_t> places;
  for (uint32_t place = 0; place < flags.size(); ++place) {
    if (flags[place] == wanted) places.push_back(place);
  }
  return places;
}

}  // namespace

Json FirstOfRanks::report(RankJob& job) const {
  std::vector<uint32_t> order(firsts_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::erase_if(order, [this](uint32_t rank) { return firsts_[rank].place.step == kNowhere; });
  std::ranges::stable_sort(order, {}, [this](uint32_t rank) { return firsts_[rank].place; });
  Json first;
  Place best;
  std::vector<size_t> seen;
  for (const uint32_t rank : order) {
    // The record that a rank has to fix never comes before its first one.
    if (!first.is_null() && firsts_[rank].place >= best) break;
    if (std::ranges::find(seen, firsts_[rank].dump) != seen.end()) continue;
    seen.push_back(firsts_[rank].dump);
    job.visit_one(firsts_[rank].dump, [&](const OpenRankDump& open, size_t) {
      const NonFiniteFindings found = find_nonfinite(open.dump, kMostOriginsOfRank);
      const auto record = first_cause(open.dump, first_nonfinite(open.dump, false), found);
      if (!record || lacks_name(open.dump, open.dump.rows()[record->row])) return;
      const RecordRow& row = open.dump.rows()[record->row];
      Place place = place_of(open, row);
      const NonFiniteOrigin* origin = origin_at(found, record->row);
      place.source = value_source(op_of(open.dump, row).type, origin == nullptr ? "" : origin_kind_name(origin->kind));
      const uint32_t own = open.place_of(row);
      if (place >= best || own == kNowhere) return;
      best = place;
      first = nonfinite_json(open.dump, *record);
      first["record"] = record_name(row, op_of(open.dump, row).name);
      first["rank"] = job_.ranks()[own].rank;
      first["origin"] = origin == nullptr ? Json() : origin_json(open.dump, *origin);
    });
  }
  Json ranks = Json::array();
  for (const uint32_t rank : order) {
    const auto& [place, dump] = firsts_[rank];
    Json json = {{"rank", job_.ranks()[rank].rank}, {"step", job_.steps()[place.step]}};
    if (place.job_op != kNoOp) json.update(job_op_json(job_, place.job_op));
    ranks.push_back(std::move(json));
    if (!first.is_null() && ((place.step == best.step && place.job_op == best.job_op) || job_.ranks()[rank].rank == first["rank"]))
      first["ranks"].push_back(job_.ranks()[rank].rank);
  }
  return {{"first", std::move(first)}, {"ranks", std::move(ranks)}};
}

Json ApartRanks::rank_json(uint32_t place) const {
  std::tuple first(kNowhere, kNowhere);
  uint64_t far_ops = 0;
  for (uint32_t op = 0; op < job_.ops().size(); ++op) {
    const Streak& streak = streaks_[place * job_.ops().size() + op];
    if (streak.last_far == kNowhere || streak.last_far != streak.last) continue;
    ++far_ops;
    first = std::min(first, std::tuple(streak.since, op));
  }
  Json since;
  if (far_ops > 0) {
    since = {{"step", job_.steps()[std::get<0>(first)]}};
    since.update(job_op_json(job_, std::get<1>(first)));
  }
  return {{"rank", job_.ranks()[place].rank}, {"distance", json_number(sum_of(place).mean())}, {"since", since}, {"far_ops", far_ops}};
}

Json ApartRanks::report() const {
  Json distances = Json::array();
  std::vector<double> means;
  std::vector<Sum> sums;
  for (uint32_t place = 0; place < job_.ranks().size(); ++place) {
    sums.push_back(sum_of(place));
    if (sums.back().values == 0) continue;
    means.push_back(sums.back().mean());
    distances.push_back({{"rank", job_.ranks()[place].rank}, {"distance", json_number(means.back())}});
  }
  Json apart = Json::array();
  const double usual = means.empty() ? 0 : median_of(means);
  std::vector<double> spread;
  for (const double mean : means) spread.push_back(std::abs(mean - usual));
  const double least = means.empty() ? 0 : std::max({kFarMean * usual, usual + kFar * median_of(spread), kLeastDistance});
  std::vector<uint32_t> places;
  for (uint32_t place = 0; place < sums.size(); ++place) {
    if (sums[place].values > 0 && sums[place].mean() > least && lasts(place)) places.push_back(place);
  }
  std::ranges::stable_sort(places, [&sums](uint32_t a, uint32_t b) { return sums[a].mean() > sums[b].mean(); });
  for (const uint32_t place : places) apart.push_back(rank_json(place));
  return {{"judged", judged_}, {"usual", json_number(usual)}, {"ranks", apart}, {"distances", distances}};
}

Json GradientNorms::report(size_t limit) const {
  if (norms_.empty()) return nullptr;
  std::map<uint32_t, std::map<uint32_t, double>> by_step;
  std::vector<std::pair<double, uint32_t>> squares(names_.size());
  double all = 0;
  for (const auto& [key, norms] : norms_) {
    const double norm = median_of(norms);
    by_step[key.first][key.second] = norm;
    squares[key.second].first -= norm * norm;
    all += norm * norm;
  }
  for (uint32_t number = 0; number < squares.size(); ++number) squares[number].second = number;
  std::ranges::sort(squares);
  Json steps = Json::array();
  Json global = Json::array();
  for (const auto& [step, layers] : by_step) {
    double sum = 0;
    for (const auto& [number, norm] : layers) sum += norm * norm;
    steps.push_back(job_.steps()[step]);
    global.push_back(json_number(std::sqrt(sum)));
  }
  Json layers = Json::array();
  uint64_t count = 0;
  for (const auto& [negative, number] : squares) {
    Json norms = Json::array();
    bool is_there = false;
    for (const auto& [step, of_step] : by_step) {
      const auto norm = of_step.find(number);
      is_there = is_there || norm != of_step.end();
      norms.push_back(norm == of_step.end() ? Json(nullptr) : json_number(norm->second));
    }
    if (!is_there) continue;
    if (count++ < limit) {
      const double share = all > 0 ? -negative / all : 0;
      layers.push_back({{"layer", text_or_null(names_[number])}, {"share", json_number(share)}, {"norms", std::move(norms)}});
    }
  }
  return {{"steps", std::move(steps)}, {"global", std::move(global)}, {"layer_count", count}, {"layers", std::move(layers)}};
}

Json JobPaths::op_groups() const {
  std::map<std::vector<bool>, std::vector<uint32_t>> groups;
  for (uint32_t op = 0; op < ranks_of_ops_.size(); ++op) {
    if (!std::ranges::all_of(ranks_of_ops_[op], [](bool has) { return has; })) groups[ranks_of_ops_[op]].push_back(op);
  }
  std::vector<std::pair<std::vector<uint32_t>, std::vector<bool>>> ordered;
  for (const auto& [ranks, ops] : groups) ordered.emplace_back(ops, ranks);
  std::ranges::sort(ordered);
  Json list = Json::array();
  for (const auto& [ops, ranks] : ordered) {
    const std::vector<uint32_t> having = places_with(ranks, true);
    list.push_back({{"ops", ops.size()},
                    {"first", job_op_json(cells_.job(), ops.front())},
                    {"ranks", ranks_at(cells_.job(), having)},
                    {"lacking", ranks_at(cells_.job(), places_with(ranks, false))},
                    {"most", has_most(having.size(), ranks.size())}});
  }
  return list;
}

Json JobPaths::step_gaps() const {
  const RankJob& job = cells_.job();
  Json gaps = Json::array();
  std::vector<uint32_t> before;
  for (uint32_t step = 0; step < job.steps().size(); ++step) {
    std::vector<uint32_t> lacking = lacking_step(step);
    if (!lacking.empty() && lacking == before) {
      gaps.back()["last"] = job.steps()[step];
      gaps.back()["steps"] = gaps.back()["steps"].get<uint64_t>() + 1;
    } else if (!lacking.empty()) {
      gaps.push_back({{"first", job.steps()[step]}, {"last", job.steps()[step]}, {"steps", 1U}, {"lacking", ranks_at(job, lacking)}});
    }
    before = std::move(lacking);
  }
  return gaps;
}

Json JobPaths::missing_report(size_t limit) const {
  Json executions = Json::array();
  for (const Lacking& one : lacking_) {
    if (executions.size() == limit) break;
    Json json = {{"step", cells_.job().steps()[one.key.step]}};
    json.update(job_op_json(cells_.job(), one.key.job_op));
    json["call"] = one.key.call;
    json["lacking"] = ranks_at(cells_.job(), one.places);
    json["others"] = ranks_at(cells_.job(), one.others);
    executions.push_back(std::move(json));
  }
  return {{"ops", op_groups()},
          {"stages", stages_},
          {"steps", step_gaps()},
          {"lacking_executions", executions_},
          {"executions", std::move(executions)}};
}

Json JobPaths::shapes_report(size_t limit) const {
  Json list = Json::array();
  uint64_t wrong = 0;
  // The wrong ones first.
  for (const bool wanted : {true, false}) {
    for (const OtherShapes& one : shapes_) {
      if (one.wrong != wanted) continue;
      wrong += one.wrong ? 1 : 0;
      if (list.size() >= limit) continue;
      Json json = cell_json(cells_, one.key);
      json["wrong"] = one.wrong;
      for (const auto& [shape, places] : one.shapes) {
        const CellShape& named = cells_.shape(shape);
        json["shapes"].push_back({{"dtype", std::string(dtype_name(static_cast<DType>(named.dtype)))},
                                  {"shape", named.dims},
                                  {"ranks", ranks_at(cells_.job(), places)}});
      }
      list.push_back(std::move(json));
    }
  }
  std::vector<const decltype(types_)::value_type*> by_count;
  for (const auto& one : types_) by_count.push_back(&one);
  std::ranges::stable_sort(by_count, {}, [](const auto* one) { return -static_cast<int64_t>(one->second.tensors); });
  Json types = Json::array();
  for (const auto* one : by_count) {
    Json json = {{"tensors", one->second.tensors}, {"first", cell_json(cells_, one->second.first)}, {"dtypes", Json::array()}};
    for (const auto& [dtype, places] : one->first) {
      const auto name = std::string(dtype_name(static_cast<DType>(dtype)));
      json["dtypes"].push_back({{"dtype", name}, {"ranks", ranks_at(cells_.job(), places)}});
    }
    types.push_back(std::move(json));
  }
  return {{"types", std::move(types)}, {"tensors", shapes_.size()}, {"wrong", wrong}, {"shapes", std::move(list)}};
}

Json JobTrends::trend_json(uint32_t job_op, const RanksTrend& one) const {
  const Trend& trend = one.trend;
  Json json = {{"kind", std::string(trend_name(trend.kind))}, {"measure", std::string(measure_name(trend.measure))}};
  json["record"] = record_name(one.row, job_.ops()[job_op].name);
  json.update(job_op_json(job_, job_op));
  json["slot"] = slot_name(static_cast<SlotKind>(one.row.slot_kind), one.row.slot_index);
  json["since"] = trend.since;
  json["step"] = trend.step;
  json["slope"] = trend.slope != 0 ? json_number(trend.slope) : Json(nullptr);
  json["from"] = trend.measure == Measure::kContent ? Json(nullptr) : json_number(trend.from);
  json["to"] = trend.measure == Measure::kContent ? Json(nullptr) : json_number(trend.to);
  json["ranks"] = ranks_at(job_, {one.places.begin(), one.places.end()});
  return json;
}

Json JobTrends::report(size_t limit) const {
  std::vector<size_t> having;
  for (const auto& ranks : job_.ranks_of_ops()) having.push_back(static_cast<size_t>(std::ranges::count(ranks, true)));
  std::map<std::string, std::vector<const decltype(trends_)::value_type*>> sorts;
  for (const auto& one : trends_) {
    const size_t ranks = one.second.places.size();
    const bool all = ranks > 1 && ranks >= having[std::get<1>(one.first)];
    sorts[all ? "in_all" : ranks == 1 ? "in_one" : "in_some"].push_back(&one);
  }
  Json json = {{"judged", judged_}};
  for (const char* sort : {"in_all", "in_one", "in_some"}) {
    auto& trends = sorts[sort];
    std::ranges::stable_sort(trends, [](const auto* a, const auto* b) {
      return std::pair(std::get<0>(a->first), -a->second.trend.evidence) < std::pair(std::get<0>(b->first), -b->second.trend.evidence);
    });
    Json list = Json::array();
    for (const auto* one : trends) {
      if (list.size() == limit) break;
      list.push_back(trend_json(std::get<1>(one->first), one->second));
    }
    json[sort] = {{"count", trends.size()}, {"trends", std::move(list)}};
  }
  return json;
}

Json ReplicaCheck::report(size_t limit) const {
  const RankJob& job = cells_.job();
  Json groups = Json::array();
  for (const RankGroup& group : groups_) groups.push_back({{"name", text_or_null(group.name)}, {"ranks", group.ranks}});
  Json unequal = Json::array();
  for (const Unequal& one : unequal_) {
    if (unequal.size() == limit) break;
    Json json = cell_json(cells_, one.key);
    json["role"] = std::string(role_name(one.role));
    json["ranks"] = ranks_at(job, one.ranks);
    json["others"] = ranks_at(job, one.others);
    json["undecided"] = one.undecided;
    unequal.push_back(std::move(json));
  }
  Json ranks = Json::array();
  for (const auto& [rank, tensors] : tensors_) ranks.push_back({{"rank", rank}, {"tensors", tensors}});
  const auto never =
      static_cast<uint64_t>(std::ranges::count_if(series_, [](const auto& one) { return one.second.never && !one.second.said; }));
  return {{"groups", groups},     {"given", given_},    {"compared", series_.size()},
          {"never_equal", never}, {"unequal", unequal}, {"unequal_tensors", unequal_.size()},
          {"ranks", ranks}};
}

}  // namespace tensortap
