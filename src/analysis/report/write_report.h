// The report of one dump or two, as a file.

#ifndef TENSORTAP_REPORT_WRITE_REPORT_H_
#define TENSORTAP_REPORT_WRITE_REPORT_H_

#include <string>

#include "base/json_fwd.h"
#include "base/status.h"
#include "query/row_query.h"
#include "report/report_answers.h"
#include "serve/web_answers.h"

namespace tensortap {

// Whether a report can be written there, asked before any work. Errors: kInvalidArgument for a folder and for a name that is too long,
// kNotFound when the folder that it is to lie in is missing.
Status check_report_path(const std::string& path);

// Writes the file under a temporary name, then renames it. Gives {"report", "bytes", "answers", "left_out", "sources"}. The table, tensors,
// ops and curves are of the records that the query chooses; the sentences, and what they lead to, of the whole dump. Errors: those of
// make_report(), and what the operating system says; those of check_choice() of the first dump.
Result<Json> write_report(const WebAnswers& answers, const std::string& path, const ReportProgress& progress, const RowQuery& query = {});

}  // namespace tensortap

#endif  // TENSORTAP_REPORT_WRITE_REPORT_H_
