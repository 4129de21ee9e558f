// The dumps that a command was given: opening them, and how far an answer about them holds.

#ifndef TENSORTAP_CLI_FILES_DUMP_ACCESS_H_
#define TENSORTAP_CLI_FILES_DUMP_ACCESS_H_

#include <memory>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/status.h"
#include "cli/text/exit_code.h"
#include "cli/text/terminal.h"
#include "trace/completeness.h"
#include "trace/dump_index.h"

namespace tensortap::cli {

// Lists on stderr the parts that were skipped when the dump was opened. `name` is the name of the dump if there are several.
void warn_of_problems(const Terminal& terminal, const DumpIndex& dump, const std::string& folder, const std::string& name = "");

// Opens the dump in `folder`, of any layout, and lists on stderr what it skips. Errors: kNotFound when the folder does not exist,
// kInvalidArgument when it is no dump, kCorrupt when nothing of it can be read. For a dump that an answer is about: AnsweredDumps::open().
Result<std::unique_ptr<DumpIndex>> open_for_reading(const Terminal& terminal, const std::string& folder);

// The dumps that the answer of a command is about. Every command that reads dumps has one: it opens or adds them, prints print_state()
// before its answer, puts json() into its JSON as "dump", and ends with code_of().
class AnsweredDumps {
 public:
  // open_for_reading(), and add().
  Result<std::unique_ptr<DumpIndex>> open(const Terminal& terminal, const std::string& folder);
  // A dump that was opened in another way. `name` is what messages call it.
  void add(std::string name, Completeness completeness);
  void add(std::vector<NamedCompleteness> dumps);

  // Whether the answer is one about all that was captured, as far as one can know.
  [[nodiscard]] bool hold_all() const;
  // A line on stdout for each dump that is not complete; nothing with --json. Before the answer.
  void print_state(Terminal& terminal) const;
  // The same as warnings on stderr, for commands whose stdout is a table.
  void warn_of_state(const Terminal& terminal) const;
  // completeness_json() of these dumps.
  [[nodiscard]] Json json() const;
  // What a command ends with: kFine, which clears the dumps, becomes kFailed where they are not complete; others stay.
  [[nodiscard]] ExitCode code_of(ExitCode code) const;

 private:
  std::vector<NamedCompleteness> dumps_;
};

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_FILES_DUMP_ACCESS_H_
