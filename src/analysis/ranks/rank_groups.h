// Groups of ranks that hold the same, as --groups names them: "dp=0-3,4-7", "dp=0+2,1+3".

#ifndef TENSORTAP_RANKS_RANK_GROUPS_H_
#define TENSORTAP_RANKS_RANK_GROUPS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tensortap {

// The largest number that a rank may have, also in a group: larger numbers are damage or a slip.
inline constexpr int64_t kMostRanks = int64_t{1} << 20;

struct RankGroup {
  std::string name;            // "dp"; "" = the dumps name it
  std::vector<int64_t> ranks;  // rising
};

// Errors: kInvalidArgument with the text and what is wrong with it; a rank may be in one group of a name only.
Result<std::vector<RankGroup>> parse_rank_groups(std::span<const std::string> texts);

}  // namespace tensortap

#endif  // TENSORTAP_RANKS_RANK_GROUPS_H_
