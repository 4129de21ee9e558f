#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "base/text.h"
#include "plan/where_fields.h"
#include "plan/where_lexer.h"
#include "plan/where_program.h"
#include "tensor/dtype.h"

namespace tensortap {
namespace {

constexpr int kMaxNesting = 40;
constexpr size_t kMaxText = size_t{1} << 20;

// What a part of the expression gives. A text gives no instruction until it is compared.
struct Operand {
  enum class Kind : uint8_t { kNumber, kCondition, kTextField, kTextLiteral };
  Kind kind = Kind::kNumber;
  size_t begin = 0;
  WhereField field = WhereField::kOp;
  WhereScope scope = WhereScope::kAny;
  bool names_field = false;                // anything that a record has; else it is the same for every record
  std::optional<WhereField> only_field{};  // of a number that is a field alone
  std::string literal;
};

class Parser {
 public:
  Parser(std::string_view text, WhereExpression::Program& program) : text_(text), program_(program) {}

  Status parse() {
    TENSORTAP_RETURN_IF_ERROR(advance());
    if (token_.kind == WhereTokenKind::kEnd) return error(token_.begin, "the expression is empty; write one such as nan > 0");
    Operand whole;
    TENSORTAP_RETURN_IF_ERROR(parse_or(whole));
    TENSORTAP_RETURN_IF_ERROR(require_condition(whole));
    if (token_.kind != WhereTokenKind::kEnd) return unexpected("`and`, `or` or the end");
    return {};
  }

 private:
  Status error(size_t offset, std::string_view what) const { return where_error(text_, offset, what); }
  Status unexpected(std::string_view expected) const {
    const std::string found = token_.kind == WhereTokenKind::kEnd ? "the end" : quote(token_.word);
    return error(token_.begin, concat("expected ", expected, ", not ", found));
  }

  Status advance() {
    const size_t after = token_.begin + token_.word.size();
    return read_where_token(text_, after, token_);
  }
  [[nodiscard]] bool at(std::string_view word) const {
    return token_.word == word && (token_.kind == WhereTokenKind::kName || token_.kind == WhereTokenKind::kSymbol);
  }

  void emit(WhereInstruction instruction, int stack_change) {
    program_.instructions.push_back(instruction);
    depth_ += stack_change;
    deepest_ = std::max(deepest_, depth_);
  }

  Status require_number(const Operand& operand) const {
    if (operand.kind == Operand::Kind::kNumber) return {};
    return error(operand.begin, operand.kind == Operand::Kind::kCondition ? "a condition is no number" : "a text is no number");
  }
  Status same_for_all(size_t offset) const {
    return error(offset, "this is the same for every record; name something that a record has, as in nan > 0");
  }

  // Any number is a condition: "is not 0".
  Status require_condition(const Operand& operand) {
    if (operand.kind == Operand::Kind::kCondition) return {};
    if (operand.kind == Operand::Kind::kNumber && !operand.names_field) return same_for_all(operand.begin);
    if (operand.kind != Operand::Kind::kNumber) return error(operand.begin, "a text alone is no condition; compare it with == or !=");
    emit({.code = WhereCode::kNumber}, 1);
    emit({.code = WhereCode::kNotEqual}, -1);
    return {};
  }

  Status parse_or(Operand& result) { return parse_chain(result, "or", WhereCode::kJumpIfTrue); }
  Status parse_and(Operand& result) { return parse_chain(result, "and", WhereCode::kJumpIfFalse); }

  // Both chains leave as soon as the answer is known: the jump goes behind the last part.
  Status parse_chain(Operand& result, std::string_view word, WhereCode jump) {
    const bool or_chain = jump == WhereCode::kJumpIfTrue;
    TENSORTAP_RETURN_IF_ERROR(or_chain ? parse_and(result) : parse_not(result));
    std::vector<size_t> jumps;
    while (at(word)) {
      TENSORTAP_RETURN_IF_ERROR(require_condition(result));
      TENSORTAP_RETURN_IF_ERROR(advance());
      jumps.push_back(program_.instructions.size());
      emit({.code = jump}, -1);
      Operand next;
      TENSORTAP_RETURN_IF_ERROR(or_chain ? parse_and(next) : parse_not(next));
      TENSORTAP_RETURN_IF_ERROR(require_condition(next));
      result.kind = Operand::Kind::kCondition;
    }
    for (const size_t from : jumps) program_.instructions[from].index = static_cast<uint32_t>(program_.instructions.size());
    return {};
  }

