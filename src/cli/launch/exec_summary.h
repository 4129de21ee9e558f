// What a captured program left behind: its dumps, one for each process, summed up.

#ifndef TENSORTAP_CLI_LAUNCH_EXEC_SUMMARY_H_
#define TENSORTAP_CLI_LAUNCH_EXEC_SUMMARY_H_

#include <map>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/left_report.h"
#include "cli/text/terminal.h"

namespace tensortap::cli {

// Where below `out` the dump of one process each is: folders (itself first), or, where processes share a tree of AscendCL's, the reports
// that they left in it. Of such a tree what has a time of `since` (YYYYmmddHHMMSS, local) or later counts. What another `tensortap exec`
// than the one called `exec` left does not count.
std::vector<std::string> process_dumps(const std::string& out, bool one_tree, const std::string& since, const std::string& exec);

// The summary of all dumps: the keys of the summary of `run`, summed over the processes, "origin" (how the first non-finite value came to
// be, as find has it, or null), "harmless" (how many ops made NaN or Inf that did no harm, or null) and, with several processes,
// "processes" with the summary of each; "incomplete" is a sentence when a process did not come to its end. With no dump "dump" is null.
// `left`: what processes said that ended and could not finish their dumps, by dump.
Json summarise_dumps(const Terminal& terminal, const std::vector<std::string>& dumps, const std::string& out,
                     const std::map<std::string, LeftReport>& left);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_LAUNCH_EXEC_SUMMARY_H_
