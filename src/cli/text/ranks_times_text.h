// The words of `tensortap ranks` for how long ranks took, and how they ended.

#ifndef TENSORTAP_CLI_TEXT_RANKS_TIMES_TEXT_H_
#define TENSORTAP_CLI_TEXT_RANKS_TIMES_TEXT_H_

#include <string>
#include <vector>

#include "base/json_fwd.h"

namespace tensortap::cli {

// Of "durations": which ranks are slow, and a line for each with where.
std::vector<std::string> slow_rank_lines(const Json& durations);

// The ranks of "progress" of a report: first those of which it is known why they ended, then those that came least far. Borrowed.
std::vector<const Json*> by_progress(const Json& report);
// Whether a rank of "progress" ended before it wanted to.
bool was_cut(const Json& rank);
// "rank 1: died in step 3; its last op is Net.head/addmm (addmm), train.py:12".
std::string end_text(const Json& rank);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_TEXT_RANKS_TIMES_TEXT_H_