  Status parse_not(Operand& result) {
    if (!at("not")) return parse_comparison(result);
    const size_t begin = token_.begin;
    TENSORTAP_RETURN_IF_ERROR(enter(begin));
    TENSORTAP_RETURN_IF_ERROR(advance());
    TENSORTAP_RETURN_IF_ERROR(parse_not(result));
    TENSORTAP_RETURN_IF_ERROR(require_condition(result));
    --nesting_;
    emit({.code = WhereCode::kNot}, 0);
    result.kind = Operand::Kind::kCondition;
    result.begin = begin;
    return {};
  }

  [[nodiscard]] bool at_comparison(WhereCode& code) const {
    constexpr std::array<std::string_view, 6> kWords = {"<", "<=", ">", ">=", "==", "!="};
    for (size_t i = 0; i < kWords.size(); ++i) {
      if (!at(kWords[i])) continue;
      code = static_cast<WhereCode>(static_cast<size_t>(WhereCode::kLess) + i);
      return true;
    }
    return false;
  }

  Status parse_comparison(Operand& result) {
    TENSORTAP_RETURN_IF_ERROR(parse_sum(result));
    WhereCode code{};
    if (!at_comparison(code)) return {};
    const size_t sign = token_.begin;
    TENSORTAP_RETURN_IF_ERROR(advance());
    Operand right;
    TENSORTAP_RETURN_IF_ERROR(parse_sum(right));
    TENSORTAP_RETURN_IF_ERROR(is_text(result) || is_text(right) ? compare_texts(result, right, code, sign)
                                                                : compare_numbers(result, right, code));
    result.kind = Operand::Kind::kCondition;
    result.only_field.reset();
    if (at_comparison(code)) return error(token_.begin, "comparisons do not chain; write a < b and b < c");
    return {};
  }

  static bool is_text(const Operand& operand) {
    return operand.kind == Operand::Kind::kTextField || operand.kind == Operand::Kind::kTextLiteral;
  }

  static bool is_count_of_infinities(const Operand& operand) { return operand.only_field == WhereField::kInf; }
  static bool is_value(const Operand& operand) {
    const Statistic* statistic = operand.only_field ? statistic_of(*operand.only_field) : nullptr;
    return statistic != nullptr && !statistic->is_count();
  }

  Status compare_numbers(const Operand& left, const Operand& right, WhereCode code) {
    TENSORTAP_RETURN_IF_ERROR(require_number(left));
    TENSORTAP_RETURN_IF_ERROR(require_number(right));
    if (!left.names_field && !right.names_field) return same_for_all(left.begin);
    for (const auto& [count, value] : {std::pair(&left, &right), {&right, &left}}) {
      if (!is_count_of_infinities(*count) || !is_value(*value)) continue;
      return error(count->begin, "`inf` counts the infinite elements; write `infinity` for the number");
    }
    emit({.code = code}, -1);
    return {};
  }

  Status compare_texts(const Operand& left, const Operand& right, WhereCode code, size_t sign) {
    if (!is_text(left) || !is_text(right)) return error(sign, "a text is compared with a text only");
    if (code != WhereCode::kEqual && code != WhereCode::kNotEqual) return error(sign, "texts are compared with == and != only");
    const bool left_field = left.kind == Operand::Kind::kTextField;
    if (left_field == (right.kind == Operand::Kind::kTextField))
      return error(sign, "a text of the record is compared with a text in quotes");
    const Operand& field = left_field ? left : right;
    const Operand& literal = left_field ? right : left;
    WhereLiteral resolved;
    TENSORTAP_RETURN_IF_ERROR(resolve(field.field, literal, resolved));
    const auto index = static_cast<uint32_t>(program_.literals.size());
    program_.literals.push_back(std::move(resolved));
    emit({.code = WhereCode::kText, .field = field.field, .scope = field.scope, .negated = code == WhereCode::kNotEqual, .index = index},
         1);
    return {};
  }

