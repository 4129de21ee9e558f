#include "plan/where_lexer.h"

#include <charconv>
#include <limits>

#include "base/text.h"

namespace tensortap {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }

Status read_number(std::string_view text, WhereToken& token) {
  const char* begin = text.data() + token.begin;
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), token.number);
  size_t length = static_cast<size_t>(end - begin);
  if (error == std::errc::result_out_of_range) return where_error(text, token.begin, "this number is too large or too small for a double");
  if (error != std::errc{}) return where_error(text, token.begin, "this is not a number");
  const size_t after = token.begin + length;
  if (after < text.size() && (is_letter(text[after]) || is_digit(text[after]) || text[after] == '.')) {
    while (token.begin + length < text.size() && (is_letter(text[token.begin + length]) || is_digit(text[token.begin + length]))) ++length;
    return where_error(text, token.begin, concat(quote(text.substr(token.begin, length)), " is not a number"));
  }
  token.kind = WhereTokenKind::kNumber;
  token.word = text.substr(token.begin, length);
  return {};
}

Status read_quoted(std::string_view text, WhereToken& token) {
  const char mark = text[token.begin];
  token.value.clear();
  for (size_t at = token.begin + 1; at < text.size(); ++at) {
    if (text[at] == mark) {
      token.kind = WhereTokenKind::kText;
      token.word = text.substr(token.begin, at + 1 - token.begin);
      return {};
    }
    if (text[at] == '\\' && at + 1 < text.size()) ++at;
    token.value += text[at];
  }
  return where_error(text, token.begin, concat("this text is not closed; it needs another ", std::string(1, mark)));
}

Status read_symbol(std::string_view text, WhereToken& token) {
  const std::string_view rest = text.substr(token.begin);
  token.kind = WhereTokenKind::kSymbol;
  for (const std::string_view symbol : {"<=", ">=", "==", "!="}) {
    if (!rest.starts_with(symbol)) continue;
    token.word = rest.substr(0, 2);
    return {};
  }
  if (rest.starts_with("&&")) return where_error(text, token.begin, "write `and`");
  if (rest.starts_with("||")) return where_error(text, token.begin, "write `or`");
  if (rest[0] == '!') return where_error(text, token.begin, "write `not`");
  if (rest[0] == '=') return where_error(text, token.begin, "write `==` to compare");
  if (std::string_view("<>+-*/().").find(rest[0]) == std::string_view::npos) {
    size_t length = 1;
    while (length < rest.size() && !begins_character(rest[length])) ++length;
    return where_error(text, token.begin, concat("the character ", quote(rest.substr(0, length)), " has no meaning here"));
  }
  token.word = rest.substr(0, 1);
  return {};
}

}  // namespace

Status where_error(std::string_view text, size_t offset, std::string_view what) {
  std::string line;
  std::string caret;
  size_t column = 1;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool control = static_cast<unsigned char>(text[i]) < 0x20 || text[i] == 0x7f;
    line += control ? ' ' : text[i];
    if (i >= offset || !begins_character(text[i])) continue;
    caret += ' ';
    ++column;
  }
  return invalid_argument(concat("column ", column, ": ", what, "\n  ", line, "\n  ", caret, "^"));
}

Status read_where_token(std::string_view text, size_t offset, WhereToken& token) {
  while (offset < text.size() && is_space(text[offset])) ++offset;
  token.begin = offset;
  token.word = {};
  token.kind = WhereTokenKind::kEnd;
  if (offset >= text.size()) return {};
  const char c = text[offset];
  if (is_digit(c) || (c == '.' && offset + 1 < text.size() && is_digit(text[offset + 1]))) return read_number(text, token);
  if (c == '\'' || c == '"') return read_quoted(text, token);
  if (!is_letter(c)) return read_symbol(text, token);
  size_t end = offset;
  while (end < text.size() && (is_letter(text[end]) || is_digit(text[end]))) ++end;
  token.kind = WhereTokenKind::kName;
  token.word = text.substr(offset, end - offset);
  return {};
}

}  // namespace tensortap
