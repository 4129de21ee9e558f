// The report of one dump or two, as a file: what `report` and `compare --report` write.

#ifndef TENSORTAP_CLI_REPORT_FILE_H_
#define TENSORTAP_CLI_REPORT_FILE_H_

#include <string>

#include "base/json_fwd.h"
#include "base/status.h"
#include "cli/terminal.h"
#include "serve/web_answers.h"

namespace tensortap::cli {

// Whether a report can be written there, asked before any work. Errors: kInvalidArgument for a folder, kNotFound when the folder that it is
// to lie in is missing.
Status check_report_path(const std::string& path);

// Writes the file under a temporary name, then renames it. Gives {"report", "bytes", "answers", "left_out"}.
Result<Json> write_report(const WebAnswers& answers, const std::string& path, const Terminal& terminal);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_REPORT_FILE_H_