  Status resolve(WhereField field, const Operand& literal, WhereLiteral& resolved) const {
    const std::string& text = literal.literal;
    resolved.text = text;
    if (field == WhereField::kDType) return resolve_dtype(literal, resolved);
    if (field == WhereField::kPhase) return resolve_phase(literal, resolved);
    if (field == WhereField::kModelPhase) return resolve_model_phase(literal, resolved);
    if (field != WhereField::kSlot) return {};
    constexpr std::array<std::string_view, 4> kKinds = {"out", "in", "weight", "grad"};
    for (size_t i = 0; i < kKinds.size(); ++i) {
      resolved.number = static_cast<uint8_t>(i);
      resolved.slot_index = -1;
      if (text == kKinds[i]) return {};
    }
    SlotKind kind{};
    uint32_t index = 0;
    if (!parse_slot(text, kind, index) || index > 65535) {
      return error(literal.begin,
                   concat(quote(text), " is not a slot; write out0, in1, weight0, grad0, or out, in, weight, grad for any of them"));
    }
    resolved.number = static_cast<uint8_t>(kind);
    resolved.slot_index = static_cast<int32_t>(index);
    return {};
  }

  Status resolve_dtype(const Operand& literal, WhereLiteral& resolved) const {
    const std::optional<DType> dtype = dtype_from_name(literal.literal);
    if (dtype) {
      resolved.number = static_cast<uint8_t>(*dtype);
      return {};
    }
    std::vector<std::string> known;
    for (int i = 1; i < kDTypeCount; ++i) known.emplace_back(dtype_name(static_cast<DType>(i)));
    return error(literal.begin, concat("there is no dtype ", quote(literal.literal), ".", did_you_mean(literal.literal, known)));
  }

  Status resolve_phase(const Operand& literal, WhereLiteral& resolved) const {
    std::string known;
    for (uint8_t i = 0; i <= static_cast<uint8_t>(Phase::kLoad); ++i) {
      const std::string_view name = phase_name(static_cast<Phase>(i));
      resolved.number = i;
      if (name == literal.literal) return {};
      known += concat(known.empty() ? "" : ", ", name);
    }
    return error(literal.begin, concat("there is no phase ", quote(literal.literal), "; the phases are ", known));
  }

  // "" is the phase of records whose phase is not known.
  Status resolve_model_phase(const Operand& literal, WhereLiteral& resolved) const {
    std::string known;
    for (uint8_t i = 0; i <= static_cast<uint8_t>(ModelPhase::kWarmUp); ++i) {
      const std::string_view name = model_phase_name(static_cast<ModelPhase>(i));
      resolved.number = i;
      if (name == literal.literal) return {};
      if (!name.empty()) known += concat(known.empty() ? "" : ", ", name);
    }
    return error(literal.begin, concat("there is no model_phase ", quote(literal.literal), "; they are ", known));
  }

  Status parse_sum(Operand& result) {
    TENSORTAP_RETURN_IF_ERROR(parse_product(result));
    while (at("+") || at("-")) {
      const WhereCode code = at("+") ? WhereCode::kAdd : WhereCode::kSubtract;
      TENSORTAP_RETURN_IF_ERROR(parse_right(result, code));
    }
    return {};
  }

  Status parse_product(Operand& result) {
    TENSORTAP_RETURN_IF_ERROR(parse_unary(result));
    while (at("*") || at("/")) {
      const WhereCode code = at("*") ? WhereCode::kMultiply : WhereCode::kDivide;
      TENSORTAP_RETURN_IF_ERROR(parse_right(result, code));
    }
    return {};
  }

  // The sign and right side of `left + right` and the like.
  Status parse_right(Operand& left, WhereCode code) {
    TENSORTAP_RETURN_IF_ERROR(require_number(left));
    TENSORTAP_RETURN_IF_ERROR(advance());
    Operand right;
    const bool additive = code == WhereCode::kAdd || code == WhereCode::kSubtract;
    TENSORTAP_RETURN_IF_ERROR(additive ? parse_product(right) : parse_unary(right));
    TENSORTAP_RETURN_IF_ERROR(require_number(right));
    left.names_field = left.names_field || right.names_field;
    left.only_field.reset();
    emit({.code = code}, -1);
    return {};
  }

  Status enter(size_t begin) {
    if (++nesting_ > kMaxNesting || deepest_ + 8 > WhereExpression::Program::kStackLimit) {
      return error(begin, concat("nested more than ", kMaxNesting, " deep"));
    }
    return {};
  }

  Status parse_unary(Operand& result) {
    result = Operand{.begin = token_.begin, .literal = {}};
    switch (token_.kind) {
      case WhereTokenKind::kNumber:
        emit({.code = WhereCode::kNumber, .number = token_.number}, 1);
        return advance();
      case WhereTokenKind::kText:
        result.kind = Operand::Kind::kTextLiteral;
        result.literal = token_.value;
        return advance();
      case WhereTokenKind::kName:
        return parse_name(result);
      case WhereTokenKind::kSymbol:
        break;
      case WhereTokenKind::kEnd:
        break;
    }
    if (at("-")) return parse_negation(result);
    if (at("(")) return parse_group(result);
    return unexpected("a number, a name or \"(\"");
  }

