#include "plan/where.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <cmath>
#include <memory>

#include "base/text.h"
#include "tensor/dtype.h"

namespace tensortap {
namespace {

RecordRow a_row() {
  RecordRow row;
  row.step = 3;
  row.call = 1;
  row.slot_index = 2;
  row.dtype = static_cast<uint8_t>(DType::kFloat32);
  row.numel = 100;
  row.bytes = 400;
  row.stats.min = -2;
  row.stats.max = 8;
  row.stats.absmax = 8;
  row.stats.mean = 0.5;
  row.stats.nan = 1;
  row.stats.pos_inf = 2;
  row.stats.valid = kStatMin | kStatMax | kStatMean | kStatAbsMax | kStatNonFinite;
  return row;
}

OpInfo an_op() {
  OpInfo op;
  op.name = "/layer1/conv1/Conv";
  op.type = "Conv";
  op.module = "layer1.conv1";
  return op;
}

std::string where_problem(std::string_view text) {
  const auto parsed = WhereExpression::parse(text);
  return parsed.ok() ? "" : parsed.status().message();
}

bool holds(std::string_view text, const RecordRow& row = a_row()) {
  const auto parsed = WhereExpression::parse(text);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return parsed.ok() && (*parsed)->matches(row, an_op());
}

TEST(Where, ComparesStatistics) {
  EXPECT_TRUE(holds("nan > 0"));
  EXPECT_FALSE(holds("nan > 1"));
  EXPECT_TRUE(holds("nan > 5 or absmax > 6"));
  EXPECT_FALSE(holds("nan > 5 and absmax > 6"));
  EXPECT_TRUE(holds("nonfinite == 3"));
  EXPECT_TRUE(holds("max - min == 10 and (max + min) * 2 / 3 == 4"));
  EXPECT_TRUE(holds("-min == 2 and abs(min) == 2 and log2(max) == 3"));
  EXPECT_TRUE(holds("max < infinity and min > -infinity"));
  EXPECT_TRUE(holds("not nan > 1"));
  EXPECT_TRUE(holds("nan")) << "a number alone means that it is not 0";
  EXPECT_FALSE(holds("neg_inf"));
  EXPECT_TRUE(holds("step - 3 + 1 + 2 * 3 == 7 and 10 - 4 - step == 3 and max / 4 / 2 == 1"));
  EXPECT_TRUE(holds("step >= 3 and call == 1 and numel == 1e2 and bytes/numel == 4 and rank == 0"));
}

TEST(Where, AndBindsTighterThanOr) {
  EXPECT_TRUE(holds("call == 1 or call == 1 and call == 2"));
  EXPECT_FALSE(holds("(call == 1 or call == 1) and call == 2"));
  EXPECT_TRUE(holds("not call == 2 and call == 1"));
  EXPECT_FALSE(holds("not (call == 2 or call == 1)"));
}

// As in the tables of ls and in its JSON.
TEST(Where, InfCounts) {
  EXPECT_TRUE(holds("inf == 2 and out.inf > 1 and inf + nan == nonfinite"));
  EXPECT_TRUE(holds("inf"));
  RecordRow row = a_row();
  row.stats.neg_inf = 3;
  EXPECT_TRUE(holds("inf == 5", row));
  row.stats.pos_inf = row.stats.neg_inf = 0;
  EXPECT_FALSE(holds("inf > 0", row));
  EXPECT_TRUE(holds("max == infinity or absmax < infinity", row));
  EXPECT_EQ((*WhereExpression::parse("inf > 0"))->needed_stats(), kStatPosInf | kStatNegInf);
}

TEST(Where, ComparesTexts) {
  EXPECT_TRUE(holds("type == 'Conv'"));
  EXPECT_TRUE(holds("\"Conv\" == type and op != 'x' and module == 'layer1.conv1'"));
  EXPECT_TRUE(holds("dtype == 'float32' and phase == 'inference'"));
  EXPECT_TRUE(holds("slot == 'out2' and slot == 'out' and slot != 'in2' and slot != 'out1'"));
  EXPECT_TRUE(holds(R"(op != 'it\'s \\')"));
}

TEST(Where, WhatWasNotMeasuredMakesAComparisonFalse) {
  EXPECT_FALSE(holds("std > 0"));
  EXPECT_FALSE(holds("std <= 0"));
  EXPECT_FALSE(holds("std != 0"));
  EXPECT_FALSE(holds("std + 1 > 0"));
  EXPECT_FALSE(holds("duration >= 0"));
  EXPECT_FALSE(holds("element == -1"));
  EXPECT_TRUE(holds("std > 0 or nan > 0"));
}

// B7
TEST(Where, OutAndInMeanOneSideOnly) {
  RecordRow input = a_row();
  input.slot_kind = static_cast<uint8_t>(SlotKind::kInput);
  EXPECT_TRUE(holds("out.nan > 0"));
  EXPECT_FALSE(holds("in.nan > 0"));
  EXPECT_TRUE(holds("in.nan > 0", input));
  EXPECT_FALSE(holds("out.nan > 0", input));
  EXPECT_FALSE(holds("out.type != 'Gemm'", input));
}

TEST(Where, NeededStatistics) {
  EXPECT_EQ((*WhereExpression::parse("nan > 0 or absmax > 6e4"))->needed_stats(), kStatNan | kStatAbsMax);
  EXPECT_EQ((*WhereExpression::parse("nonfinite > 0"))->needed_stats(), kStatNonFinite);
  EXPECT_EQ((*WhereExpression::parse("numel > 4 and type == 'x'"))->needed_stats(), 0U);
}

TEST(Where, MistakesAreShownWhereTheyAre) {
  EXPECT_EQ(where_problem("abmax > 1"), "column 1: there is no \"abmax\". Did you mean \"absmax\" or \"max\"?\n  abmax > 1\n  ^");
  const std::vector<std::tuple<std::string, int, std::string>> cases = {
      {"", 1, "empty"},
      {"nan >", 6, "expected a number, a name or \"(\", not the end"},
      {"nan > 0 and", 12, "not the end"},
      {"nan = 0", 5, "write `==`"},
      {"nan > 0 && min > 1", 9, "write `and`"},
      {"nan > 0 || min > 1", 9, "write `or`"},
      {"!nan", 1, "write `not`"},
      {"nan > 0)", 8, "expected `and`, `or` or the end, not \")\""},
      {"(nan > 0", 9, "\")\" for the \"(\""},
      {"1 < nan < 3", 9, "do not chain"},
      {"nan > 'x'", 5, "a text is compared with a text"},
      {"type < 'x'", 6, "== and != only"},
      {"type == op", 6, "in quotes"},
      {"'a' == 'b'", 5, "in quotes"},
      {"type", 1, "a text alone is no condition"},
      {"type + 1 > 2", 1, "a text is no number"},
      {"(nan > 1) + 2 > 1", 1, "a condition is no number"},
      {"dtype == 'float23'", 10, "\"float32\""},
      {"phase == 'night'", 10, "the phases are inference, forward"},
      {"slot == 'output'", 9, "is not a slot"},
      {"type == 'Conv", 9, "not closed"},
      {"nan > 1e999", 7, "too large"},
      {"nan > 12x", 7, "\"12x\" is not a number"},
      {"nan > 1 § 2", 9, "has no meaning"},
      {"'ü' == type and nun > 1", 17, "there is no \"nun\""},
      {"out > 1", 5, "\".\" and a name"},
      {"abs nan > 1", 5, "\"(\" after abs"},
      {"nan > and", 7, "expected a number"},
      {"1 < 2", 1, "the same for every record"},
      {"infinity > 0", 1, "the same for every record"},
      {"nan > 0 or -log2(4) + 1 == abs(3)", 12, "the same for every record"},
      {"nan > 0 and 1", 13, "the same for every record"},
      {"not (2 > 1)", 6, "the same for every record"},
      {"max < inf", 7, "write `infinity`"},
      {"-inf != min", 1, "write `infinity`"},
      {"infinite > 0", 1, "\"infinity\""},
      {std::string(60, '(') + "nan" + std::string(60, ')'), 41, "nested more than"},
      {std::string(200, '-') + "1", 41, "nested more than"},
  };
  for (const auto& [text, column, part] : cases) {
    const std::string message = where_problem(text);
    EXPECT_TRUE(message.starts_with(concat("column ", column, ": "))) << text << "\n" << message;
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_TRUE(message.ends_with(concat("\n  ", std::string(static_cast<size_t>(column - 1), ' '), "^"))) << message;
  }
}

TEST(Where, LongChainsNeedNoDeepStack) {
  std::string text = "nan > 5";
  for (int i = 0; i < 20000; ++i) text += " or nan + 1 > 5";
  EXPECT_FALSE(holds(text));
  EXPECT_TRUE(holds(text + " or nan == 1"));
}

// A random expression as a tree, with its own printer and its own evaluator (recursive, on optionals) to hold the real one against.
struct Tree {
  std::string text;
  std::optional<double> number;  // nothing = unknown
  bool truth = false;
};

Tree random_number(const RecordRow& row, int depth) {
  const int kind = depth <= 0 ? *rc::gen::inRange(0, 4) : *rc::gen::inRange(0, 10);
  if (kind == 0) {
    const double value = *rc::gen::inRange(0, 50) / 4.0;
    return {to_text(value), value};
  }
  if (kind == 1) return {"absmax", row.stats.absmax};
  if (kind == 2) return {"in.absmax", std::nullopt};
  if (kind == 3) return {"numel", static_cast<double>(row.numel)};
  const Tree a = random_number(row, depth - 1);
  if (kind == 4) return {"-(" + a.text + ")", a.number ? std::optional(-*a.number) : std::nullopt};
  if (kind == 5) return {"abs(" + a.text + ")", a.number ? std::optional(std::fabs(*a.number)) : std::nullopt};
  const Tree b = random_number(row, depth - 1);
  const char sign = "+-*/"[kind - 6];
  Tree both{concat("(", a.text, " ", sign, " ", b.text, ")"), std::nullopt};
  if (!a.number || !b.number) return both;
  both.number = sign == '+'   ? *a.number + *b.number
                : sign == '-' ? *a.number - *b.number
                : sign == '*' ? *a.number * *b.number
                              : *a.number / *b.number;
  return both;
}

Tree random_condition(const RecordRow& row, int depth) {
  const int kind = depth <= 0 ? *rc::gen::inRange(0, 3) : *rc::gen::inRange(0, 6);
  if (kind == 0) {
    const bool same = *rc::gen::arbitrary<bool>();
    return {same ? "type == 'Conv'" : "'Conv' != type", std::nullopt, same};
  }
  if (kind <= 2) {
    Tree a = random_number(row, 2);
    a.text = concat("(absmax + ", a.text, ")");  // an expression must use the record
    if (a.number) *a.number += row.stats.absmax;
    const Tree b = random_number(row, 2);
    const std::string sign = *rc::gen::elementOf(std::vector<std::string>{"<", "<=", ">", ">=", "==", "!="});
    Tree both{a.text + sign + b.text, std::nullopt};
    if (!a.number || !b.number) return both;
    const double x = *a.number;
    const double y = *b.number;
    both.truth = sign == "<" ? x < y : sign == "<=" ? x <= y : sign == ">" ? x > y : sign == ">=" ? x >= y : sign == "==" ? x == y : x != y;
    return both;
  }
  const Tree a = random_condition(row, depth - 1);
  if (kind == 3) return {"not (" + a.text + ")", std::nullopt, !a.truth};
  const Tree b = random_condition(row, depth - 1);
  const bool all = kind == 4;
  return {concat("(", a.text, all ? " and " : "\tor ", b.text, ")"), std::nullopt, all ? a.truth && b.truth : a.truth || b.truth};
}

RC_GTEST_PROP(Where, AgreesWithASimpleEvaluator, ()) {
  const RecordRow row = a_row();
  const Tree tree = random_condition(row, 5);
  const auto parsed = WhereExpression::parse(tree.text);
  if (!parsed.ok()) RC_FAIL(tree.text + "\n" + parsed.status().message());
  RC_ASSERT((*parsed)->matches(row, an_op()) == tree.truth);
}

RC_GTEST_PROP(Where, AnyTextGivesAnExpressionOrAMessage, (const std::string& text)) {
  const auto parsed = WhereExpression::parse(text);
  if (!parsed.ok()) RC_ASSERT(parsed.status().message().starts_with("column "));
}

TEST(Where, ASimpleConditionIsCheap) {
  const auto parsed = WhereExpression::parse("nan > 0 or absmax > 6e4");
  RecordRow row = a_row();
  row.stats.nan = 0;
  const OpInfo op = an_op();
  constexpr int kTimes = 200000;
  int matched = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kTimes; ++i) {
    row.stats.absmax = i;
    matched += (*parsed)->matches(row, op) ? 1 : 0;
  }
  const auto elapsed = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(matched, kTimes - 60001);
  const double each = std::chrono::duration<double, std::nano>(elapsed).count() / kTimes;
  RecordProperty("nanoseconds", std::to_string(each));
  EXPECT_LT(each, 5000) << "a check against something gone wrong, not a measurement";
}

}  // namespace
}  // namespace tensortap
