// The whole of the command `tensortap`, except for what only a process of its own needs.

#ifndef TENSORTAP_CLI_COMMAND_LINE_H_
#define TENSORTAP_CLI_COMMAND_LINE_H_

namespace tensortap::cli {

// Parses the words after argv[0] and runs one command; gives the exit code, docs/command_line.md lists them. Answers go to descriptor 1,
// everything else to stderr; a reader of descriptor 1 that went away ends the process (terminal.h), nothing else does. May throw what the
// standard library throws. One at a time, on the main thread; may be called again.
int run_command_line(int argc, char** argv);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_COMMAND_LINE_H_
