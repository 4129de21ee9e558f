#include "compare/values_by_size.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "compare/unit_roundoff.h"

namespace tensortap {
namespace {

constexpr uint64_t kLeastElements = 5;
constexpr size_t kMostNear = 64;

}  // namespace

ValuesBySize::ValuesBySize(const PairingKeys& keys, const std::function<bool(ValueId)>& is_wanted) {
  for (ValueId id = 0; id < keys.table().values().size(); ++id) {
    const ValueTable& table = keys.table();
    const DType dtype = table.dtype(id);
    if (table.at(id).given || table.first_row(id).numel < kLeastElements || !is_floating(dtype) || !is_wanted(id)) continue;
    if (const std::optional<Magnitudes> known = keys.magnitudes(id)) entries_.push_back({*known, id});
    coarsest_ = std::max(coarsest_, unit_roundoff(dtype));
  }
  sorted_ = entries_;
  std::ranges::sort(sorted_, {}, [](const Entry& entry) { return std::tuple(entry.magnitudes.numel, entry.magnitudes.l2, entry.id); });
}

std::vector<ValueId> ValuesBySize::near(const Magnitudes& magnitudes, double relative_l2) const {
  // |a - b| <= e |b| lets neither the lengths nor the largest elements be farther apart. The sums were rounded, too.
  const double share = relative_l2 + 1e-6;
  const auto key = [](const Entry& entry) { return std::pair(entry.magnitudes.numel, entry.magnitudes.l2); };
  const auto begin = std::ranges::lower_bound(sorted_, std::pair(magnitudes.numel, magnitudes.l2 / (1 + share)), {}, key);
  const auto end = std::ranges::upper_bound(sorted_, std::pair(magnitudes.numel, magnitudes.l2 / (1 - share)), {}, key);
  std::vector<std::pair<double, ValueId>> near;
  for (auto entry = begin; entry < end; ++entry) {
    const double apart = std::abs(entry->magnitudes.absmax - magnitudes.absmax);
    if (!(apart > share * std::max(entry->magnitudes.l2, magnitudes.l2))) {
      near.emplace_back(std::abs(entry->magnitudes.l2 - magnitudes.l2), entry->id);
    }
  }
  std::ranges::sort(near);
  if (near.size() > kMostNear) near.resize(kMostNear);
  std::vector<ValueId> found;
  for (const auto& [distance, id] : near) found.push_back(id);
  std::ranges::sort(found);
  return found;
}

}  // namespace tensortap
