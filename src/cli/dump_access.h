// Opening the dump that a command was given.

#ifndef TENSORTAP_CLI_DUMP_ACCESS_H_
#define TENSORTAP_CLI_DUMP_ACCESS_H_

#include <memory>
#include <string>

#include "base/status.h"
#include "cli/terminal.h"
#include "trace/dump_index.h"

namespace tensortap::cli {

// Says on stderr what was skipped while the dump was opened.
void warn_of_problems(const Terminal& terminal, const DumpIndex& dump, const std::string& folder);

// The dump in `folder`, of any layout; what was skipped while opening is said on stderr. Errors: kNotFound when there is no such folder,
// kInvalidArgument when it is no dump, kCorrupt when nothing of it can be read.
Result<std::unique_ptr<DumpIndex>> open_for_reading(const Terminal& terminal, const std::string& folder);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_DUMP_ACCESS_H_
