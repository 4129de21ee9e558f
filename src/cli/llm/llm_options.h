// The options of `tensortap llm dump`, which are msit's, and the rules of Python's argparse by which msit reads them. CLI11 reads "-ids" as
// "-i -d -s".

#ifndef TENSORTAP_CLI_LLM_LLM_OPTIONS_H_
#define TENSORTAP_CLI_LLM_LLM_OPTIONS_H_

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tensortap::cli {

struct LlmOption {
  enum class Values : uint8_t { kNone, kOptional, kOne, kSeveral };
  std::string_view key;         // by which LlmWords has it: the key of the config language where that has one
  std::string_view name;        // "--save-operation-ids"; "" = only the short one
  std::string_view short_name;  // "-ids"; "" = only the long one
  Values values;
  std::string_view value_name;  // for people: "IDS"
  // Checks a value and gives it the form of the config language. Errors: msit's words. Null: any text.
  Status (*check)(std::string& value);
  std::string_view meaning;
  bool ours = false;  // no option of msit: known by its whole name only
};

// In msit's order. Constant data.
std::span<const LlmOption> llm_options();

// What was typed.
struct LlmWords {
  bool help = false;                                                        // --help came before any mistake
  std::map<std::string_view, std::vector<std::string>, std::less<>> given;  // values by key, checked; of an option without values none
  [[nodiscard]] bool has(std::string_view key) const { return given.contains(key); }
  [[nodiscard]] std::string text(std::string_view key, std::string_view otherwise = "") const;
};

// Reads the words behind `llm dump`. Of an option that is given twice the last counts. Errors: kInvalidArgument with the first mistake in
// the words of argparse; that --exec is missing comes after those about values, words that mean nothing last.
Result<LlmWords> parse_llm_words(std::span<const std::string> words);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_LLM_LLM_OPTIONS_H_
