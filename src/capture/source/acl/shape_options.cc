#include "source/acl/shape_options.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/files.h"
#include "base/text.h"
#include "source/acl/model_name.h"

namespace tensortap::acl_source {
namespace {

constexpr int64_t kLargestDimension = int64_t{1} << 40;
constexpr size_t kMostGears = 100;

Status wrong_option(std::string_view option, std::string_view why) {
  return invalid_argument(concat("TENSORTAP_ACL_ATC: --", option, ": ", why));
}

Result<std::vector<int64_t>> read_numbers(std::string_view option, std::string_view text) {
  std::vector<int64_t> numbers;
  for (const std::string_view part : split(text, ',')) {
    int64_t number = 0;
    if (!parse_integer(trim(part), number) || number < -1 || number > kLargestDimension) {
      return wrong_option(option, concat(quote(part), " is no dimension"));
    }
    numbers.push_back(number);
  }
  return numbers;
}

// As read_numbers(), with ranges, which leave a dimension open.
Result<std::vector<int64_t>> read_dims(std::string_view option, std::string_view text) {
  std::vector<int64_t> dims;
  if (trim(text).empty()) return dims;  // a scalar
  for (const std::string_view part : split(text, ',')) {
    TENSORTAP_ASSIGN_OR_RETURN(const auto bounds, read_numbers(option, concat(part.substr(0, part.find('~')))));
    if (part.find('~') != std::string_view::npos) {
      TENSORTAP_RETURN_IF_ERROR(read_numbers(option, part.substr(part.find('~') + 1)).status());
      dims.push_back(-1);
    } else {
      dims.push_back(bounds.front());
    }
  }
  return dims;
}

Result<std::vector<std::vector<int64_t>>> read_rows(std::string_view option, std::string_view text) {
  std::vector<std::vector<int64_t>> rows;
  for (const std::string_view part : split(text, ';')) {
    TENSORTAP_ASSIGN_OR_RETURN(auto row, read_numbers(option, part));
    if (std::ranges::min(row) < 1) return wrong_option(option, "gears are numbers from 1 on");
    if (!rows.empty() && rows.front().size() != row.size()) return wrong_option(option, "all gears must have as many numbers");
    rows.push_back(std::move(row));
  }
  if (rows.size() > kMostGears) return wrong_option(option, concat("there are more than ", kMostGears, " gears"));
  return rows;
}

Status read_shapes(std::string_view text, ShapeOptions& options) {
  for (const std::string_view part : split(text, ';')) {
    if (trim(part).empty()) continue;
    // Names may hold colons; dimensions do not.
    const size_t colon = part.rfind(':');
    if (colon == std::string_view::npos) return wrong_option("input_shape", concat(quote(part), " is not name:dimensions"));
    const std::string name(trim(part.substr(0, colon)));
    TENSORTAP_ASSIGN_OR_RETURN(options.input_shapes[name], read_dims("input_shape", part.substr(colon + 1)));
    options.input_order.push_back(name);
  }
  return {};
}

constexpr std::array<std::string_view, 4> kSizeOptions = {"input_shape", "dynamic_batch_size", "dynamic_image_size", "dynamic_dims"};
// Names of ATC's that are nearly one of ours.
constexpr std::array<std::string_view, 1> kOtherOptions = {"input_shape_range"};
constexpr std::array<std::string_view, 6> kChangeWhatIsSeen = {"insert_op_conf", "input_fp16_nodes",          "output_type",
                                                               "out_nodes",      "is_input_adjust_hw_layout", "is_output_adjust_hw_layout"};

bool is_one_of(std::string_view name, std::span<const std::string_view> names) { return std::ranges::find(names, name) != names.end(); }

Status read_option(std::string_view name, std::string_view value, ShapeOptions& options) {
  if (name == "input_shape") return read_shapes(value, options);
  if (name == "dynamic_batch_size") {
    TENSORTAP_ASSIGN_OR_RETURN(options.batches, read_numbers(name, value));
    if (std::ranges::min(options.batches) < 1 || options.batches.size() > kMostGears)
      return wrong_option(name, "1 to 100 numbers from 1 on");
    return {};
  }
  if (name == "dynamic_image_size") {
    TENSORTAP_ASSIGN_OR_RETURN(options.images, read_rows(name, value));
    return options.images.front().size() == 2 ? Status() : wrong_option(name, "a gear is height,width");
  }
  if (name == "dynamic_dims") {
    TENSORTAP_ASSIGN_OR_RETURN(options.dims, read_rows(name, value));
    return {};
  }
  if (name == "model" || name == "output") options.models.push_back(model_name_of(value));
  if (is_one_of(name, kChangeWhatIsSeen)) options.not_followed.emplace_back(name);
  if (is_one_of(name, kOtherOptions)) return {};
  const std::string near = did_you_mean(name, std::vector<std::string>(kSizeOptions.begin(), kSizeOptions.end()));
  return near.empty() ? Status() : invalid_argument(concat("TENSORTAP_ACL_ATC: --", name, " is no option of ATC.", near));
}

// Words as a shell makes them.
Result<std::vector<std::string>> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote_mark = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote_mark != 0) {
      if (c == quote_mark) quote_mark = 0;
      if (c != quote_mark && quote_mark != 0) word += c;
      continue;
    }
    const bool is_blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (c == '\\' && i + 1 < text.size()) {
      ++i;
      const bool continues_line = text[i] == '\n' || text[i] == '\r';
      if (!continues_line) word += text[i];
      in_word = in_word || !continues_line;
    } else if (c == '"' || c == '\'') {
      quote_mark = c;
      in_word = true;
    } else if (is_blank && in_word) {
      words.push_back(std::move(word));
      word.clear();
      in_word = false;
    } else if (!is_blank) {
      word += c;
      in_word = true;
    }
  }
  if (quote_mark != 0) return invalid_argument(concat("TENSORTAP_ACL_ATC: a ", quote_mark, " has no end"));
  if (in_word) words.push_back(std::move(word));
  return words;
}

