#include "ranks/job_paths.h"

#include <algorithm>

namespace tensortap {
namespace {

constexpr size_t kMostKept = 1000;  // examples

}  // namespace

JobPaths::JobPaths(const JobCells& cells) : cells_(cells), ranks_of_ops_(cells.job().ranks_of_ops()) {
  for (const RankOfJob& rank : cells.job().ranks()) {
    auto& steps = steps_of_.emplace_back(cells.job().steps().size());
    for (const int64_t step : rank.steps) steps[cells.job().step_place(step)] = true;
  }
}

void JobPaths::add(std::span<const RankCell> cells) {
  const CellKey& key = cells.front().key;
  if (key.step != execution_.step || key.job_op != execution_.job_op || key.call != execution_.call) {
    close_execution();
    execution_ = key;
  }
  for (const RankCell& cell : cells) present_.insert(cell.place);
  look_at_shapes(cells);
}

void JobPaths::close_execution() {
  if (present_.empty()) return;
  Lacking lacking{execution_, {}, {present_.begin(), present_.end()}};
  for (uint32_t place = 0; place < steps_of_.size(); ++place) {
    if (ranks_of_ops_[execution_.job_op][place] && steps_of_[place][execution_.step] && !present_.contains(place)) {
      lacking.places.push_back(place);
    }
  }
  present_.clear();
  if (lacking.places.empty()) return;
  ++executions_;
  if (lacking_.size() < kMostKept) lacking_.push_back(std::move(lacking));
}

void JobPaths::finish() { close_execution(); }

void JobPaths::look_at_shapes(std::span<const RankCell> cells) {
  if (std::ranges::all_of(cells, [&](const RankCell& cell) { return cell.shape == cells.front().shape; })) return;
  const CellKey& key = cells.front().key;
  if (!shape_series_.try_emplace({key.job_op, key.slot}, shapes_.size()).second) return;
  std::map<uint32_t, std::vector<uint32_t>> by_shape;
  for (const RankCell& cell : cells) by_shape[cell.shape].push_back(cell.place);
  OtherShapes other{key, {by_shape.begin(), by_shape.end()}, cells.front().role != CellRole::kOther};
  std::ranges::stable_sort(other.shapes, [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  const CellShape& first = cells_.shape(other.shapes.front().first);
  for (const auto& [shape, places] : other.shapes) {
    const CellShape& one = cells_.shape(shape);
    other.wrong = other.wrong || one.dtype != first.dtype || one.dims_count != first.dims_count;
  }
  const bool one_alone = other.shapes.size() == 2 && other.shapes[1].second.size() == 1 && cells.size() > 2;
  other.wrong = other.wrong || one_alone;
  shapes_.push_back(std::move(other));
}

std::vector<uint32_t> JobPaths::lacking_step(uint32_t step) const {
  std::vector<uint32_t> lacking;
  for (uint32_t place = 0; place < steps_of_.size(); ++place) {
    if (!steps_of_[place][step]) lacking.push_back(place);
  }
  return lacking;
}

bool JobPaths::lacks_any() const {
  if (executions_ > 0) return true;
  for (uint32_t step = 0; step < cells_.job().steps().size(); ++step) {
    if (!lacking_step(step).empty()) return true;
  }
  return std::ranges::any_of(ranks_of_ops_, [](const std::vector<bool>& ranks) {
    const auto having = static_cast<size_t>(std::ranges::count(ranks, true));
    return having < ranks.size() && has_most(having, ranks.size());
  });
}

}  // namespace tensortap
