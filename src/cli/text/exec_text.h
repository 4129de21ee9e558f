// The command of `--exec`, which is one text: split and checked by msit's rules, no shell.

#ifndef TENSORTAP_CLI_TEXT_EXEC_TEXT_H_
#define TENSORTAP_CLI_TEXT_EXEC_TEXT_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tensortap::cli {

// The words: split at blanks, except between two quotes of one kind, which are taken away. Nothing else has a meaning. Errors:
// kInvalidArgument for a quote without a second one, and for a character that msit refuses there, with the word and what is allowed.
Result<std::vector<std::string>> split_exec_text(std::string_view text);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_TEXT_EXEC_TEXT_H_
