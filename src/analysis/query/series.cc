#include <algorithm>
#include <map>
#include <tuple>

#include "query/row_query.h"

namespace tensortap {

std::vector<Series> series_of(const DumpIndex& dump, std::span<const uint32_t> rows) {
  const auto all = dump.rows();
  std::vector<Series> series;
  std::map<std::tuple<OpId, uint8_t, uint16_t, int64_t, uint8_t, int32_t>, size_t> places;
  for (const uint32_t number : rows) {
    const RecordRow& row = all[number];
    const auto [place, is_new] =
        places.try_emplace({row.op, row.slot_kind, row.slot_index, row.element, row.phase, row.rank}, series.size());
    if (is_new) series.push_back({row.op, static_cast<SlotKind>(row.slot_kind), row.slot_index, row.element, row.phase, row.rank, {}});
    series[place->second].rows.push_back(number);
  }
  for (Series& one : series) {
    std::ranges::stable_sort(one.rows, {}, [&](uint32_t row) { return std::tuple(all[row].step, all[row].call, all[row].sequence); });
  }
  return series;
}

}  // namespace tensortap
