// What ended a captured program, in words, and where its op's inputs are.

#ifndef TENSORTAP_CLI_TEXT_FAILURE_TEXT_H_
#define TENSORTAP_CLI_TEXT_FAILURE_TEXT_H_

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "cli/text/terminal.h"
#include "read/repair_dump.h"
#include "trace/dump_index.h"

namespace tensortap::cli {

// Describes the result of failed_op() (query/failed_op.h): "Net/embedding (embedding), train.py:7, step 3: IndexError: index out of range
// in self: index 12 at [0, 3] is ..."; "" for null.
std::string failed_op_text(const Json& failed);

// Describes what happened to the op that failed, and lists the inputs that the dump has of failed ops, with their files, one line each.
// `folder` is how the user calls the dump. Empty when no op failed.
std::vector<std::string> failure_lines(const DumpIndex& dump, const std::string& folder);

// Reports which crash files were settled and which were not.
void tell_crashes(const CrashesSettled& crashes, const Terminal& terminal);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_TEXT_FAILURE_TEXT_H_
