#include "ranks/replica_check.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace tensortap {
namespace {

constexpr double kSameNorm = 1e-12;      // relative: what the order of a sum may change
constexpr uint64_t kMany = 16;           // signs of fewer elements, as some optimizers add them, may be equal by chance
constexpr uint32_t kNew = 0xffffffffU;   // in place of a class: not seen yet
constexpr uint32_t kLeft = 0xfffffffeU;  // no longer equal to its class, which is said once

bool holds_the_same(const RankCell& a, const RankCell& b) {
  if (a.shape != b.shape || a.content != b.content || a.has_digest != b.has_digest) return false;
  if (a.has_digest || (std::isnan(a.l2) && std::isnan(b.l2))) return true;
  return std::abs(a.l2 - b.l2) <= kSameNorm * std::max(a.l2, b.l2);
}

// The members by what they hold, those that most hold first.
std::vector<std::vector<const RankCell*>> by_content(const std::vector<const RankCell*>& members) {
  std::vector<std::vector<const RankCell*>> contents;
  for (const RankCell* member : members) {
    const auto found = std::ranges::find_if(contents, [&](const auto& content) { return holds_the_same(*content.front(), *member); });
    found == contents.end() ? contents.push_back({member}) : found->push_back(member);
  }
  std::ranges::stable_sort(contents, [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return contents;
}

// The groups that a job names, those that lie within another one left out: whether it is they that share is seen from what they hold.
std::vector<RankGroup> groups_of_job(const RankJob& job) {
  std::vector<RankGroup> groups;
  const auto& named = job.process_groups();
  for (const auto& group : named) {
    const bool inner =
        std::ranges::any_of(named, [&](const auto& other) { return other.size() > group.size() && std::ranges::includes(other, group); });
    if (!inner) groups.push_back({"", group});
  }
  if (!groups.empty() || std::ranges::none_of(job.ops(), [](const JobOps::Op& op) { return is_all_reduce(op.type); })) return groups;
  RankGroup& all = groups.emplace_back();
  for (const RankOfJob& rank : job.ranks()) all.ranks.push_back(rank.rank);
  return groups;
}

}  // namespace

ReplicaCheck::ReplicaCheck(const JobCells& cells, std::vector<RankGroup> given)
    : cells_(cells), given_(!given.empty()), groups_(given_ ? std::move(given) : groups_of_job(cells.job())) {
  for (const RankGroup& group : groups_) {
    auto& positions = positions_.emplace_back(cells.job().ranks().size(), kNowhere);
    for (size_t i = 0; i < group.ranks.size(); ++i) {
      const auto place = cells.job().place_of_rank(group.ranks[i]);
      if (place) positions[*place] = static_cast<uint32_t>(i);
    }
  }
}

uint32_t& ReplicaCheck::class_of(uint32_t group, Series& series, const RankCell& cell) const {
  return series.classes[positions_[group][cell.place]];
}

std::vector<uint32_t> ReplicaCheck::places_of(const Members& members) const {
  std::vector<uint32_t> places;
  for (const RankCell* member : members) places.push_back(member->place);
  return places;
}

void ReplicaCheck::add(std::span<const RankCell> cells) {
  if (cells.size() < 2 || cells.front().role == CellRole::kOther) return;
  for (uint32_t group = 0; group < groups_.size(); ++group) take(group, cells);
}

void ReplicaCheck::keep_usual_type(Members& members) const {
  const auto type_of = [this](const RankCell* member) { return cells_.shape(member->shape).dtype; };
  std::map<uint8_t, size_t> counts;
  for (const RankCell* member : members) ++counts[type_of(member)];
  if (counts.size() < 2) return;
  const uint8_t usual = std::ranges::max_element(counts, {}, [](const auto& one) { return one.second; })->first;
  std::erase_if(members, [&](const RankCell* member) { return type_of(member) != usual; });
}

void ReplicaCheck::take(uint32_t group, std::span<const RankCell> cells) {
  Members members;
  for (const RankCell& cell : cells) {
    if (positions_[group][cell.place] != kNowhere && cell.content != 0) members.push_back(&cell);
  }
  keep_usual_type(members);
  if (members.size() < 2) return;
  const CellKey& key = cells.front().key;
  Series& series = series_[{key.job_op, cells.front().calls, key.call, key.slot, group}];
  follow(group, series, members);
  const auto present = std::ranges::count_if(positions_[group], [](uint32_t position) { return position != kNowhere; });
  if (!given_ && present == 2) look_at_pair(series, members);
}

void ReplicaCheck::follow(uint32_t group, Series& series, const Members& members) {
  if (series.never) return;
  if (series.classes.empty()) series.classes.assign(groups_[group].ranks.size(), given_ ? 0 : kNew);
  if (!given_) begin(group, series, members);
  std::map<uint32_t, Members> classes;
  for (const RankCell* member : members) {
    const uint32_t one = class_of(group, series, *member);
    if (one != kNew && one != kLeft) classes[one].push_back(member);
  }
  for (const auto& [one, equal] : classes) {
    if (equal.size() > 1) differ(group, series, by_content(equal));
  }
}

// Puts ranks that are new into the class of those that hold the same.
void ReplicaCheck::begin(uint32_t group, Series& series, const Members& members) {
  const bool all_known = std::ranges::none_of(members, [&](const RankCell* one) { return class_of(group, series, *one) == kNew; });
  // Shards of a tensor of all zeros, or all ones, are also equal at first.
  const bool shards = std::ranges::any_of(members, &RankCell::is_shard);
  if (all_known || std::ranges::none_of(members, [&](const RankCell* one) { return one->varies && !(shards && one->is_single); })) return;
  const bool first = std::ranges::all_of(series.classes, [](uint32_t one) { return one == kNew; });
  const std::vector<Members> contents = by_content(members);
  for (const Members& content : contents) {
    uint32_t known = kNew;
    for (const RankCell* one : content) known = std::min(known, class_of(group, series, *one));
    if (known >= kLeft) known = positions_[group][content.front()->place];
    for (const RankCell* one : content) {
      uint32_t& own = class_of(group, series, *one);
      if (own == kNew) own = known;
    }
  }
  if (!first) return;
  series.never = contents.front().size() == 1;
  if (series.never && members.size() == 2 && members.front()->is_sum && !cells_.job().has_groups_of_one()) {
    series.said = true;
    return differ(group, series, contents);
  }
  if (!shards && contents.size() > 1 && contents.front().size() * 2 > members.size()) differ(group, series, contents);
}

void ReplicaCheck::differ(uint32_t group, Series& series, const std::vector<Members>& contents) {
  if (contents.size() < 2) return;
  Unequal& unequal = unequal_.emplace_back(Unequal{contents.front().front()->key, contents.front().front()->role, {}, {}});
  unequal.others = places_of(contents.front());
  unequal.undecided = contents[1].size() == contents.front().size();
  if (unequal.undecided) {
    for (const uint32_t place : unequal.others) tensors_[cells_.job().ranks()[place].rank] += 1;
  }
  for (size_t i = 1; i < contents.size(); ++i) {
    for (const RankCell* member : contents[i]) {
      class_of(group, series, *member) = kLeft;
      unequal.ranks.push_back(member->place);
      tensors_[cells_.job().ranks()[member->place].rank] += 1;
    }
  }
  std::ranges::sort(unequal.ranks);
}

void ReplicaCheck::look_at_pair(Series& series, const Members& members) {
  const RankCell& one = *members.front();
  const auto execution_of = [](const CellKey& key) { return std::tuple(key.step, key.job_op, key.call); };
  if (execution_of(execution_.key) != execution_of(one.key)) settle_execution();
  execution_.key = one.key;
  const bool same = holds_the_same(one, *members.back());
  if (one.role == CellRole::kWeight && !same && series.never && !series.said && one.shape == members.back()->shape) {
    execution_.unequal.push_back({&series, one.key, one.shape, places_of(members)});
  }
  if (one.role == CellRole::kGradient && same && one.varies && !one.is_shard && cells_.shape(one.shape).numel >= kMany) {
    execution_.gradients.emplace_back(cells_.slot(one.key.slot).element, one.shape);
  }
}

void ReplicaCheck::settle_execution() {
  for (const Execution::Weight& weight : execution_.unequal) {
    const auto is_of = [&](const auto& gradient) {
      return gradient.first == cells_.slot(weight.key.slot).element &&
             cells_.shape(gradient.second).dims == cells_.shape(weight.shape).dims;
    };
    if (std::ranges::none_of(execution_.gradients, is_of)) continue;
    weight.series->said = true;
    unequal_.push_back({weight.key, CellRole::kWeight, {weight.places.back()}, {weight.places.front()}, true});
    for (const uint32_t place : weight.places) tensors_[cells_.job().ranks()[place].rank] += 1;
  }
  execution_ = {};
}

}  // namespace tensortap
