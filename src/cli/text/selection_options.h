// The options that choose records, alike in all commands that have them: docs/command_line.md, "Which records".

#ifndef TENSORTAP_CLI_TEXT_SELECTION_OPTIONS_H_
#define TENSORTAP_CLI_TEXT_SELECTION_OPTIONS_H_

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/text/terminal.h"
#include "query/row_query.h"
#include "trace/dump_index.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tensortap::cli {

// --ops, --types, --modules.
std::vector<CLI::Option*> add_op_options(CLI::App& app, RowQuery& query);
// --steps, --last.
std::vector<CLI::Option*> add_step_options(CLI::App& app, RowQuery& query);
// All of these, --slots and --where.
void add_selection_options(CLI::App& app, RowQuery& query);

// An error of a query in the words of the command line: the names of its members, as options in the plural.
Status in_option_words(const Status& status);

// Warns of what unmatched_names() says; false for nothing.
bool warn_of_unmatched(const Terminal& terminal, std::span<const DumpIndex* const> dumps, const RowQuery& query);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_TEXT_SELECTION_OPTIONS_H_
