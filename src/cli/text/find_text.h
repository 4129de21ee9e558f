// The words of `find --trends` and `find --watch`, out of their JSON.

#ifndef TENSORTAP_CLI_TEXT_FIND_TEXT_H_
#define TENSORTAP_CLI_TEXT_FIND_TEXT_H_

#include <string>

#include "base/json_fwd.h"
#include "cli/text/terminal.h"

namespace tensortap::cli {

// Prints what trends_json() said.
void print_trends(Terminal& terminal, const Json& report);
// "its absmax doubled every 3 steps since step 41 (0.5 to 6.1e+04)" of what lead_json() said about the record that holds `first`.
std::string lead_text(const Json& lead, const Json& first);
// Prints what watch_json() said.
void print_watch(Terminal& terminal, const Json& report);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_TEXT_FIND_TEXT_H_
