// The words for what `find` found in one dump, out of the JSON of find_report().

#ifndef TENSORTAP_CLI_TEXT_FIND_REPORT_TEXT_H_
#define TENSORTAP_CLI_TEXT_FIND_REPORT_TEXT_H_

#include <string>

#include "base/json_fwd.h"
#include "cli/text/terminal.h"

namespace tensortap::cli {

// At most one screen, worst news first: each finding once, and how many there are of the rest. With `all` the whole way of each value, and
// whole lists.
// Limits of the answer, such as records that were not looked at, are never left out.
void print_find_report(Terminal& terminal, const Json& report, bool all);

// One line of a report that has a finding.
std::string finding_line(const Json& report);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_TEXT_FIND_REPORT_TEXT_H_
