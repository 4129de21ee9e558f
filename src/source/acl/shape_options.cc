#include "source/acl/shape_options.h"

#include <algorithm>

#include "base/text.h"

namespace tensortap::acl {
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
    // Names may hold colons; dimensions do not.
    const size_t colon = part.rfind(':');
    if (colon == std::string_view::npos) return wrong_option("input_shape", concat(quote(part), " is not name:dimensions"));
    TENSORTAP_ASSIGN_OR_RETURN(options.input_shapes[std::string(trim(part.substr(0, colon)))],
                               read_numbers("input_shape", part.substr(colon + 1)));
  }
  return {};
}

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
  return invalid_argument(
      concat("TENSORTAP_ACL_ATC: ", quote(name), " is none of --input_shape, --dynamic_batch_size, --dynamic_image_size, --dynamic_dims"));
}

}  // namespace

Result<ShapeOptions> parse_shape_options(std::string_view text) {
  ShapeOptions options;
  while (!(text = trim(text)).empty()) {
    const size_t equals = text.find('=');
    if (!text.starts_with("--") || equals == std::string_view::npos) {
      return invalid_argument(concat("TENSORTAP_ACL_ATC: ", quote(text), " does not begin with --option=value"));
    }
    const std::string_view name = text.substr(2, equals - 2);
    text.remove_prefix(equals + 1);
    const bool quoted = text.starts_with('"');
    if (quoted) text.remove_prefix(1);
    const size_t end = std::min(text.find(quoted ? '"' : ' '), text.size());
    TENSORTAP_RETURN_IF_ERROR(read_option(name, text.substr(0, end), options));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  const int kinds =
      static_cast<int>(!options.batches.empty()) + static_cast<int>(!options.images.empty()) + static_cast<int>(!options.dims.empty());
  if (kinds > 1) return invalid_argument("TENSORTAP_ACL_ATC: only one of batch sizes, image sizes and dynamic dims");
  return options;
}

}  // namespace tensortap::acl
