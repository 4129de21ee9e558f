#include "find/watchpoints.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>
#include <unordered_set>

#include "find/nonfinite_counts.h"
#include "find/nonfinite_origins.h"
#include "find/record_roles.h"
#include "find/step_series.h"
#include "find/watch_values.h"
#include "trace/overflowed_ops.h"

namespace tensortap {
namespace {

constexpr uint32_t kNoRow = std::numeric_limits<uint32_t>::max();
constexpr size_t kMostNonFinite = 100000;

// For each row, that of the same call of the same slot in the last step before.
std::vector<uint32_t> previous_rows(const DumpIndex& dump) {
  std::vector<SeriesEntry> entries = series_entries(dump, [](const RecordRow&) { return true; });
  std::ranges::stable_sort(entries, {}, [](const SeriesEntry& one) { return std::tuple(one.op_and_rank, one.slot, one.call, one.step); });
  std::vector<uint32_t> previous(dump.rows().size(), kNoRow);
  for (size_t i = 1; i < entries.size(); ++i) {
    const SeriesEntry& one = entries[i];
    const SeriesEntry& before = entries[i - 1];
    if (!one.in_series_of(before) || one.call != before.call) continue;
    // Several runs may have records of one step.
    previous[one.row] = one.step > before.step ? before.row : previous[before.row];
  }
  return previous;
}

// Rows of ops that the dump itself lists.
std::unordered_set<size_t> listed_overflows(const DumpIndex& dump) {
  std::unordered_set<size_t> rows;
  const std::set<OverflowedOp> ops = overflowed_ops(dump.manifest());
  for (size_t i = 0; !ops.empty() && i < dump.rows().size(); ++i) {
    const RecordRow& row = dump.rows()[i];
    if (ops.contains({op_of(dump, row).name, row.step, row.call, row.rank})) rows.insert(i);
  }
  return rows;
}

class Watch {
 public:
  Watch(const DumpIndex& dump, std::span<const Watchpoint> watchpoints, size_t limit)
      : dump_(dump), roles_(dump), watchpoints_(watchpoints), limit_(limit), answers_(watchpoints.size()) {
    if (std::ranges::any_of(watchpoints, &Watchpoint::needs_previous)) previous_ = previous_rows(dump);
    const auto asks_ops = [](const Watchpoint& one) { return one.condition->rule == WatchRule::kOperatorOverflow; };
    if (std::ranges::none_of(watchpoints, asks_ops)) return;
    overflowed_ = listed_overflows(dump);
    is_listed_ = !overflowed_.empty();
    if (is_listed_) return;
    for (const NonFiniteOrigin& origin : find_nonfinite(dump, kMostNonFinite).origins) {
      if (origin.kind == OriginKind::kOp) overflowed_.insert(origin.chain.back().row);
    }
  }

  void check(uint32_t row) {
    const RecordRow& record = dump_.rows()[row];
    if ((record.flags & kRecordUnwritten) != 0 || record.numel == 0) return;
    WatchValues values(dump_, row);
    for (size_t i = 0; i < watchpoints_.size(); ++i) {
      if (watches(watchpoints_[i], record)) check(watchpoints_[i], answers_[i], row, values);
    }
  }

  std::vector<WatchAnswer> answers() { return std::move(answers_); }

 private:
  [[nodiscard]] bool watches(const Watchpoint& watchpoint, const RecordRow& record) const {
    if (watchpoint.condition->rule == WatchRule::kInitialization && record.step != 0) return false;
    if (!watchpoint.activation.empty() && plain_type(op_of(dump_, record).type) != watchpoint.activation) return false;
    switch (watchpoint.condition->target) {
      case WatchTarget::kWeight:
        return roles_.is_weight(record);
      case WatchTarget::kGradient:
        return !is_input(record) && roles_.is_gradient(record);
      case WatchTarget::kActivation:
        return record.slot_kind == static_cast<uint8_t>(SlotKind::kOutput) && roles_.is_activation(record);
      case WatchTarget::kTensor:
        break;
    }
    return !is_input(record);
  }

