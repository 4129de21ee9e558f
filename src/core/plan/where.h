// Conditions on a record: `nan > 0 or absmax > 6e4`. Used while capturing (--where) and by `ls`.
//
//   expression := and ("or" and)*      and := not ("and" not)*      not := "not" not | comparison
//   comparison := sum (("<" | "<=" | ">" | ">=" | "==" | "!=") sum)?       sum := product (("+"|"-") product)*
//   product := unary (("*"|"/") unary)*      unary := "-" unary | number | 'text' | name | function "(" sum ")" | "(" expression ")"
//
// Names are the words of a record's JSON. Numbers: min max mean std l2 absmax nan pos_inf neg_inf zero neg_zero positive negative inf
// nonfinite numel bytes rank step call element duration (seconds). Texts: op type dtype slot phase module, compared with a quoted text by
// == and != only. `slot == 'out'` means any output. `inf` counts infinities of both signs; the number is written `infinity`. "out." before
// a name means outputs only, "in." inputs only. Functions: abs, log2. A name whose statistic was not measured makes its comparison false. A
// comparison left out means "is not 0". An expression that is the same for every record, such as `1 < 2`, is an error.

#ifndef TENSORTAP_PLAN_WHERE_H_
#define TENSORTAP_PLAN_WHERE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "trace/op_info.h"
#include "trace/record_row.h"

namespace tensortap {

// Immutable and thread-safe.
class WhereExpression {
 public:
  struct Program;  // private to src/core/plan
  // Errors: kInvalidArgument with the column and a caret line under the text.
  static Result<std::unique_ptr<WhereExpression>> parse(std::string_view text);
  ~WhereExpression();
  [[nodiscard]] bool matches(const RecordRow& row, const OpInfo& op) const;
  // Stat bits that must be computed to answer.
  [[nodiscard]] uint32_t needed_stats() const;
  [[nodiscard]] const std::string& text() const;

 private:
  explicit WhereExpression(std::unique_ptr<const Program> program);
  std::unique_ptr<const Program> program_;
};

}  // namespace tensortap

#endif  // TENSORTAP_PLAN_WHERE_H_
