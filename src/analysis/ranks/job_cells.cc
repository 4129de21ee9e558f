#include "ranks/job_cells.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "find/record_roles.h"
#include "plan/capture_spec.h"
#include "query/slot_placements.h"

namespace tensortap {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

uint64_t mixed_in(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
  return hash ^ (hash >> 29);
}

bool allocates(std::string_view type) { return type.find("empty") != std::string_view::npos || type.starts_with("resize"); }

// Sums differ in their last bits between kinds of processors; extremes and counts do not.
uint64_t content_of(const RecordRow& row) {
  uint64_t hash = mixed_in(row.numel, row.dtype);
  if (row.digest_kind != 0) {
    hash = mixed_in(hash, row.digest_kind);
    for (const uint8_t byte : row.digest) hash = mixed_in(hash, byte);
    return hash | 1U;
  }
  const TensorStats& stats = row.stats;
  if ((stats.valid & kStatL2) == 0) return 0;
  const auto number = [&](Stat bit, double value) {
    if ((stats.valid & bit) != 0) hash = mixed_in(hash, std::bit_cast<uint64_t>(value) ^ bit);
  };
  number(kStatMin, stats.min);
  number(kStatMax, stats.max);
  number(kStatAbsMax, stats.absmax);
  if ((stats.valid & kStatNonFinite) == kStatNonFinite) hash = mixed_in(mixed_in(mixed_in(hash, stats.nan), stats.pos_inf), stats.neg_inf);
  return hash | 1U;
}

bool is_varied(const RecordRow& row) {
  const bool extremes = (row.stats.valid & (kStatMin | kStatMax)) == (kStatMin | kStatMax);
  return row.numel == 1 || !extremes || row.stats.min != row.stats.max;
}

bool is_phase(const RecordRow& row, Phase phase) { return row.phase == static_cast<uint8_t>(phase); }

// Adds all ranks' values, in place. One that goes on while the program runs shows what was there before, or something between.
bool reduces_over_ranks(const OpInfo& op) {
  return is_all_reduce(op.type) && !attribute_is_set(op, "async_op") && !op.type.starts_with("_c10d_functional.");
}

// Whether the op surely showed the sum: calls of torch that say nothing of async_op may have gone on.
bool shows_sum(const OpInfo& op) { return reduces_over_ranks(op) && (!op.type.starts_with("c10d") || has_attribute(op, "async_op")); }

// The role of each record of a dump.
class RolesOfDump {
 public:
  explicit RolesOfDump(const OpenRankDump& open) : open_(open) {
    std::unordered_map<uint64_t, int64_t> first_steps;
    const std::span<const RecordRow> rows = open.dump.rows();
    const bool one_step = std::ranges::all_of(rows, [&](const RecordRow& row) { return row.step == rows.front().step; });
    for (const RecordRow& row : rows) {
      has_outputs_ = has_outputs_ || !is_input(row);
      if (row.storage == 0 || !open.roles.is_weight(row)) continue;
      // An op may read parameters at a slot only in some of its calls. In other calls, the memory at that slot is gone after the step.
      const int64_t first = first_steps.try_emplace(row.storage, row.step).first->second;
      if (one_step || first != row.step) weights_.insert(row.storage);
    }
    for (const OpInfo& op : open.dump.ops()) {
      reduces_.push_back(reduces_over_ranks(op));
      sums_.push_back(shows_sum(op));
      shards_.push_back(reads_shards(op));
    }
  }
  [[nodiscard]] CellRole role_of(const RecordRow& row) const {
    if (!is_floating(static_cast<DType>(row.dtype)) || row.numel == 0) return CellRole::kOther;
    if (open_.roles.is_weight(row) && (row.storage == 0 || weights_.contains(row.storage))) return CellRole::kWeight;
    const bool update = is_phase(row, Phase::kUpdate);
    if (update && weights_.contains(row.storage)) return CellRole::kWeight;
    if (update) return is_input(row) ? CellRole::kGradient : CellRole::kState;
    const bool reduced = !is_input(row) && row.op < reduces_.size() && reduces_[row.op];
    return reduced || row.slot_kind == static_cast<uint8_t>(SlotKind::kGradient) ? CellRole::kGradient : CellRole::kOther;
  }
  // An op's input is compared where its producer wrote it.
  [[nodiscard]] bool is_wanted(const RecordRow& row, CellRole role) const {
    return !is_input(row) || role != CellRole::kOther || !has_outputs_;
  }

  [[nodiscard]] bool is_sum(const RecordRow& row) const { return !is_input(row) && row.op < sums_.size() && sums_[row.op]; }
  [[nodiscard]] bool is_shard(const RecordRow& row) const { return row.op < shards_.size() && shards_[row.op]; }
  [[nodiscard]] bool has_outputs() const { return has_outputs_; }

 private:
  const OpenRankDump& open_;
  std::unordered_set<uint64_t> weights_;  // blocks of memory that weights are in
  std::vector<bool> reduces_;
  std::vector<bool> sums_;
  std::vector<bool> shards_;
  bool has_outputs_ = false;
};

}  // namespace

std::string_view role_name(CellRole role) {
  constexpr std::string_view kNames[] = {"value", "weight", "gradient", "optimizer state"};
  return kNames[static_cast<size_t>(role)];
}

uint32_t CellNumbers::slot_of(const RecordRow& row) {
  const uint64_t bits = uint64_t{row.slot_kind} << 32 | uint64_t{row.moment} << 24 | uint64_t{row.phase} << 16 | row.slot_index;
  return number_of_slot({{bits, row.element}, {static_cast<SlotKind>(row.slot_kind), row.slot_index, row.element}});
}