  void check(const Watchpoint& watchpoint, WatchAnswer& answer, uint32_t row, WatchValues& values) {
    ++answer.checked;
    const WatchRule rule = watchpoint.condition->rule;
    if (rule == WatchRule::kOperatorOverflow && (is_listed_ || overflowed_.contains(row))) {
      if (overflowed_.contains(row)) add_hit(answer, {row, 0, {}});
      return;
    }
    const bool counts = rule == WatchRule::kOperatorOverflow || rule == WatchRule::kOverflow;
    const std::optional<uint8_t> nonfinite = counts ? values.counted_nonfinite() : values.nonfinite();
    if (!nonfinite) {
      ++answer.unknown;
    } else if (counts) {
      if (*nonfinite != 0 && rule == WatchRule::kOverflow) add_hit(answer, {row, 0, {}});
    } else {
      look(watchpoint, answer, row, *nonfinite, values);
    }
  }

  void look(const Watchpoint& watchpoint, WatchAnswer& answer, uint32_t row, uint8_t errors, WatchValues& values) {
    std::optional<size_t> previous;
    if (watchpoint.needs_previous()) {
      if (previous_[row] != kNoRow && dump_.rows()[previous_[row]].numel == dump_.rows()[row].numel) previous = previous_[row];
      errors |= previous ? 0 : kWatchNoPrevious;
    }
    WatchHit found{row, errors, std::vector<WatchHit::Value>(watchpoint.values.size())};
    if (errors != 0) {
      answer.nonfinite += (errors & (kWatchNaN | kWatchInf)) != 0 ? 1 : 0;
      if (++answer.error_count <= limit_) answer.errors.push_back(std::move(found));
      return;
    }
    std::optional<bool> holds = false;
    if (watchpoint.condition->rule == WatchRule::kUnchanged) {
      holds = values.is_unchanged(watchpoint, *previous);
    } else {
      holds = compare(watchpoint, found, values, previous);
    }
    if (!holds || (!*holds && is_sample(row))) {
      ++answer.unknown;
    } else if (*holds) {
      add_hit(answer, std::move(found));
    }
  }

  // Whether nothing but a sample of the tensor is known: the rest may cross what this does not.
  [[nodiscard]] bool is_sample(uint32_t row) const {
    const RecordRow& record = dump_.rows()[row];
    return (record.stats.valid & kStatSampled) != 0 && ((record.flags & kRecordHasData) == 0 || holds_part(record));
  }

  // Whether a threshold is crossed; nothing when none is and not all could be looked at.
  static std::optional<bool> compare(const Watchpoint& watchpoint, WatchHit& found, WatchValues& values, std::optional<size_t> previous) {
    bool any = false;
    bool all_known = true;
    for (size_t i = 0; i < watchpoint.values.size(); ++i) {
      const auto& [parameter, limit] = watchpoint.values[i];
      if (parameter->comparison == WatchComparison::kSupport) continue;
      const std::optional<double> actual = values.quantity(parameter->quantity, watchpoint, previous);
      all_known = all_known && actual.has_value();
      if (!actual) continue;
      const bool hit = parameter->comparison == WatchComparison::kAbove   ? *actual > limit
                       : parameter->comparison == WatchComparison::kBelow ? *actual < limit
                                                                          : *actual >= limit;
      found.values[i] = {actual, hit};
      any = any || hit;
    }
    return any || all_known ? std::optional(any) : std::nullopt;
  }

  void add_hit(WatchAnswer& answer, WatchHit found) const {
    if (++answer.hit_count <= limit_) answer.hits.push_back(std::move(found));
  }

  const DumpIndex& dump_;
  const RecordRoles roles_;
  std::span<const Watchpoint> watchpoints_;
  size_t limit_;
  std::vector<WatchAnswer> answers_;
  std::vector<uint32_t> previous_;
  std::unordered_set<size_t> overflowed_;
  bool is_listed_ = false;  // the dump itself lists the ops that overflowed
};

}  // namespace

std::vector<WatchAnswer> check_watchpoints(const DumpIndex& dump, std::span<const Watchpoint> watchpoints, std::span<const uint32_t> rows,
                                           size_t limit) {
  std::vector<uint32_t> ordered(rows.begin(), rows.end());
  const auto all = dump.rows();
  std::ranges::stable_sort(ordered, {}, [&](uint32_t row) { return std::tuple(all[row].step, all[row].rank, all[row].sequence); });
  Watch watch(dump, watchpoints, limit);
  for (const uint32_t row : ordered) watch.check(row);
  return watch.answers();
}

}  // namespace tensortap
