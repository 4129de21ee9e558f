#include "compare/alignment.h"

#include <algorithm>
#include <span>

namespace tensortap {
namespace {

bool has_ranks(const ValueTable& table) {
  const auto rows = table.dump().rows();
  return std::ranges::any_of(rows, [&](const RecordRow& row) { return row.rank != rows.front().rank; });
}

// Trees of some systems, and dumps of models that only infer, tell no phases.
bool has_phases(const ValueTable& table) {
  return std::ranges::any_of(table.dump().rows(),
                             [](const RecordRow& row) { return !is_load(row) && row.phase != static_cast<uint8_t>(Phase::kInference); });
}

}  // namespace

Alignment::Alignment(const ValueTable& a, const ValueTable& b, const ChosenSteps& steps)
    : a_(a), b_(b), ranks_a_(has_ranks(a)), ranks_b_(has_ranks(b)), phases_(has_phases(a) && has_phases(b)) {
  for (const StepPair& pair : steps.pairs) {
    steps_[pair.a] = pair.b;
    compared_a_.insert(pair.a);
    compared_b_.insert(pair.b);
  }
}

int64_t Alignment::step_in_b(int64_t step) const {
  const auto found = steps_.find(step);
  return found == steps_.end() ? step : found->second;
}

bool Alignment::takes_part(const ValueTable& table, const Value& value, const std::set<int64_t>& steps) {
  const auto rows = table.dump().rows();
  return std::ranges::any_of(value.rows, [&](uint32_t row) { return is_load(rows[row]) || steps.contains(rows[row].step); });
}

bool Alignment::has_step(const RecordRow& row) const { return is_load(row) || steps_.contains(row.step); }

Alignment::Key Alignment::key_of_a(const RecordRow& row, bool with_call) const {
  const bool load = is_load(row);
  const int64_t step = load ? 0 : step_in_b(row.step);
  return {load, step, ranks_a_ ? row.rank : 0, phase_of(row), with_call ? row.call : 0};
}

Alignment::Key Alignment::key_of_b(const RecordRow& row, bool with_call) const {
  return {is_load(row), is_load(row) ? 0 : row.step, ranks_b_ ? row.rank : 0, phase_of(row), with_call ? row.call : 0};
}

// Whether executions with other numbers are no pair. Where each call is a value, they may be.
bool Alignment::counts_calls(const Value& a, const Value& b) { return a.call == kAnyCall && b.call == kAnyCall; }

// One program may load a weight once, while the other has it as a constant of its graph, which runs in every step.
std::optional<Alignment::RowPair> Alignment::weight_and_constant(const Value& a, const Value& b) const {
  const RecordRow& of_b = b_.dump().rows()[b.rows.front()];
  if (!a.given || !b.given || is_load(a_.dump().rows()[a.rows.front()]) == is_load(of_b)) return std::nullopt;
  for (const uint32_t row : a.rows) {
    if (has_step(a_.dump().rows()[row])) return RowPair{row, b.rows.front()};
  }
  return std::nullopt;
}

std::vector<Alignment::RowPair> Alignment::rows(const Value& a, const Value& b) const {
  if (const auto weight = weight_and_constant(a, b)) return {*weight};
  std::vector<std::pair<Key, uint32_t>> of_a;
  std::vector<std::pair<Key, uint32_t>> of_b;
  const bool with_call = counts_calls(a, b);
  for (const uint32_t row : a.rows) {
    if (has_step(a_.dump().rows()[row])) of_a.emplace_back(key_of_a(a_.dump().rows()[row], with_call), row);
  }
  for (const uint32_t row : b.rows) of_b.emplace_back(key_of_b(b_.dump().rows()[row], with_call), row);
  const auto by_key = [](const auto& one, const auto& other) { return one.first < other.first; };
  // As a rule they are in order: rows are in the order of execution.
  if (!std::ranges::is_sorted(of_a, by_key)) std::ranges::stable_sort(of_a, by_key);
  if (!std::ranges::is_sorted(of_b, by_key)) std::ranges::stable_sort(of_b, by_key);
  std::vector<RowPair> beside;
  auto at = of_a.begin();
  auto other = of_b.begin();
  while (at != of_a.end() && other != of_b.end()) {
    if (at->first < other->first) {
      ++at;
    } else if (other->first < at->first) {
      ++other;
    } else {
      beside.emplace_back((at++)->second, (other++)->second);
    }
  }
  const std::span<const RecordRow> rows_a = a_.dump().rows();
  const auto by_time = [rows_a](const RowPair& one, const RowPair& next) {
    return rows_a[one.first].sequence < rows_a[next.first].sequence;
  };
  if (!std::ranges::is_sorted(beside, by_time)) std::ranges::sort(beside, by_time);
  return beside;
}

std::optional<Alignment::RowPair> Alignment::first_rows(const Value& a, const Value& b) const {
  const RecordRow& of_a = a_.dump().rows()[a.rows.front()];
  const RecordRow& of_b = b_.dump().rows()[b.rows.front()];
  const bool with_call = counts_calls(a, b);
  if (has_step(of_a) && key_of_a(of_a, with_call) == key_of_b(of_b, with_call)) return RowPair{a.rows.front(), b.rows.front()};
  const std::vector<RowPair> beside = rows(a, b);
  return beside.empty() ? std::nullopt : std::optional(beside.front());
}

}  // namespace tensortap
