// The words for where NaN and Inf began, out of the JSON of find_report().

#ifndef TENSORTAP_CLI_TEXT_ORIGIN_TEXT_H_
#define TENSORTAP_CLI_TEXT_ORIGIN_TEXT_H_

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "cli/text/terminal.h"

namespace tensortap::cli {

// "conv:out0@3 (Conv)" of an object with "record" and "type".
std::string record_text(const Json& one);
// "train.py:41, module Net.norm, backward of rsqrt, module Net.norm, line net.py:17" of an object with "source", "module" and "forward".
std::string place_text(const Json& one);
// "2 +Inf, 1 -Inf" of an object with these counts, without those that are 0.
std::string counts_text(const Json& one);
// "read conv:in0@3: min -1, max 2", "read empty:in0@3: uninitialised memory" of one of a step's "inputs".
std::string read_text(const Json& input);
// "overflowed in float16, and rsqrt (rsqrt, net.py:7) turned it into 0" of an origin; "" of one that did not overflow.
std::string overflow_text(const Json& origin);
// Describes an origin beyond the op and its counts, a line each: the kind, the inputs of the op, the place where the value was seen.
std::vector<std::string> origin_lines(const Json& origin);
// "mm (mm, net.py:5) read memory that nothing was written to: step 0, in1" of one of a report's "unwritten".
std::string unwritten_text(const Json& one);
// Describes the chosen origin of a summary: the op with its place, its outputs and inputs, and the place where the value was seen; lines
// without an indent. "" when there is none.
std::string origin_text(const Json& summary, const Palette& palette);
// Prints one origin (origin_json() of find) with the way from the value that was seen back to the op that made it.
void print_origin(Terminal& terminal, const Json& origin);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_TEXT_ORIGIN_TEXT_H_
