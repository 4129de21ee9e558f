#include "ranks/job_paths.h"

#include <algorithm>
#include <iterator>

#include "tensor/dtype.h"

namespace tensortap {
namespace {

constexpr size_t kMostKept = 10000;  // executions that some ranks lack

}  // namespace

JobPaths::JobPaths(const JobCells& cells) : cells_(cells), ranks_of_ops_(cells.job().ranks_of_ops()) {
  knows_sources_ = std::ranges::any_of(cells.job().ops(), &JobOps::Op::has_source);
  stages_ = std::ranges::any_of(cells.job().ops(), [](const JobOps::Op& op) { return is_between_two(op.type); });
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

bool JobPaths::is_of_program(uint32_t job_op) const {
  const JobOps::Op& op = cells_.job().ops()[job_op];
  return !knows_sources_ || op.has_source || !op.module.empty();
}

// An asynchronous collective reports its outputs when it is complete: in the last step, perhaps after the capture.
bool JobPaths::ends_with_it(uint32_t place) const {
  const std::vector<int64_t>& steps = cells_.job().ranks()[place].steps;
  return steps.back() == cells_.job().steps()[execution_.step] && is_collective(cells_.job().ops()[execution_.job_op].type);
}

// Whether the rank died, or was ended, in a step before this one, or left no records. That is reported separately.
bool JobPaths::is_cut_before(uint32_t place, uint32_t step) const {
  const RankOfJob& rank = cells_.job().ranks()[place];
  if (rank.steps.empty()) return true;
  return is_cut(rank.end.how) && cells_.job().step_place(rank.steps.back()) < step;
}

void JobPaths::close_execution() {
  if (present_.empty()) return;
  if (!is_of_program(execution_.job_op)) return present_.clear();
  Habit& habit = habits_[{execution_.job_op, execution_.call}];
  ++habit.steps;
  Lacking lacking{execution_, {}, {present_.begin(), present_.end()}};
  for (uint32_t place = 0; place < steps_of_.size(); ++place) {
    if (ranks_of_ops_[execution_.job_op][place] && steps_of_[place][execution_.step] && !present_.contains(place) && !ends_with_it(place) &&
        !is_cut_before(place, execution_.step + 1)) {
      lacking.places.push_back(place);
    }
  }
  present_.clear();
  if (lacking.places.empty()) return;
  habit.lacking.resize(steps_of_.size());
  for (const uint32_t place : lacking.places) ++habit.lacking[place];
  if (lacking_.size() < kMostKept) lacking_.push_back(std::move(lacking));
}

void JobPaths::finish() {
  close_execution();
  judge_executions();
}

// Ops that every rank that has them lacks equally often: each has all of them, but not in the same steps, as threads of a library do.
std::set<uint32_t> JobPaths::evenly_lacking() const {
  std::map<uint32_t, std::vector<uint64_t>> by_op;
  for (const auto& [execution, habit] : habits_) {
    if (habit.lacking.empty()) continue;
    std::vector<uint64_t>& counts = by_op[execution.first];
    counts.resize(steps_of_.size());
    for (size_t place = 0; place < counts.size(); ++place) counts[place] += habit.lacking[place];
  }
  std::set<uint32_t> even;
  for (const auto& [op, counts] : by_op) {
    std::set<uint64_t> different;
    for (size_t place = 0; place < counts.size(); ++place) {
      if (ranks_of_ops_[op][place]) different.insert(counts[place]);
    }
    if (different.size() == 1) even.insert(op);
  }
  return even;
}

// Leaves those ranks that usually have what they lack here. Where none does, and few ranks have it at all, all others lack it.
void JobPaths::judge(Lacking& lacking) const {
  const Habit& habit = habits_.at({lacking.key.job_op, lacking.key.call});
  const bool only_step = cells_.job().steps().size() == 1 && !stages_ && lacking.others.size() > lacking.places.size();
  const auto usual = [&](uint32_t place) { return only_step || has_most(habit.steps - habit.lacking[place], habit.steps); };
  std::vector<uint32_t> usually;
  std::ranges::copy_if(lacking.places, std::back_inserter(usually), usual);
  const bool rare = habit.steps * 2 < cells_.job().steps().size() && lacking.key.step > 0;
  const bool extra = rare && lacking.others.size() < lacking.places.size();
  if (!extra) lacking.places = std::move(usually);
}

void JobPaths::judge_executions() {
  const std::set<uint32_t> even = evenly_lacking();
  for (Lacking& lacking : lacking_) {
    even.contains(lacking.key.job_op) ? lacking.places.clear() : judge(lacking);
  }
  std::erase_if(lacking_, [](const Lacking& one) { return one.places.empty(); });
  executions_ = lacking_.size();
}

// Empty where not only the types differ.
JobPaths::TypeSplit JobPaths::split_by_type(std::span<const RankCell> cells) const {
  std::map<uint8_t, std::vector<uint32_t>> by_type;
  const std::string& dims = cells_.shape(cells.front().shape).dims;
  for (const RankCell& cell : cells) {
    if (cells_.shape(cell.shape).dims != dims) return {};
    by_type[cells_.shape(cell.shape).dtype].push_back(cell.place);
  }
  TypeSplit split(by_type.begin(), by_type.end());
  // Of as many ranks the widest type is the usual one.
  std::ranges::stable_sort(split, [](const auto& a, const auto& b) {
    const auto weight = [](const auto& one) { return std::pair(one.second.size(), dtype_info(static_cast<DType>(one.first)).bits); };
    return weight(a) > weight(b);
  });
  return split;
}

void JobPaths::look_at_shapes(std::span<const RankCell> cells) {
  if (std::ranges::all_of(cells, [&](const RankCell& cell) { return cell.shape == cells.front().shape; })) return;
  const CellKey& key = cells.front().key;
  if (!shape_series_.try_emplace({key.job_op, key.slot}, shapes_.size()).second) return;
  if (const TypeSplit split = split_by_type(cells); !split.empty()) {
    OtherTypes& types = types_[split];
    if (types.tensors++ == 0) types.first = key;
    return;
  }
  std::map<uint32_t, std::vector<uint32_t>> by_shape;
  for (const RankCell& cell : cells) by_shape[cell.shape].push_back(cell.place);
  OtherShapes other{key, {by_shape.begin(), by_shape.end()}, cells.front().role != CellRole::kOther};
  std::ranges::stable_sort(other.shapes, [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  const CellShape& first = cells_.shape(other.shapes.front().first);
  for (const auto& [shape, places] : other.shapes) {
    other.wrong = other.wrong || cells_.shape(shape).dtype != first.dtype || cells_.shape(shape).dims_count != first.dims_count;
  }
  const bool one_alone = other.shapes.size() == 2 && other.shapes[1].second.size() == 1 && cells.size() > 2;
  other.wrong = (other.wrong || one_alone) && !stages_;
  shapes_.push_back(std::move(other));
}

std::vector<uint32_t> JobPaths::lacking_step(uint32_t step) const {
  std::vector<uint32_t> lacking;
  for (uint32_t place = 0; place < steps_of_.size(); ++place) {
    if (!steps_of_[place][step] && !is_cut_before(place, step)) lacking.push_back(place);
  }
  return lacking;
}

bool JobPaths::lacks_any() const {
  if (executions_ > 0) return true;
  for (uint32_t step = 0; step < cells_.job().steps().size(); ++step) {
    if (!lacking_step(step).empty()) return true;
  }
  // Each stage of a pipeline has different ops.
  return !stages_ && std::ranges::any_of(ranks_of_ops_, [](const std::vector<bool>& ranks) {
    const auto having = static_cast<size_t>(std::ranges::count(ranks, true));
    return having < ranks.size() && has_most(having, ranks.size());
  });
}

}  // namespace tensortap