Status check_gears(const ShapeOptions& options) {
  const int kinds =
      static_cast<int>(!options.batches.empty()) + static_cast<int>(!options.images.empty()) + static_cast<int>(!options.dims.empty());
  return kinds <= 1 ? Status() : invalid_argument("TENSORTAP_ACL_ATC: only one of batch sizes, image sizes and dynamic dims");
}

}  // namespace

Result<std::vector<ShapeOptions>> parse_atc_commands(std::string_view text) {
  TENSORTAP_ASSIGN_OR_RETURN(const std::vector<std::string> words, split_words(text));
  std::vector<ShapeOptions> commands;
  for (size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    if (commands.empty() || file_name(word) == "atc") commands.emplace_back();
    const std::string_view plain_name = word.substr(0, word.find('='));
    if (!word.starts_with('-')) {
      if (is_one_of(plain_name, kSizeOptions)) {
        return invalid_argument(concat("TENSORTAP_ACL_ATC: ", quote(word), " does not begin with --"));
      }
      continue;
    }
    word.remove_prefix(word.starts_with("--") ? 2 : 1);
    const size_t equals = word.find('=');
    const bool has_next = equals == std::string_view::npos && i + 1 < words.size() && !words[i + 1].starts_with('-');
    const std::string_view name = word.substr(0, equals);
    std::string_view value = equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
    if (has_next && file_name(words[i + 1]) != "atc") value = words[++i];
    if (value.empty() && is_one_of(name, kSizeOptions)) return wrong_option(name, "has no value");
    TENSORTAP_RETURN_IF_ERROR(read_option(name, value, commands.back()));
  }
  for (const ShapeOptions& options : commands) TENSORTAP_RETURN_IF_ERROR(check_gears(options));
  return commands;
}

const ShapeOptions* options_of_model(const std::vector<ShapeOptions>& commands, const std::string& model,
                                     const std::vector<std::string>& inputs) {
  for (const ShapeOptions& options : commands) {
    if (std::ranges::find(options.models, model) != options.models.end()) return &options;
  }
  if (commands.size() != 1) return nullptr;
  const ShapeOptions& only = commands.front();
  const bool fits =
      only.input_shapes.empty() || std::ranges::any_of(inputs, [&](const std::string& input) { return only.input_shapes.contains(input); });
  return fits || only.models.empty() ? &only : nullptr;
}

}  // namespace tensortap::acl_source
