// What `tensortap replay` prints for people.

#ifndef TENSORTAP_CLI_TEXT_REPLAY_TEXT_H_
#define TENSORTAP_CLI_TEXT_REPLAY_TEXT_H_

#include <span>

#include "base/json_fwd.h"
#include "cli/text/terminal.h"

namespace tensortap::cli {

// Aligned lines about a summary of replay/replay_json.h that also has "runtime" and "recorded".
void print_replay(Terminal& terminal, const Json& summary);

// A table of outputs, each as replay/replay_json.h has it.
void print_replayed(Terminal& terminal, std::span<const Json> values);

// Prints the rest of an op that was cut down, as the object of `replay --minimize --json`.
void print_minimal(Terminal& terminal, const Json& minimal);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_TEXT_REPLAY_TEXT_H_
