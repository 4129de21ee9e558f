#include "cli/files/run_ranges.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "base/json.h"
#include "base/text.h"

namespace tensortap::cli {
namespace {

// Whole numbers stay exact beyond 2^53.
bool parse_end(std::string_view text, Json& end) {
  int64_t whole = 0;
  uint64_t large = 0;
  double number = 0;
  if (parse_integer(text, whole)) {
    end = whole;
  } else if (parse_unsigned(text, large)) {
    end = large;
  } else if (parse_number(text, number) && std::isfinite(number)) {
    end = number;
  } else {
    return false;
  }
  return true;
}

Status bad(std::string_view text, std::string_view why) { return invalid_argument(fmt::format("--range {}: {}", text, why)); }

}  // namespace

Status add_ranges(const std::vector<std::string>& texts, Json& request) {
  for (const std::string& text : texts) {
    const size_t equals = text.rfind('=');  // names may hold one, numbers do not
    const std::string name = equals == std::string::npos ? "" : text.substr(0, equals);
    const std::string numbers = equals == std::string::npos ? text : text.substr(equals + 1);
    const size_t colon = numbers.find(':');
    if (equals == 0 || colon == std::string::npos) return bad(text, "write it as NAME=LOW:HIGH or LOW:HIGH");
    Json low;
    Json high;
    if (!parse_end(std::string_view(numbers).substr(0, colon), low) || !parse_end(std::string_view(numbers).substr(colon + 1), high))
      return bad(text, "LOW and HIGH must be finite numbers");
    if (low > high) return bad(text, "LOW is greater than HIGH");
    Json range = {std::move(low), std::move(high)};
    const bool is_repeated = name.empty() ? request.contains("range") : request.contains("ranges") && request["ranges"].contains(name);
    if (is_repeated) return bad(text, name.empty() ? "a range of all inputs is given twice" : "a range of this input is given twice");
    if (name.empty()) {
      request["range"] = std::move(range);
    } else {
      request["ranges"][name] = std::move(range);
    }
  }
  return {};
}

}  // namespace tensortap::cli
