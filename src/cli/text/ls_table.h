// The table of `tensortap ls`: which columns, how wide, and what gives way on a narrow terminal.

#ifndef TENSORTAP_CLI_TEXT_LS_TABLE_H_
#define TENSORTAP_CLI_TEXT_LS_TABLE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cli/text/terminal.h"
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
// asked for least are left out, unless the columns are `fixed`. The step is left out where the dumps have only one, unless `keeps_step`.
// Without a terminal there is a tab between two cells and nothing is left out. Returns the columns that were left out for lack of room.
std::vector<std::string> print_rows(Terminal& terminal, const ListedDumps& listed, std::span<const RowOfDump> rows,
                                    std::vector<std::string> columns, bool fixed, bool keeps_step);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_TEXT_LS_TABLE_H_
