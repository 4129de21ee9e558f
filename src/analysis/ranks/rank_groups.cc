#include "ranks/rank_groups.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"

namespace tensortap {
namespace {

// "3" or "0-3".
bool parse_range(std::string_view text, int64_t& first, int64_t& last) {
  const size_t dash = text.find('-');
  const std::string_view begin = text.substr(0, dash);
  const std::string_view end = dash == std::string_view::npos ? begin : text.substr(dash + 1);
  return is_digits(begin) && is_digits(end) && parse_integer(begin, first) && parse_integer(end, last) && first <= last &&
         last <= kMostRanks;
}

}  // namespace

Result<std::vector<RankGroup>> parse_rank_groups(std::span<const std::string> texts) {
  std::vector<RankGroup> groups;
  for (const std::string& text : texts) {
    const auto wrong = [&text](std::string_view what) {
      return invalid_argument(concat("--groups ", quote(text), ": ", what, "; for example dp=0-3,4-7, or dp=0+2,1+3"));
    };
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) return wrong("a group has a name");
    std::set<int64_t> taken;
    for (const std::string_view members : split(std::string_view(text).substr(equals + 1), ',')) {
      RankGroup& group = groups.emplace_back(RankGroup{text.substr(0, equals), {}});
      for (const std::string_view range : split(members, '+')) {
        int64_t first = 0;
        int64_t last = 0;
        if (!parse_range(range, first, last)) return wrong(concat(quote(range), " is no rank and no range of ranks"));
        for (int64_t rank = first; rank <= last; ++rank) {
          if (!taken.insert(rank).second) return wrong(concat("rank ", rank, " is listed twice"));
          group.ranks.push_back(rank);
        }
      }
      std::ranges::sort(group.ranks);
    }
  }
  return groups;
}

}  // namespace tensortap
