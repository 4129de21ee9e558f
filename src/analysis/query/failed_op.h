// The op that failed while the program ran: what its dump knows of it.

#ifndef TENSORTAP_QUERY_FAILED_OP_H_
#define TENSORTAP_QUERY_FAILED_OP_H_

#include <string>

#include "base/json_fwd.h"
#include "trace/dump_index.h"

namespace tensortap {

// {"name", "type", "source", "module", "step", "error", "exception", "caught", ...} as run.json has it (docs/layouts/tap.md), or null when
// none failed. Of a process that left no run.json it is made of the records of the last op that failed: "error" is null then, and "caught"
// says whether the same thread did more afterwards. Linear in the records.
Json failed_op(const DumpIndex& dump);

// Whether a failure is a finding: it ended the program, or its thread. One that the program caught, as a probe of what works, is none.
bool ended_program(const Json& failed);

// Why it failed: what the runtime said, or the program's exception and what the source found out. "" for null.
std::string failure_reason(const Json& failed);

}  // namespace tensortap

#endif  // TENSORTAP_QUERY_FAILED_OP_H_
