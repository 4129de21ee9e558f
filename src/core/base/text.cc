#include "base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "base/controls.h"

namespace tensortap {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

template <class T>
bool parse_whole(std::string_view text, T& value) {
  T parsed{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return false;
  value = parsed;
  return true;
}

// Levenshtein distance, ignoring case, given up (as limit + 1) once it must exceed `limit`.
size_t edit_distance(std::string_view a, std::string_view b, size_t limit) {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > limit) return limit + 1;
  std::vector<size_t> row(a.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t j = 1; j <= b.size(); ++j) {
    size_t diagonal = row[0];
    row[0] = j;
    size_t best = row[0];
    for (size_t i = 1; i <= a.size(); ++i) {
      const size_t substitution = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      diagonal = row[i];
      row[i] = std::min({row[i] + 1, row[i - 1] + 1, substitution});
      best = std::min(best, row[i]);
    }
    if (best > limit) return limit + 1;
  }
  return row[a.size()];
}

}  // namespace

std::string to_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 40> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return {digits.data(), end};
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0;;) {
    const size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += separator;
    text += parts[i];
  }
  return text;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\r\v\f";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::string to_lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), lower);
  return result;
}

bool contains_ignoring_case(std::string_view text, std::string_view part) {
  const auto same = [](char a, char b) { return lower(a) == lower(b); };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end() || part.empty();
}

bool is_digits(std::string_view text) { return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos; }
bool parse_integer(std::string_view text, int64_t& value) { return parse_whole(text, value); }
bool parse_unsigned(std::string_view text, uint64_t& value) { return parse_whole(text, value); }
bool parse_number(std::string_view text, double& value) { return parse_whole(text, value); }

std::string quote(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return concat('"', replace_controls(escaped, json_escape_of), '"');
}

std::string bytes_text(uint64_t bytes) {
  constexpr std::array<const char*, 6> kUnits = {"B", "kB", "MB", "GB", "TB", "PB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 || value >= 99.95 ? "%.0f %s" : "%.3g %s", value, kUnits[unit]);
  return text.data();
}

bool parse_bytes(std::string_view text, uint64_t& bytes) {
  text = trim(text);
  const size_t digits = text.find_first_not_of("0123456789.");
  const std::string unit = to_lower(trim(text.substr(std::min(digits, text.size()))));
  double number = 0;
  if (!parse_number(text.substr(0, digits), number)) return false;
  double factor = 1;
  if (!unit.empty() && unit != "b") {
    const size_t power = std::string_view("kmgtp").find(unit[0]);
    if (power == std::string_view::npos) return false;
    const std::string_view rest = std::string_view(unit).substr(1);
    if (!rest.empty() && rest != "b" && rest != "ib" && rest != "i") return false;
    factor = std::pow(rest.starts_with('i') ? 1024.0 : 1000.0, static_cast<double>(power + 1));
  }
  if (number * factor >= 18e18) return false;
  bytes = static_cast<uint64_t>(number * factor);
  return true;
}

std::vector<std::string> nearest(std::string_view name, std::span<const std::string> candidates, size_t limit) {
  const size_t farthest = std::max<size_t>(2, name.size() / 3);
  std::vector<std::pair<size_t, const std::string*>> scored;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(name, candidate, farthest);
    if (distance <= farthest) {
      scored.emplace_back(distance, &candidate);
    } else if (name.size() >= 3 && contains_ignoring_case(candidate, name)) {
      scored.emplace_back(farthest + 1, &candidate);
    }
  }
  std::ranges::stable_sort(scored, {}, &std::pair<size_t, const std::string*>::first);
  std::vector<std::string> best;
  for (const auto& [distance, candidate] : scored) {
    if (best.size() == limit) break;
    if (std::ranges::find(best, *candidate) == best.end()) best.push_back(*candidate);
  }
  return best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates) {
  const std::vector<std::string> best = nearest(name, candidates);
  if (best.empty()) return "";
  std::string text = " Did you mean ";
  for (size_t i = 0; i < best.size(); ++i) {
    if (i > 0) text += i + 1 == best.size() ? " or " : ", ";
    text += quote(best[i]);
  }
  return text + '?';
}

}  // namespace tensortap
