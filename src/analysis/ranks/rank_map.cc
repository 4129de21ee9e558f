#include "ranks/rank_map.h"

#include <algorithm>

#include "ranks/ranks_json.h"

namespace tensortap {

RankMap::RankMap(const RankJob& job) : job_(job) {
  const size_t steps = job.steps().size();
  steps_of_column_ = std::max<size_t>(1, (steps + kMostColumns - 1) / kMostColumns);
  columns_ = (steps + steps_of_column_ - 1) / steps_of_column_;
  cells_.resize(columns_ * job.ranks().size());
}

void RankMap::count(const OpenRankDump& open) {
  for (const RecordRow& row : open.dump.rows()) {
    const uint32_t place = open.place_of(row);
    const uint32_t step = job_.step_place(row.step);
    if (place == kNowhere || step == kNowhere) continue;
    Cell& cell = at(place, step);
    ++cell.records;
    if (!open.roles.facts().is_overwritten(row) && row.stats.nan + row.stats.pos_inf + row.stats.neg_inf > 0) ++cell.nonfinite;
  }
}

void RankMap::add(std::span<const RankCell> cells, std::span<const double> distances) {
  for (size_t i = 0; i < distances.size(); ++i) {
    Cell& cell = at(cells[i].place, cells[i].key.step);
    cell.distances += distances[i];
    ++cell.judged;
  }
}

Json RankMap::report() const {
  Json steps = Json::array();
  for (size_t column = 0; column < columns_; ++column) {
    const size_t first = column * steps_of_column_;
    const size_t last = std::min(first + steps_of_column_, job_.steps().size()) - 1;
    steps.push_back({{"first", job_.steps()[first]}, {"last", job_.steps()[last]}});
  }
  Json ranks = Json::array();
  for (size_t place = 0; place < job_.ranks().size(); ++place) {
    Json rank = {
        {"rank", job_.ranks()[place].rank}, {"distances", Json::array()}, {"nonfinite", Json::array()}, {"records", Json::array()}};
    for (size_t column = 0; column < columns_; ++column) {
      const Cell& cell = cells_[place * columns_ + column];
      rank["distances"].push_back(cell.judged == 0 ? Json(nullptr) : json_number(cell.distances / static_cast<double>(cell.judged)));
      rank["nonfinite"].push_back(cell.nonfinite);
      rank["records"].push_back(cell.records);
    }
    ranks.push_back(std::move(rank));
  }
  return {{"steps", std::move(steps)}, {"ranks", std::move(ranks)}};
}

}  // namespace tensortap
