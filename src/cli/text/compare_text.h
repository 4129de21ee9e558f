// What `tensortap compare` prints for people.

#ifndef TENSORTAP_CLI_TEXT_COMPARE_TEXT_H_
#define TENSORTAP_CLI_TEXT_COMPARE_TEXT_H_

#include <span>
#include <vector>

#include "base/json_fwd.h"
#include "cli/text/terminal.h"

namespace tensortap::cli {

// The verdict and what is known of it, in one screen; with `all` also how values were paired, what is in one dump only, and where
// differences were born. `summary` is that of compare/comparison_json.h.
void print_comparison(Terminal& terminal, const Json& summary, bool all);

// A table of pairs, each as compare/comparison_json.h has it.
void print_compared(Terminal& terminal, std::span<const Json> pairs);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_TEXT_COMPARE_TEXT_H_
