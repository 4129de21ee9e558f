#include "find/lead.h"

#include <algorithm>
#include <vector>

#include "base/spans.h"

namespace tensortap {

std::optional<Trend> lead_to(const DumpIndex& dump, size_t row, std::span<const size_t> inputs) {
  const RecordRow& made = dump.rows()[row];
  std::vector<SeriesEntry> asked = {series_entry(made, row)};
  for (const size_t input : inputs) asked.push_back(series_entry(dump.rows()[input], input));
  const std::vector<SeriesEntry> entries = series_entries(dump, [&](const RecordRow& record) {
    if (record.step > made.step) return false;
    const SeriesEntry entry = series_entry(record, 0);
    return std::ranges::any_of(asked, [&](const SeriesEntry& one) { return entry.in_series_of(one); });
  });
  std::optional<Trend> best;
  std::span<const SeriesEntry> rest = entries;
  while (!rest.empty()) {
    const auto series = first_series(rest);
    rest = after(rest, series.size());
    const std::optional<Trend> trend = slope_of(dump, step_points(dump, series));
    if (!trend) continue;
    if (series.front().in_series_of(asked.front())) return trend;
    if (!best || trend->evidence > best->evidence) best = trend;
  }
  return best;
}

}  // namespace tensortap
