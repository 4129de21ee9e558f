// The compiled form of a where expression: a flat list of instructions for a small stack machine, made by where_parser.cc and run by
// where.cc. Private to this folder.

#ifndef TENSORTAP_PLAN_WHERE_PROGRAM_H_
#define TENSORTAP_PLAN_WHERE_PROGRAM_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "plan/where.h"

namespace tensortap {

enum class WhereCode : uint8_t {
  kNumber,
  kField,
  kText,  // compares a text field with a literal
  kNegate,
  kAbs,
  kLog2,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kEqual,
  kNotEqual,
  kNot,
  kJumpIfFalse,  // to `index`, keeping the top of the stack; otherwise takes it off
  kJumpIfTrue,
};

// The first thirteen are the bits of Stat, in order.
// Below kInf: the number of a row of kStatisticTable.
enum class WhereField : uint8_t {
  kFirstStatistic = 0,
  kInf = 64,
  kNonFinite,
  kNumel,
  kBytes,
  kRank,
  kStep,
  kCall,
  kElement,
  kDuration,
  kOp,  // texts from here on
  kType,
  kDType,
  kSlot,
  kPhase,
  kModule,
  kModelPhase,
};

enum class WhereScope : uint8_t { kAny, kOutputs, kInputs };

struct WhereInstruction {
  WhereCode code = WhereCode::kNumber;
  WhereField field = WhereField::kFirstStatistic;
  WhereScope scope = WhereScope::kAny;
  bool negated = false;  // of kText
  uint32_t index = 0;    // jump target, or number of the literal
  double number = 0;
};

// The value that a text field is compared with, resolved when parsed so that no text is made while capturing.
struct WhereLiteral {
  std::string text;        // of op, type and module
  uint8_t number = 0;      // of dtype, phases and the kind of a slot
  int32_t slot_index = 0;  // -1 = any slot of the kind
};

struct WhereExpression::Program {
  std::string text;
  std::vector<WhereInstruction> instructions;
  std::vector<WhereLiteral> literals;
  uint32_t needed_stats = 0;

  static constexpr int kStackLimit = 256;  // no instruction sequence needs more; the parser sees to it
};

// Errors: kInvalidArgument with the column and a caret line.
Status parse_where(std::string_view text, WhereExpression::Program& program);

}  // namespace tensortap

#endif  // TENSORTAP_PLAN_WHERE_PROGRAM_H_
