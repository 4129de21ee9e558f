// /api/records and /api/record/N.

#ifndef TENSORTAP_SERVE_RECORD_ANSWERS_H_
#define TENSORTAP_SERVE_RECORD_ANSWERS_H_

#include <cstddef>
#include <string>

#include "base/status.h"
#include "serve/answer.h"
#include "serve/asked_dump.h"
#include "serve/served_dump.h"
#include "serve/web_request.h"

namespace tensortap {

// The table of `ls`.
Result<Answer> records_answer(const ServedDump& dump, const WebRequest& request);

// One record, of the number in the path.
Result<Answer> record_answer(const AskedDump& asked, const std::string& number);

// A record as `ls --json` has it, with "record" (its row number) and "op_id".
Json listed_record_json(const DumpIndex& dump, size_t row);

// The JSON of `show`, and more about the record: "inputs", "outputs", "consumers", "source_lines", "module".
Json whole_record_json(const ServedDump& dump, size_t row);

// Reads the row in the text of a path: "12". Errors: kInvalidArgument; kNotFound for an unknown row.
Result<size_t> parse_row(const ServedDump& dump, const std::string& text);

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_RECORD_ANSWERS_H_
