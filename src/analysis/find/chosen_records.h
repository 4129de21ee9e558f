// The questions of `find` that may be about chosen records: trends and watchpoints. The same for the command line and Python.

#ifndef TENSORTAP_FIND_CHOSEN_RECORDS_H_
#define TENSORTAP_FIND_CHOSEN_RECORDS_H_

#include <cstddef>

#include "base/json_fwd.h"
#include "base/status.h"
#include "find/watch_json.h"
#include "query/row_query.h"
#include "trace/dump_index.h"

namespace tensortap {

// The answers of trends_json() and watch_json() about the records that a query chooses; all trends are judged first, since some are judged
// by others. Errors: kNotFound, with the nearest names, where it chooses no record, since an answer about none would clear nothing;
// kInvalidArgument as those of select_rows() and watch_json().
Result<Json> chosen_trends_json(const DumpIndex& dump, const RowQuery& query, size_t limit);
Result<Json> chosen_watch_json(const DumpIndex& dump, const WatchQuestion& question, size_t limit);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_CHOSEN_RECORDS_H_
