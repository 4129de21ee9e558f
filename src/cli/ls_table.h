// The table of `tensortap ls`: which columns, how wide, and what gives way on a narrow terminal.

#ifndef TENSORTAP_CLI_LS_TABLE_H_
#define TENSORTAP_CLI_LS_TABLE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cli/terminal.h"
#include "query/row_query.h"
#include "trace/dump_index.h"

namespace tensortap::cli {

// The columns that --columns chose, as "op,slot,max"; for "" the usual ones and `sort_key`. Errors: kInvalidArgument with the nearest
// names.
Result<std::vector<std::string>> choose_columns(std::string_view text, std::string_view sort_key);
// The names that --columns takes, joined.
std::string column_names_text();

// The dumps that rows of a table are of. With `names`, one for each, the table begins with the column "part".
struct ListedDumps {
  std::vector<const DumpIndex*> dumps;
  std::vector<std::string> names;
};

// Prints these rows. On a narrow terminal the shown names lose their common beginning, and where that is not enough the statistics that are
// asked for least are left out, unless `fixed`. Returns the columns that were left out.
std::vector<std::string> print_rows(Terminal& terminal, const ListedDumps& listed, std::span<const RowOfDump> rows,
                                    std::vector<std::string> columns, bool fixed);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_LS_TABLE_H_