  Status parse_negation(Operand& result) {
    const size_t begin = token_.begin;
    TENSORTAP_RETURN_IF_ERROR(enter(begin));
    TENSORTAP_RETURN_IF_ERROR(advance());
    TENSORTAP_RETURN_IF_ERROR(parse_unary(result));
    TENSORTAP_RETURN_IF_ERROR(require_number(result));
    --nesting_;
    result.begin = begin;
    emit({.code = WhereCode::kNegate}, 0);
    return {};
  }

  Status parse_group(Operand& result) {
    const size_t begin = token_.begin;
    TENSORTAP_RETURN_IF_ERROR(enter(begin));
    TENSORTAP_RETURN_IF_ERROR(advance());
    TENSORTAP_RETURN_IF_ERROR(parse_or(result));
    if (!at(")")) return unexpected("\")\" for the \"(\" before it");
    --nesting_;
    result.begin = begin;
    return advance();
  }

  Status parse_name(Operand& result) {
    if (at("abs") || at("log2")) return parse_function(result, at("abs") ? WhereCode::kAbs : WhereCode::kLog2);
    if (at("infinity")) {
      emit({.code = WhereCode::kNumber, .number = std::numeric_limits<double>::infinity()}, 1);
      return advance();
    }
    if (at("out") || at("in")) {
      result.scope = at("out") ? WhereScope::kOutputs : WhereScope::kInputs;
      TENSORTAP_RETURN_IF_ERROR(advance());
      if (!at(".")) return unexpected("\".\" and a name, as in out.nan");
      TENSORTAP_RETURN_IF_ERROR(advance());
    }
    const auto row = std::ranges::find(kWhereFields, token_.word, &FieldName::name);
    if (token_.kind != WhereTokenKind::kName || row == kWhereFields.end()) return unknown_name();
    result.field = row->field;
    if (row->field >= WhereField::kOp) {
      result.kind = Operand::Kind::kTextField;
    } else {
      result.names_field = true;
      result.only_field = row->field;
      program_.needed_stats |= stats_of(row->field);
      emit({.code = WhereCode::kField, .field = row->field, .scope = result.scope}, 1);
    }
    return advance();
  }

  Status unknown_name() const {
    if (token_.kind != WhereTokenKind::kName) return unexpected("a name");
    if (at("and") || at("or") || at("not")) return unexpected("a number, a name or \"(\"");
    std::vector<std::string> known = {"and", "or", "not", "abs", "log2", "infinity", "out", "in"};
    std::string fields;
    for (const FieldName& row : kWhereFields) {
      known.emplace_back(row.name);
      fields += concat(fields.empty() ? "" : " ", row.name);
    }
    const std::string hint = did_you_mean(token_.word, known);
    return error(token_.begin, concat("there is no ", quote(token_.word), ".", hint.empty() ? concat(" Names: ", fields) : hint));
  }

  Status parse_function(Operand& result, WhereCode code) {
    const std::string name(token_.word);
    TENSORTAP_RETURN_IF_ERROR(enter(token_.begin));
    TENSORTAP_RETURN_IF_ERROR(advance());
    if (!at("(")) return unexpected(concat("\"(\" after ", name));
    TENSORTAP_RETURN_IF_ERROR(advance());
    Operand argument;
    TENSORTAP_RETURN_IF_ERROR(parse_sum(argument));
    TENSORTAP_RETURN_IF_ERROR(require_number(argument));
    if (!at(")")) return unexpected(concat("\")\" after the argument of ", name));
    --nesting_;
    result.kind = Operand::Kind::kNumber;
    result.names_field = argument.names_field;
    emit({.code = code}, 0);
    return advance();
  }

  std::string_view text_;
  WhereExpression::Program& program_;
  WhereToken token_;
  int nesting_ = 0;
  int depth_ = 0;
  int deepest_ = 0;
};

}  // namespace

Status parse_where(std::string_view text, WhereExpression::Program& program) {
  if (text.size() > kMaxText) return invalid_argument("the expression is longer than a megabyte");
  program.text = text;
  return Parser(text, program).parse();
}

}  // namespace tensortap
