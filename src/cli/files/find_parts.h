// A question of `find`, asked of one dump or of every part of one.

#ifndef TENSORTAP_CLI_FILES_FIND_PARTS_H_
#define TENSORTAP_CLI_FILES_FIND_PARTS_H_

#include <functional>
#include <string>
#include <string_view>

#include "base/json_fwd.h"
#include "base/status.h"
#include "cli/text/exit_code.h"
#include "cli/text/terminal.h"
#include "trace/dump_index.h"

namespace tensortap::cli {

struct FindQuestion {
  std::function<Result<Json>(const DumpIndex& dump)> ask;          // of one dump
  std::function<bool(const Json& answer)> finds;                   // whether the answer is a finding; null = it clears and accuses nothing
  std::function<void(const Json& answer)> print;                   // for people
  std::string_view found;                                          // what is said to be in parts that find something: "findings"
  std::string_view none;                                           // and in parts that do not: "no NaN and no Inf"
  std::function<std::string(const Json& answer)> brief = nullptr;  // one line of a finding; null = every part with one is printed whole
  // Whether an answer that is no finding clears nothing either, since there was nothing to judge; null = never.
  std::function<bool(const Json& answer)> is_blind = nullptr;
  // What is added to the answer of one dump, or to that of all parts (find/ask_parts.h), which is then printed as one; null = nothing.
  std::function<Status(Json& answer)> finish = nullptr;
};

// Of which dump: its path, and --part.
struct FindTarget {
  std::string path;
  std::string part;
  bool all = false;  // also print the whole answer of parts that find nothing
};

// Asks the dump. Of one with several parts all of them, or the chosen ones: the answer begins with a sentence over all. kFound when one
// finds something, otherwise kFailed when one could not be asked or is not complete, or when there was nothing to judge in any.
// Errors: those of opening a dump and of `ask`, where no part gives an answer; those of `finish`.
Result<ExitCode> ask_find(const FindTarget& target, const FindQuestion& question, Terminal& terminal);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_FILES_FIND_PARTS_H_
