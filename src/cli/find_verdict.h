// What `find` says of a dump, in the summary of what made it.

#ifndef TENSORTAP_CLI_FIND_VERDICT_H_
#define TENSORTAP_CLI_FIND_VERDICT_H_

#include "base/json_fwd.h"
#include "trace/dump_index.h"

namespace tensortap::cli {

// Whether a session's report leaves open whether `find` has something to say of its dump.
bool is_to_judge(const Json& report);

// Sets "first_nonfinite", "harmless", "unwritten" and "origin" of a summary to what find_report() says, so that a summary and `find` never
// disagree. In a layout that does not keep everything that the session saw, what the session met stays where find knows of nothing.
void add_verdict(const DumpIndex& dump, Json& summary);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_FIND_VERDICT_H_
