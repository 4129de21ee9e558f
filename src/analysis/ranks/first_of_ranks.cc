#include "ranks/first_of_ranks.h"

#include <span>

#include "find/nonfinite_counts.h"

namespace tensortap {

void FirstOfRanks::add(const OpenRankDump& open, size_t dump) {
  const std::span<const RecordRow> rows = open.dump.rows();
  for (size_t row = 0; row < rows.size(); ++row) {
    const uint32_t rank = open.place_of(rows[row]);
    const Place place = place_of(open, rows[row]);
    // Counting may need the tensor: only where it would come first.
    if (rank == kNowhere || place.step == kNowhere || place >= firsts_[rank].place) continue;
    if (lacks_name(open.dump, rows[row]) || open.roles.facts().is_overwritten(rows[row])) continue;
    if (holding_of(open.dump, row) == Holding::kSome) firsts_[rank] = {place, dump};
  }
}

}  // namespace tensortap
