#include "plan/where.h"

#include <cmath>

#include "plan/where_fields.h"
#include "plan/where_program.h"

namespace tensortap {
namespace {

// A number on the stack; conditions are 0 and 1. Unknown makes every comparison that it enters false.
struct StackValue {
  double number;
  bool known;
};

bool in_scope(WhereScope scope, const RecordRow& row) {
  if (scope == WhereScope::kAny) return true;
  const SlotKind kind = scope == WhereScope::kOutputs ? SlotKind::kOutput : SlotKind::kInput;
  return row.slot_kind == static_cast<uint8_t>(kind);
}

StackValue field_value(const RecordRow& row, WhereField field, WhereScope scope) {
  if (!in_scope(scope, row)) return {0, false};
  const uint32_t needed = stats_of(field);
  const bool measured = (row.stats.valid & needed) == needed;
  if (const Statistic* statistic = statistic_of(field)) return {statistic->value(row.stats), measured};
  const double infinities = static_cast<double>(row.stats.pos_inf) + static_cast<double>(row.stats.neg_inf);
  switch (field) {
    case WhereField::kInf:
      return {infinities, measured};
    case WhereField::kNonFinite:
      return {static_cast<double>(row.stats.nan) + infinities, measured};
    case WhereField::kNumel:
      return {static_cast<double>(row.numel), true};
    case WhereField::kBytes:
      return {static_cast<double>(row.bytes), true};
    case WhereField::kRank:
      return {static_cast<double>(row.rank), true};
    case WhereField::kStep:
      return {static_cast<double>(row.step), true};
    case WhereField::kCall:
      return {static_cast<double>(row.call), true};
    case WhereField::kElement:
      return {static_cast<double>(row.element), row.element >= 0};
    case WhereField::kDuration:
      return {static_cast<double>(row.duration_ns) * 1e-9, row.duration_ns >= 0};
    default:
      return {0, false};
  }
}

bool text_equal(const RecordRow& row, const OpInfo& op, WhereField field, const WhereLiteral& literal) {
  switch (field) {
    case WhereField::kOp:
      return op.name == literal.text;
    case WhereField::kType:
      return op.type == literal.text;
    case WhereField::kModule:
      return op.module == literal.text;
    case WhereField::kDType:
      return row.dtype == literal.number;
    case WhereField::kPhase:
      return row.phase == literal.number;
    case WhereField::kModelPhase:
      return row.model_phase == literal.number;
    case WhereField::kSlot:
      return row.slot_kind == literal.number && (literal.slot_index < 0 || row.slot_index == static_cast<uint32_t>(literal.slot_index));
    default:
      return false;
  }
}

bool compare(WhereCode code, double left, double right) {
  switch (code) {
    case WhereCode::kLess:
      return left < right;
    case WhereCode::kLessEqual:
      return left <= right;
    case WhereCode::kGreater:
      return left > right;
    case WhereCode::kGreaterEqual:
      return left >= right;
    case WhereCode::kEqual:
      return left == right;
    default:
      return left != right;
  }
}

double compute(WhereCode code, double left, double right) {
  switch (code) {
    case WhereCode::kAdd:
      return left + right;
    case WhereCode::kSubtract:
      return left - right;
    case WhereCode::kMultiply:
      return left * right;
    default:
      return left / right;
  }
}

// Instructions that take two values off the stack and put one back.
StackValue combine(WhereCode code, const StackValue& left, const StackValue& right) {
  const bool known = left.known && right.known;
  if (code >= WhereCode::kLess) return {known && compare(code, left.number, right.number) ? 1.0 : 0.0, true};
  return {compute(code, left.number, right.number), known};
}

// Instructions that change the top of the stack.
void change(WhereCode code, StackValue& top) {
  switch (code) {
    case WhereCode::kNegate:
      top.number = -top.number;
      break;
    case WhereCode::kAbs:
      top.number = std::abs(top.number);
      break;
    case WhereCode::kLog2:
      top.number = std::log2(top.number);
      break;
    default:
      top.number = top.number == 0 ? 1 : 0;
      break;
  }
}

}  // namespace

WhereExpression::WhereExpression(std::unique_ptr<const Program> program) : program_(std::move(program)) {}
WhereExpression::~WhereExpression() = default;

Result<std::unique_ptr<WhereExpression>> WhereExpression::parse(std::string_view text) {
  auto program = std::make_unique<Program>();
  TENSORTAP_RETURN_IF_ERROR(parse_where(text, *program));
  return std::unique_ptr<WhereExpression>(new WhereExpression(std::move(program)));
}

bool WhereExpression::matches(const RecordRow& row, const OpInfo& op) const {
  StackValue stack[Program::kStackLimit + 1];  // the first place stays free, so that an empty stack has a top
  StackValue* top = stack;
  const WhereInstruction* const code = program_->instructions.data();
  const size_t count = program_->instructions.size();
  for (size_t at = 0; at < count; ++at) {
    const WhereInstruction& step = code[at];
    switch (step.code) {
      case WhereCode::kNumber:
        *++top = {step.number, true};
        break;
      case WhereCode::kField:
        *++top = field_value(row, step.field, step.scope);
        break;
      case WhereCode::kText: {
        const bool equal = text_equal(row, op, step.field, program_->literals[step.index]);
        *++top = {in_scope(step.scope, row) && equal != step.negated ? 1.0 : 0.0, true};
        break;
      }
      case WhereCode::kNegate:
      case WhereCode::kAbs:
      case WhereCode::kLog2:
      case WhereCode::kNot:
        change(step.code, *top);
        break;
      case WhereCode::kJumpIfFalse:
      case WhereCode::kJumpIfTrue:
        if ((top->number != 0) == (step.code == WhereCode::kJumpIfTrue)) {
          at = step.index - 1;
        } else {
          --top;
        }
        break;
      default:
        --top;
        *top = combine(step.code, *top, top[1]);
        break;
    }
  }
  return top->number != 0;
}

uint32_t WhereExpression::needed_stats() const { return program_->needed_stats; }
const std::string& WhereExpression::text() const { return program_->text; }

}  // namespace tensortap
