// Writing a report and saying so: what `report` and `compare --report` share.

#ifndef TENSORTAP_CLI_FILES_REPORT_FILE_H_
#define TENSORTAP_CLI_FILES_REPORT_FILE_H_

#include <string>

#include "base/json_fwd.h"
#include "base/status.h"
#include "cli/text/terminal.h"
#include "query/row_query.h"
#include "serve/web_answers.h"

namespace tensortap::cli {

// write_report(), with its progress, in the words of the options; then a line on stderr for each part that was left out, and for each file
// that lines of source were read from.
Result<Json> write_report_file(const WebAnswers& answers, const std::string& path, const Terminal& terminal, const RowQuery& query = {});

// "report.html: 146 kB", of what that gave.
std::string report_line(const Json& done);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_FILES_REPORT_FILE_H_
