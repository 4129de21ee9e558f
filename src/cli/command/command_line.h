// The command `tensortap`, except for the parts that need a process to themselves.

#ifndef TENSORTAP_CLI_COMMAND_COMMAND_LINE_H_
#define TENSORTAP_CLI_COMMAND_COMMAND_LINE_H_

namespace tensortap::cli {

// Parses the words after argv[0] and runs one command; returns the exit code, docs/command_line.md lists them. Answers go to descriptor 1,
// everything else to stderr. A reader of descriptor 1 that went away ends the process (terminal.h), nothing else does. May throw the
// exceptions of the standard library. One at a time, on the main thread; may be called again.
int run_command_line(int argc, char** argv);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_COMMAND_COMMAND_LINE_H_
