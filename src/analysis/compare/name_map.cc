#include "compare/name_map.h"

#include <re2/re2.h>

#include <algorithm>
#include <map>

#include "base/text.h"

namespace tensortap {
namespace {

using Names = std::map<std::string, std::vector<ValueId>>;

std::string_view unquoted(std::string_view text) {
  text = trim(text);
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front())
    return text.substr(1, text.size() - 2);
  return text;
}

// Where the second name of a line begins, its separator's place; npos when there is none.
size_t separator_of(std::string_view line, bool yaml) {
  if (!yaml) return line.find('\t');
  // A name may hold a colon; YAML's separator has a blank behind it.
  return line.find(": ");
}

std::string place(std::string_view file, size_t line) { return concat(file, ":", line); }

// By every name that a value has: "op:out0", the op's own, what the op calls the value.
Names names_of(const ValueTable& table) {
  Names names;
  for (ValueId id = 0; id < table.values().size(); ++id) {
    const Value& value = table.at(id);
    const std::string& op = table.op(id).name;
    names[op].push_back(id);
    const std::string slot = concat(op, ":", slot_name(value.kind, value.slot));
    names[slot].push_back(id);
    const std::string& own = table.name(id);
    if (!own.empty() && own != op && own != slot) names[own].push_back(id);
  }
  return names;
}

Status unknown(std::string_view where, std::string_view name, std::string_view side, const Names& names) {
  std::vector<std::string> all;
  for (const auto& [known, ids] : names) all.push_back(known);
  std::ranges::sort(all);
  return invalid_argument(concat(where, ": nothing in ", side, " is called ", quote(name), ".", did_you_mean(name, all)));
}

void pair_in_order(const std::vector<ValueId>& a, const std::vector<ValueId>& b, std::vector<std::pair<ValueId, ValueId>>& pairs) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) pairs.emplace_back(a[i], b[i]);
}

Status add_pattern(const NameLine& line, std::string_view where, const Names& a, const Names& b,
                   std::vector<std::pair<ValueId, ValueId>>& pairs) {
  RE2::Options quiet;
  quiet.set_log_errors(false);
  const RE2 pattern(line.a, quiet);
  if (!pattern.ok()) return invalid_argument(concat(where, ": ", quote(line.a), " is not a regular expression: ", pattern.error()));
  std::string problem;
  if (!pattern.CheckRewriteString(line.b, &problem)) return invalid_argument(concat(where, ": ", quote(line.b), ": ", problem));
  bool matched = false;
  std::string missing;
  for (const auto& [name, ids] : a) {
    std::string other = name;
    if (!RE2::FullMatch(name, pattern) || !RE2::Replace(&other, pattern, line.b)) continue;
    const auto found = b.find(other);
    matched |= found != b.end();
    if (found != b.end()) pair_in_order(ids, found->second, pairs);
    if (missing.empty() && found == b.end()) missing = other;
  }
  if (matched) return {};
  if (!missing.empty()) return unknown(where, missing, "B", b);
  return invalid_argument(concat(where, ": no name in A matches ", quote(line.a), "."));
}

}  // namespace

Result<std::vector<NameLine>> parse_name_map(std::string_view text, std::string_view name) {
  const bool yaml = name.ends_with(".yaml") || name.ends_with(".yml");
  constexpr std::string_view kPattern = "re:";
  std::vector<NameLine> lines;
  size_t number = 0;
  for (const std::string_view raw : split(text, '\n')) {
    ++number;
    const std::string_view line = trim(raw);
    if (line.empty() || line.front() == '#') continue;
    const size_t at = separator_of(line, yaml);
    NameLine one;
    one.line = number;
    if (at != std::string_view::npos) {
      one.a = unquoted(line.substr(0, at));
      one.b = unquoted(line.substr(at + 1));
    }
    one.pattern = one.a.starts_with(kPattern);
    if (one.pattern) one.a.erase(0, kPattern.size());
    if (one.a.empty() || one.b.empty()) {
      return invalid_argument(concat(place(name, number), ": write a name of A, ", yaml ? "\": \"" : "a tab", " and a name of B"));
    }
    lines.push_back(std::move(one));
  }
  return lines;
}

Result<std::vector<std::pair<ValueId, ValueId>>> mapped_values(const std::vector<NameLine>& lines, std::string_view name,
                                                               const ValueTable& a, const ValueTable& b) {
  std::vector<std::pair<ValueId, ValueId>> pairs;
  const Names of_a = names_of(a);
  const Names of_b = names_of(b);
  for (const NameLine& line : lines) {
    const std::string where = place(name, line.line);
    if (line.pattern) {
      TENSORTAP_RETURN_IF_ERROR(add_pattern(line, where, of_a, of_b, pairs));
      continue;
    }
    const auto in_a = of_a.find(line.a);
    const auto in_b = of_b.find(line.b);
    if (in_a == of_a.end()) return unknown(where, line.a, "A", of_a);
    if (in_b == of_b.end()) return unknown(where, line.b, "B", of_b);
    pair_in_order(in_a->second, in_b->second, pairs);
  }
  return pairs;
}

}  // namespace tensortap
