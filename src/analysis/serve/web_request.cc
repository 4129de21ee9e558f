#include "serve/web_request.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"

namespace tensortap {
namespace {

constexpr int64_t kUsualLimit = 100;
constexpr int64_t kMostItems = 1000;

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  const char lower = static_cast<char>(c | 0x20);
  if (lower >= 'a' && lower <= 'f') return static_cast<unsigned>(lower - 'a') + 10;
  return std::nullopt;
}

bool is_text(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t length = bytes.front() == '\0' ? 0 : utf8_length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

// As forms are written: "+" is a blank.
Result<std::string> decode(std::string_view text, bool is_parameter) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded.push_back(is_parameter && text[i] == '+' ? ' ' : text[i]);
      continue;
    }
    const auto high = i + 2 < text.size() ? hex_digit(text[i + 1]) : std::nullopt;
    const auto low = i + 2 < text.size() ? hex_digit(text[i + 2]) : std::nullopt;
    if (!high || !low) return invalid_argument("the address has a % that is no escape");
    decoded.push_back(static_cast<char>(*high * 16 + *low));
    i += 2;
  }
  if (!is_text(decoded)) return invalid_argument("the address is no text");
  return decoded;
}

}  // namespace

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  constexpr std::string_view kPlain = "-_.~";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (is_letter || (c >= '0' && c <= '9') || kPlain.find(c) != std::string_view::npos) {
      encoded += c;
    } else {
      encoded += {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
    }
  }
  return encoded;
}

Result<WebRequest> WebRequest::parse(std::string_view target) {
  if (target.size() > kMostTargetBytes) return invalid_argument(concat("the address has more than ", kMostTargetBytes, " bytes"));
  if (target.empty() || target.front() != '/') return invalid_argument("the address is no path");
  WebRequest request;
  const size_t question = std::min(target.find('?'), target.size());
  TENSORTAP_ASSIGN_OR_RETURN(request.path_, decode(target.substr(0, question), false));
  for (const std::string_view part : split(std::string_view(request.path_).substr(1), '/')) request.parts_.emplace_back(part);
  if (question == target.size()) return request;
  for (const std::string_view pair : split(target.substr(question + 1), '&')) {
    if (pair.empty()) continue;
    const size_t equals = std::min(pair.find('='), pair.size());
    TENSORTAP_ASSIGN_OR_RETURN(std::string name, decode(pair.substr(0, equals), true));
    TENSORTAP_ASSIGN_OR_RETURN(std::string value, decode(pair.substr(std::min(equals + 1, pair.size())), true));
    request.parameters_.emplace(std::move(name), std::move(value));
  }
  return request;
}

Status WebRequest::check_names(std::initializer_list<std::string_view> known, std::initializer_list<std::string_view> repeatable) const {
  for (const auto& [name, value] : parameters_) {
    if (std::ranges::find(known, std::string_view(name)) != known.end()) {
      const bool is_repeatable = std::ranges::find(repeatable, std::string_view(name)) != repeatable.end();
      if (!is_repeatable && parameters_.count(name) > 1) return invalid_argument(concat(name, ": is given twice"));
      continue;
    }
    const std::vector<std::string> names(known.begin(), known.end());
    return invalid_argument(concat(quote(name), ": no parameter of ", path_, ".", did_you_mean(name, names)));
  }
  return {};
}

std::string WebRequest::text(std::string_view name) const {
  const auto found = parameters_.find(name);
  return found == parameters_.end() ? std::string() : found->second;
}

std::vector<std::string> WebRequest::texts(std::string_view name) const {
  std::vector<std::string> texts;
  const auto [begin, end] = parameters_.equal_range(name);
  for (auto one = begin; one != end; ++one) texts.push_back(one->second);
  return texts;
}

Result<int64_t> WebRequest::number(std::string_view name, int64_t fallback, int64_t least, int64_t most) const {
  const auto found = parameters_.find(name);
  if (found == parameters_.end() || found->second.empty()) return fallback;
  int64_t value = 0;
  if (!parse_integer(found->second, value) || value < least || value > most) {
    const std::string bounds = most == std::numeric_limits<int64_t>::max() ? concat("from ", least, " on") : concat(least, " to ", most);
    return invalid_argument(concat(name, " ", quote(found->second), ": not a whole number, ", bounds));
  }
  return value;
}

Result<std::string> WebRequest::choice(std::string_view name, std::initializer_list<std::string_view> words) const {
  const auto found = parameters_.find(name);
  if (found == parameters_.end() || found->second.empty()) return std::string(*words.begin());
  if (std::ranges::find(words, std::string_view(found->second)) != words.end()) return found->second;
  const std::vector<std::string> choices(words.begin(), words.end());
  return invalid_argument(concat(name, " ", quote(found->second), ": not one of ", join(choices, ", ")));
}

Result<WebRequest::Page> WebRequest::page() const {
  TENSORTAP_ASSIGN_OR_RETURN(const int64_t from, number("from", 0, 0, std::numeric_limits<int64_t>::max()));
  TENSORTAP_ASSIGN_OR_RETURN(const int64_t limit, number("limit", kUsualLimit, 1, kMostItems));
  return Page{static_cast<size_t>(from), static_cast<size_t>(limit)};
}

}  // namespace tensortap
