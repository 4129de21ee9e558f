#include "cli/llm/llm_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/text.h"
#include "cli/llm/llm_values.h"

namespace tensortap::cli {
namespace {

using Values = LlmOption::Values;

constexpr std::array kOptions = {
    LlmOption{"help", "--help", "-h", Values::kNone, "", nullptr, "Print this help"},
    LlmOption{"sd", "--only-save-desc", "-sd", Values::kNone, "", nullptr, "Keep type and shape of each tensor, no data"},
    LlmOption{"ids", "--save-operation-ids", "-ids", Values::kOne, "IDS", llm_values::check_ids,
              "Only the operations of these ids, such as 2,3_1"},
    LlmOption{"er", "--execute-range", "-er", Values::kOne, "ROUNDS", llm_values::check_rounds,
              "Rounds in pairs, the first and the last of each range, such as 0,0,3,5 (0,0)"},
    LlmOption{"child", "--save-operation-child", "-child", Values::kOne, "YES|NO", llm_values::check_yes,
              "Whether what is inside the operations of -ids comes with them; without -ids, whether more than root operations do (True)"},
    LlmOption{"time", "--save-time", "-time", Values::kOne, "0|1|2|3", llm_values::check_time,
              "Tensors before an operation (0), after it (1), both (2), or inputs before and outputs after (3)"},
    LlmOption{"opname", "--operation-name", "-opname", Values::kOne, "NAMES", llm_values::check_safe,
              "Besides those of -ids, operations whose type begins with one of these, such as selfattention,linear"},
    LlmOption{"tiling", "--save-tiling", "-tiling", Values::kNone, "", nullptr, "Also launch parameters of kernels"},
    LlmOption{"exec", "--exec", "", Values::kOne, "COMMAND", llm_values::check_safe,
              "The program with its arguments, as one word; no shell runs it"},
    LlmOption{"output", "--output", "-o", Values::kOne, "DIR", nullptr, "Where the folder msit_dump_TIME goes (./)"},
    LlmOption{"stp", "--save-tensor-part", "-stp", Values::kOne, "0|1|2", llm_values::check_part, "Inputs (0), outputs (1) or both (2)"},
    LlmOption{"type", "--type", "", Values::kSeveral, "TYPE...", llm_values::check_type,
              "model, layer, op, kernel, tensor, cpu_profiling, onnx, stats: what is written (tensor model)"},
    LlmOption{"device", "--device-id", "-device", Values::kOne, "N", llm_values::check_device, "Only processes of this device"},
    LlmOption{"seed", "", "-seed", Values::kOptional, "SEED", llm_values::check_seed,
              "Fixed random numbers and deterministic operators (2024)"},
    LlmOption{"symlink", "--enable-symlink", "-symlink", Values::kNone, "", nullptr, "A tensor that already exists becomes a link to it"},
    LlmOption{"config", "--config-path", "-config", Values::kOne, "FILE", nullptr,
              "A config of msit; it wins over -ids, -er, -child and -device"},
    LlmOption{"log-level", "--log-level", "-l", Values::kOne, "LEVEL", llm_values::check_log_level,
              "What is said: debug, info, warning, error, fatal, critical (info)"},
    LlmOption{"explain", "--explain", "", Values::kNone, "", nullptr, "Say in words what would be captured, and start nothing", true},
    LlmOption{"strict", "--strict", "", Values::kNone, "", nullptr, "Exit code 1 if a selected record was not captured", true},
    LlmOption{"json", "--json", "", Values::kNone, "", nullptr, "Answer as one JSON object on standard output", true},
    LlmOption{"quiet", "--quiet", "", Values::kNone, "", nullptr, "No notes and no progress on standard error", true},
};

constexpr std::string_view kBareSeed = "2024";

// A word that may name an option, as argparse sees it.
struct Found {
  const LlmOption* option = nullptr;  // null: looks like one, and there is none
  std::string name;                   // as the table has it
  std::optional<std::string> value;   // that was joined to it
};

const LlmOption* exact(std::string_view word) {
  const auto row =
      std::ranges::find_if(kOptions, [&](const LlmOption& one) { return !word.empty() && (word == one.name || word == one.short_name); });
  return row == kOptions.end() ? nullptr : &*row;
}

// "-1", "-.5": a value, for no option looks like it.
bool is_negative_number(std::string_view word) {
  word.remove_prefix(1);
  const size_t point = word.find('.');
  const std::string_view whole = word.substr(0, point);
  const std::string_view part = point == std::string_view::npos ? "" : word.substr(point + 1);
  const auto digits = [](std::string_view text) { return text.find_first_not_of("0123456789") == std::string_view::npos; };
  return digits(whole) && digits(part) && !(point == std::string_view::npos ? whole : part).empty();
}

std::string names_of(const LlmOption& option) {
  return option.name.empty() || option.short_name.empty() ? concat(option.name, option.short_name)
                                                          : concat(option.name, "/", option.short_name);
}

Status wrong_value(const LlmOption& option, std::string_view what) {
  return invalid_argument(fmt::format("argument {}: {}", names_of(option), what));
}

// Options that `word` is the beginning of; a short name of one letter may have its value joined to it.
std::vector<Found> begun_by(const std::string& word) {
  std::vector<Found> found;
  const bool is_long = word.starts_with("--");
  const size_t joint = is_long ? word.find('=') : std::string::npos;
  const std::string beginning = word.substr(0, joint);
  const std::optional<std::string> value = joint == std::string::npos ? std::optional<std::string>() : word.substr(joint + 1);
  for (const LlmOption& option : kOptions) {
    if (option.ours) continue;
    const std::string_view name = is_long ? option.name : option.short_name;
    if (name.empty()) continue;
    if (!is_long && name == word.substr(0, 2)) {
      found.push_back({&option, std::string(name), word.substr(2)});
    } else if (name.starts_with(beginning)) {
      found.push_back({&option, std::string(name), value});
    }
  }
  return found;
}

// The option that a word names, nothing when the word is a value.
Result<std::optional<Found>> look_at(const std::string& word) {
  if (word.size() < 2 || word[0] != '-') return std::optional<Found>();
  if (const LlmOption* option = exact(word)) return std::optional(Found{option, word, std::nullopt});
  if (const size_t joint = word.find('='); joint != std::string::npos) {
    const std::string name = word.substr(0, joint);
    if (const LlmOption* option = exact(name)) return std::optional(Found{option, name, word.substr(joint + 1)});
  }
  const std::vector<Found> begun = begun_by(word);
  if (begun.size() > 1) {
    std::vector<std::string> names;
    for (const Found& one : begun) names.push_back(one.name);
    return invalid_argument(fmt::format("ambiguous option: {} could match {}", word, join(names, ", ")));
  }
  if (begun.size() == 1) return std::optional(begun.front());
  if (is_negative_number(word) || word.find(' ') != std::string::npos) return std::optional<Found>();
  return std::optional(Found{nullptr, word, std::nullopt});
}

// Takes the words in their order.
class Parser {
 public:
  explicit Parser(std::span<const std::string> words) : words_(words) {}

