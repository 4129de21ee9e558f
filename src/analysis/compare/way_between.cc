#include "compare/way_between.h"

#include <unordered_set>

namespace tensortap {
namespace {

constexpr size_t kMostRows = 512;  // looked at behind one record

}  // namespace

WayBetween way_between(const ValueTable& table, std::span<const uint32_t> partners, uint32_t row) {
  WayBetween way;
  std::vector<uint32_t> waiting = {row};
  std::unordered_set<uint32_t> seen = {row};
  while (!waiting.empty() && seen.size() < kMostRows) {
    const uint32_t reader = waiting.back();
    waiting.pop_back();
    way.complete &= !table.misses_inputs(reader);
    for (const uint32_t input : table.inputs_of(reader)) {
      if (input == kNoRow || !seen.insert(input).second) continue;
      if (partners[input] != kNoRow) {
        way.inputs.push_back(input);
        continue;
      }
      way.between.push_back(input);
      const ValueId id = table.value_of(input);
      if (id != kNoValue && !table.at(id).given) waiting.push_back(input);
    }
  }
  way.complete &= waiting.empty();
  return way;
}

}  // namespace tensortap
