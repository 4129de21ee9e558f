// What two sequences have in common, in order.

#ifndef TENSORTAP_COMPARE_COMMON_SEQUENCE_H_
#define TENSORTAP_COMPARE_COMMON_SEQUENCE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tensortap {

// Places in a and in b of a longest common subsequence, ascending. Nothing where more than `most_edits` elements would have to be left out.
// Time is (|a| + |b|) * most_edits, memory most_edits^2.
std::optional<std::vector<std::pair<size_t, size_t>>> common_sequence(std::span<const uint64_t> a, std::span<const uint64_t> b,
                                                                      size_t most_edits);

// Chooses, among the sequences that are as long, one that agrees better: where only one of a and b has elements between two matches, and
// some matches beside them could as well be with these, `agrees` (place in a, place in b) decides. `matches` is a result of
// common_sequence().
void prefer_agreement(std::span<const uint64_t> a, std::span<const uint64_t> b, std::vector<std::pair<size_t, size_t>>& matches,
                      const std::function<bool(size_t, size_t)>& agrees);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_COMMON_SEQUENCE_H_
