// ops.jsonl: one line per op, and back. Names that are not UTF-8 keep their bytes: each stray byte is written as the escape \udcXX, as
// Python's "surrogateescape" does.

#ifndef TENSORTAP_SYSTEM_TAP_OPS_FILE_H_
#define TENSORTAP_SYSTEM_TAP_OPS_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "trace/op_info.h"

namespace tensortap::tap {

// The line of an op, with the line end.
std::string op_line(OpId id, const OpInfo& op);

// Reads one line, without its end. kCorrupt when it is not what op_line() writes; unknown keys are skipped.
Status parse_op_line(std::string_view line, OpId& id, OpInfo& op);

// Every op of a file's text, each at the position of its id; ids left out are empty ops. Lines that cannot be read are skipped and said in
// `problems`. Untrusted.
std::vector<OpInfo> parse_ops(std::string_view text, std::vector<std::string>& problems);

}  // namespace tensortap::tap

#endif  // TENSORTAP_SYSTEM_TAP_OPS_FILE_H_
