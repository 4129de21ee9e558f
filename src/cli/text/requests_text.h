// The requests of serving engines in a dump: `tensortap ls --requests`.

#ifndef TENSORTAP_CLI_TEXT_REQUESTS_TEXT_H_
#define TENSORTAP_CLI_TEXT_REQUESTS_TEXT_H_

#include <string>
#include <vector>

#include "cli/text/terminal.h"
#include "query/step_requests.h"

namespace tensortap::cli {

// The requests of one part of a dump; `part` is "" where it has no others.
struct RequestsOfPart {
  std::string part;
  std::vector<StepRequests> steps;
};

// With --json a line for each step, otherwise a table with a row for each request of a step.
void print_requests(Terminal& terminal, const std::vector<RequestsOfPart>& parts);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_TEXT_REQUESTS_TEXT_H_
