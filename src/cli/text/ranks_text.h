// The words of `tensortap ranks`, out of the JSON of ranks_report().

#ifndef TENSORTAP_CLI_TEXT_RANKS_TEXT_H_
#define TENSORTAP_CLI_TEXT_RANKS_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "cli/text/exit_code.h"
#include "cli/text/terminal.h"

namespace tensortap::cli {

// What is said of one thing, and where it can be looked at.
struct RanksSentence {
  // The first NaN or Inf; how many examples there are beyond those that are named.
  enum class Kind { kOrdinary, kNonFinite, kMore };
  Kind kind = Kind::kOrdinary;
  std::string text;
  std::optional<int64_t> rank;
  std::string record;           // name of one of this rank's records, or ""
  std::string op;               // or of one of its ops
  std::optional<int64_t> step;  // of the op
};

// The answer to one of the questions.
struct RanksAnswer {
  std::string question;
  bool is_wrong = false;
  RanksSentence sentence;
  std::vector<RanksSentence> examples;  // the first few
};
std::vector<RanksAnswer> ranks_answers(const Json& report);
// "4 ranks, 3 ops, 10 steps (0 to 9)".
std::string job_text(const Json& report);
// What dumps lack, a sentence each.
std::vector<std::string> job_troubles(const Json& report);

// Prints the answers: a line for each question, and its details indented. Gaps in dumps go to stderr.
void print_ranks(Terminal& terminal, const Json& report);
// kFound when an answer found a fault, otherwise kFailed when it is incomplete: a rank died, or its dump is missing or cannot be read.
ExitCode code_of_ranks(const Json& report);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_TEXT_RANKS_TEXT_H_
