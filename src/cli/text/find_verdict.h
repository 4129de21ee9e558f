// Adds the answer of `find` about a dump to the summary of the session that made it.

#ifndef TENSORTAP_CLI_TEXT_FIND_VERDICT_H_
#define TENSORTAP_CLI_TEXT_FIND_VERDICT_H_

#include "base/json_fwd.h"
#include "trace/dump_index.h"

namespace tensortap::cli {

// Whether `find` may have something to report about the dump of this session's report.
bool is_to_judge(const Json& report);

// Sets "first_nonfinite", "not_counted", "harmless", "unwritten" and "origin" of a summary to what find_report() says, so that a summary
// and `find` never disagree. If the layout does not keep all records and find finds nothing, "first_nonfinite" and "not_counted" stay as
// the session saw them.
void add_verdict(const DumpIndex& dump, Json& summary);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_TEXT_FIND_VERDICT_H_
