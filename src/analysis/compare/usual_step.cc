#include "compare/usual_step.h"

#include <cstdint>
#include <map>

#include "compare/unit_roundoff.h"

namespace tensortap {
namespace {

constexpr uint64_t kRare = 10;  // one of so many, at most

}  // namespace

double usual_step(const ValueTable& table) {
  std::map<double, uint64_t> counts;
  uint64_t all = 0;
  for (ValueId id = 0; id < table.values().size(); ++id) {
    if (table.at(id).given || !is_floating(table.dtype(id))) continue;
    ++counts[unit_roundoff(table.dtype(id))];
    ++all;
  }
  uint64_t coarser = all;
  for (const auto& [step, count] : counts) {
    coarser -= count;
    if (coarser * kRare < all) return step;
  }
  return 0;
}

}  // namespace tensortap
