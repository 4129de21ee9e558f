// The records of a dump that a query chooses, as a dump.

#ifndef TENSORTAP_QUERY_CHOSEN_DUMP_H_
#define TENSORTAP_QUERY_CHOSEN_DUMP_H_

#include <memory>

#include "base/status.h"
#include "query/row_query.h"
#include "trace/dump_index.h"

namespace tensortap {

// Errors: as those of select_rows(); kNotFound, with the nearest names, for a query that chooses no record.
Status check_choice(const DumpIndex& dump, const RowQuery& query);

// The dump without the records that the query does not choose; all of its ops, and its manifest. It is not complete, and says why, unless
// all are chosen. A query without conditions gives the dump itself. Errors: those of check_choice().
Result<std::unique_ptr<DumpIndex>> choose_records(std::unique_ptr<DumpIndex> dump, const RowQuery& query);

}  // namespace tensortap

#endif  // TENSORTAP_QUERY_CHOSEN_DUMP_H_
