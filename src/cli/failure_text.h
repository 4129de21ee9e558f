// What ended a captured program, in words, and where its op's inputs are.

#ifndef TENSORTAP_CLI_FAILURE_TEXT_H_
#define TENSORTAP_CLI_FAILURE_TEXT_H_

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "cli/terminal.h"
#include "read/repair_dump.h"
#include "trace/dump_index.h"

namespace tensortap::cli {

// "Net/embedding (embedding), train.py:7, step 3: IndexError: index out of range in self: index 12 at [0, 3] is ..." of what failed_op() of
// query/failed_op.h gives; "" for null.
std::string failed_op_text(const Json& failed);

// Of the op that failed: what happened to it and the inputs that the dump has of failed ops, with their files, one line each.
// `folder` is how the user calls the dump. Empty when no op failed.
std::vector<std::string> failure_lines(const DumpIndex& dump, const std::string& folder);

// Says what became of what crashes left.
void tell_crashes(const CrashesSettled& crashes, const Terminal& terminal);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_FAILURE_TEXT_H_
