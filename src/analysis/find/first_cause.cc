#include "find/first_cause.h"

#include <algorithm>
#include <vector>

#include "query/record_lookup.h"

namespace tensortap {
namespace {

// The first value, in time, that an op made of a weight which holds NaN or Inf.
std::optional<NonFiniteRecord> first_made_of_weights(const DumpIndex& dump) {
  std::vector<size_t> rows;
  for (const size_t row : rows_in_time_order(dump)) {
    const bool is_weight = dump.rows()[row].phase == static_cast<uint8_t>(Phase::kLoad);
    if (!is_weight && nonfinite_in(dump, row)) rows.push_back(row);
  }
  const std::vector<bool> harmful = harmful_rows(dump, rows);
  const auto first = std::ranges::find(harmful, true);
  return first == harmful.end() ? std::nullopt : nonfinite_in(dump, rows[static_cast<size_t>(first - harmful.begin())]);
}

}  // namespace

std::optional<NonFiniteRecord> first_cause(const DumpIndex& dump, const std::optional<NonFiniteRecord>& first_in_time,
                                           const NonFiniteFindings& found) {
  const auto& [seen, origins, judged] = found;
  if (seen) return nonfinite_in(dump, seen->chain.back().row);
  if (judged) return std::nullopt;
  const bool some_intended = std::ranges::any_of(origins, [](const auto& origin) { return origin.meant; });
  if (!some_intended) return first_in_time;
  for (const NonFiniteOrigin& origin : origins) {
    if (!origin.meant && origin.kind != OriginKind::kWeight) return nonfinite_in(dump, origin.chain.back().row);
  }
  const bool some_weights = std::ranges::any_of(origins, [](const auto& origin) { return !origin.meant; });
  return some_weights ? first_made_of_weights(dump) : std::nullopt;
}

}  // namespace tensortap