uint32_t CellNumbers::number_of_slot(const Slot& slot) {
  const auto [found, is_new] = slot_numbers_.try_emplace(slot.key, static_cast<uint32_t>(slots_.size()));
  if (is_new) slots_.push_back(slot);
  return found->second;
}

uint32_t CellNumbers::shape_of(const RecordRow& row) {
  const TensorDesc desc = row.desc();
  if (row.op >= last_.size()) last_.resize(size_t{row.op} + 1);
  LastOfOp& last = last_[row.op];
  if (last.number != kNowhere && shapes_[last.number].dtype == row.dtype && last.desc.shape == desc.shape) return last.number;
  std::string dims;
  for (const int64_t dimension : desc.shape.dims()) dims += concat(dims.empty() ? "" : "x", dimension);
  last = {desc, number_of_shape({row.dtype, dims, row.dims_count, row.numel})};
  return last.number;
}

uint32_t CellNumbers::number_of_shape(const CellShape& shape) {
  const auto [found, is_new] = shape_numbers_.try_emplace({shape.dtype, shape.dims}, static_cast<uint32_t>(shapes_.size()));
  if (is_new) shapes_.push_back(shape);
  return found->second;
}

Status JobCells::choose(const RowQuery& query) {
  of_ops_ = {.op = query.op, .type = query.type, .module = query.module};
  StepSet asked = StepSet::all();
  if (!query.step.empty()) {
    auto steps = StepSet::parse(query.step);
    if (!steps.ok()) return steps.status().with_context("step");
    asked = *std::move(steps);
  }
  const auto all = job_.steps();
  steps_.assign(all.size(), false);
  uint64_t left = query.last == 0 ? all.size() : query.last;
  for (size_t i = all.size(); i-- > 0 && left > 0;) {
    if (!asked.contains(all[i])) continue;
    steps_[i] = true;
    --left;
  }
  return {};
}

DumpCells JobCells::read(const OpenRankDump& open, uint32_t first, uint32_t last) const {
  DumpCells read;
  // The query was checked before.
  const auto filter = RowFilter::make(of_ops_, open.dump);
  if (!filter.ok()) return read;
  const RolesOfDump roles(open);
  for (const RecordRow& row : open.dump.rows()) {
    const uint32_t step = job_.step_place(row.step);
    const uint32_t place = open.place_of(row);
    const uint32_t job_op = open.job_op_of(row);
    if (step < first || step >= last || place == kNowhere || job_op == kNoOp) continue;
    if ((!steps_.empty() && !steps_[step]) || !filter->keeps(row)) continue;
    // Memory that an op allocated says nothing; a view of memory that is written later says that its op ran.
    const bool is_unwritten = (row.flags & kRecordUnwritten) != 0;
    if (is_unwritten && allocates(job_.ops()[job_op].type)) continue;
    const CellRole role = roles.role_of(row);
    if (!roles.is_wanted(row, role)) continue;
    const bool has_l2 = is_floating(static_cast<DType>(row.dtype)) && (row.stats.valid & kStatL2) != 0 && std::isfinite(row.stats.l2);
    read.cells.push_back({{step, job_op, row.call, read.numbers.slot_of(row)},
                          place,
                          0,
                          read.numbers.shape_of(row),
                          has_l2 ? row.stats.l2 : kUnknown,
                          content_of(row),
                          role,
                          row.digest_kind != 0,
                          is_varied(row),
                          row.numel == 1,
                          roles.is_shard(row),
                          is_input(row) && roles.has_outputs(),
                          is_phase(row, Phase::kForward) || is_phase(row, Phase::kInference),
                          roles.is_sum(row),
                          !is_unwritten});
  }
  return read;
}

void JobCells::add(DumpCells added) {
  taken_ += added.cells.size();
  std::vector<uint32_t> slots;
  std::vector<uint32_t> shapes;
  for (uint32_t i = 0; i < added.numbers.slots(); ++i) slots.push_back(numbers_.slot_of(added.numbers, i));
  for (uint32_t i = 0; i < added.numbers.shapes(); ++i) shapes.push_back(numbers_.shape_of(added.numbers, i));
  for (RankCell& cell : added.cells) {
    cell.key.slot = slots[cell.key.slot];
    cell.shape = shapes[cell.shape];
  }
  cells_.insert(cells_.end(), added.cells.begin(), added.cells.end());
}

// Of cells that are in order.
void JobCells::count_calls() {
  for (size_t begin = 0; begin < cells_.size();) {
    const CellKey& first = cells_[begin].key;
    size_t end = begin + 1;
    while (end < cells_.size() && cells_[end].key.step == first.step && cells_[end].key.job_op == first.job_op) ++end;
    const uint32_t calls = cells_[end - 1].key.call + 1;
    for (; begin < end; ++begin) cells_[begin].calls = calls;
  }
}

void JobCells::finish() {
  std::ranges::sort(cells_, [](const RankCell& a, const RankCell& b) { return a.key != b.key ? a.key < b.key : a.place < b.place; });
  count_calls();
  const auto alike = [](const RankCell& a, const RankCell& b) { return a.key == b.key && a.place == b.place; };
  cells_.erase(std::unique(cells_.begin(), cells_.end(), alike), cells_.end());
}

void JobCells::each(const std::function<void(std::span<const RankCell>)>& look) const {
  for (size_t begin = 0; begin < cells_.size();) {
    size_t end = begin + 1;
    while (end < cells_.size() && cells_[end].key == cells_[begin].key) ++end;
    look(std::span<const RankCell>(&cells_[begin], end - begin));
    begin = end;
  }
}

}  // namespace tensortap