  Result<LlmWords> parse() {
    while (at_ < words_.size() && !parsed_.help) TENSORTAP_RETURN_IF_ERROR(take_next());
    if (parsed_.help) return std::move(parsed_);
    if (!parsed_.has("exec") && !parsed_.has("explain")) return invalid_argument("the following arguments are required: --exec");
    if (extras_.empty()) return std::move(parsed_);
    return invalid_argument(fmt::format("unrecognized arguments: {}", join(extras_, " ")));
  }

 private:
  // Behind "--" every word is a value, which no option takes.
  Status take_next() {
    const std::string& word = words_[at_++];
    if (ended_ || word == "--") {
      ended_ = true;
      extras_.push_back(word);
      return {};
    }
    TENSORTAP_ASSIGN_OR_RETURN(const std::optional<Found> found, look_at(word));
    if (found && found->option != nullptr) return take_option(*found);
    extras_.push_back(word);
    return {};
  }

  Status take_option(Found found) {
    // "-sd=o" is "-sd -o" for argparse.
    while (found.value && found.option->values == Values::kNone) {
      const std::string rest = *found.value;
      const LlmOption* next = found.name.starts_with("--") || rest.empty() ? nullptr : exact(concat("-", rest[0]));
      if (next == nullptr) return wrong_value(*found.option, concat("ignored explicit argument ", llm_values::shown(rest)));
      TENSORTAP_RETURN_IF_ERROR(put(*found.option, {}));
      found = {next, concat("-", rest[0]), rest.size() == 1 ? std::optional<std::string>() : rest.substr(1)};
    }
    if (found.value) return put(*found.option, {*std::move(found.value)});
    std::vector<std::string> values;
    const size_t most = found.option->values == Values::kNone ? 0 : found.option->values == Values::kSeveral ? words_.size() : 1;
    while (values.size() < most && at_ < words_.size()) {
      TENSORTAP_ASSIGN_OR_RETURN(const bool is_value, looks_like_value(words_[at_]));
      if (!is_value) break;
      values.push_back(words_[at_++]);
    }
    if (values.empty() && found.option->values == Values::kOne) return wrong_value(*found.option, "expected one argument");
    if (values.empty() && found.option->values == Values::kSeveral) return wrong_value(*found.option, "expected at least one argument");
    if (values.empty() && found.option->values == Values::kOptional) values.emplace_back(kBareSeed);
    return put(*found.option, std::move(values));
  }

  static Result<bool> looks_like_value(const std::string& word) {
    if (word == "--") return false;
    TENSORTAP_ASSIGN_OR_RETURN(const std::optional<Found> found, look_at(word));
    return !found.has_value();
  }

  Status put(const LlmOption& option, std::vector<std::string> values) {
    if (option.key == "help") parsed_.help = true;
    for (std::string& value : values) {
      const Status status = option.check == nullptr ? Status() : option.check(value);
      if (!status.ok()) return wrong_value(option, status.message());
    }
    parsed_.given[option.key] = std::move(values);
    return {};
  }

  std::span<const std::string> words_;
  size_t at_ = 0;
  bool ended_ = false;  // by "--"
  std::vector<std::string> extras_;
  LlmWords parsed_;
};

}  // namespace

std::span<const LlmOption> llm_options() { return kOptions; }

std::string LlmWords::text(std::string_view key, std::string_view otherwise) const {
  const auto found = given.find(key);
  return found == given.end() || found->second.empty() ? std::string(otherwise) : found->second.front();
}

Result<LlmWords> parse_llm_words(std::span<const std::string> words) { return Parser(words).parse(); }

}  // namespace tensortap::cli
