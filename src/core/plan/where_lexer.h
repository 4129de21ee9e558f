// Tokens of a where expression. Private to this folder.

#ifndef TENSORTAP_PLAN_WHERE_LEXER_H_
#define TENSORTAP_PLAN_WHERE_LEXER_H_

#include <string>
#include <string_view>

#include "base/status.h"

namespace tensortap {

enum class WhereTokenKind : uint8_t { kEnd, kNumber, kText, kName, kSymbol };

struct WhereToken {
  WhereTokenKind kind = WhereTokenKind::kEnd;
  size_t begin = 0;       // byte offset
  std::string_view word;  // as written
  double number = 0;      // of kNumber
  std::string value;      // of kText, without quotes and escapes
};

// "column 7: what", the expression, and a caret under the place. Columns count characters from 1.
Status where_error(std::string_view text, size_t offset, std::string_view what);

// Reads the token at or after `offset`.
Status read_where_token(std::string_view text, size_t offset, WhereToken& token);

}  // namespace tensortap

#endif  // TENSORTAP_PLAN_WHERE_LEXER_H_
