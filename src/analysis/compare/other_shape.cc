#include "compare/other_shape.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace tensortap {

std::optional<OtherShape> first_other_shape(const PairingKeys& keys_a, const std::vector<uint32_t>& between_a, const PairingKeys& keys_b,
                                            std::vector<uint32_t> between_b) {
  const DumpIndex& a = keys_a.table().dump();
  const DumpIndex& b = keys_b.table().dump();
  std::unordered_map<std::string, uint32_t> of_a;
  for (const uint32_t row : between_a) {
    if (const ValueId id = keys_a.table().value_of(row); id != kNoValue) of_a.emplace(keys_a.identity(id), row);
  }
  std::ranges::sort(between_b, {}, [&b](uint32_t row) { return b.rows()[row].sequence; });
  for (const uint32_t row : between_b) {
    const ValueId id = keys_b.table().value_of(row);
    const auto found = id == kNoValue ? of_a.end() : of_a.find(keys_b.identity(id));
    if (found != of_a.end() && a.rows()[found->second].numel != b.rows()[row].numel) return OtherShape{found->second, row, false};
  }
  return std::nullopt;
}

}  // namespace tensortap
