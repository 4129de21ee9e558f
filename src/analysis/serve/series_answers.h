// /api/series and /api/trends: how values change over the steps.

#ifndef TENSORTAP_SERVE_SERIES_ANSWERS_H_
#define TENSORTAP_SERVE_SERIES_ANSWERS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "query/row_columns.h"
#include "serve/answer.h"
#include "serve/asked_dump.h"

namespace tensortap {

// The series of these rows, with these columns of numbers.
Json series_list_json(const ServedDump& dump, std::span<const uint32_t> rows, const std::vector<const RowColumn*>& columns);
// Steps between the first and the last of the dump of which it has no record.
Json gaps_json(const ServedDump& dump);

Result<Answer> series_answer(const AskedDump& asked);
// What `find --trends --json` says, with the number of each trend's op.
Result<Answer> trends_answer(const AskedDump& asked);

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_SERIES_ANSWERS_H_
