#include "find/first_cause.h"

#include <algorithm>

namespace tensortap {

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
  return std::nullopt;
}

}  // namespace tensortap
