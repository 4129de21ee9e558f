// The words of `tensortap ranks`, out of the JSON of ranks_report().

#ifndef TENSORTAP_CLI_RANKS_TEXT_H_
#define TENSORTAP_CLI_RANKS_TEXT_H_

#include "base/json_fwd.h"
#include "cli/terminal.h"

namespace tensortap::cli {

// Prints the answers: a line for each question, and what belongs to it indented. What dumps lack is said on stderr.
void print_ranks(Terminal& terminal, const Json& report);
// Whether an answer found something.
bool finds_any(const Json& report);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_RANKS_TEXT_H_
