#include "compare/local_judge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "compare/comparison_json.h"
#include "compare/dump_comparison.h"
#include "compare/made_dump.h"
#include "tensor/number_formats.h"

namespace tensortap {
namespace {

constexpr size_t kCount = 200;

// The findings of roots by value of B, and the comparison.
struct Judged {
  Judged(const DumpIndex& a, const DumpIndex& b, double allow = 1) {
    ComparisonOptions options;
    options.allow = allow;
    auto made = DumpComparison::make(a, b, std::move(options));
    EXPECT_TRUE(made.ok()) << made.status().message();
    comparison = *std::move(made);
    comparison->run([&](const ComparedValue& value) {
      if (value.judgement.finding == Finding::kNone || value.judgement.follows) return;
      roots[record_name_of(b, value.row_b)] = finding_name(value.judgement.finding);
    });
  }
  [[nodiscard]] Json summary() const { return summary_json(*comparison).at("summary"); }
  std::unique_ptr<DumpComparison> comparison;
  std::map<std::string, std::string> roots;
};
using Roots = std::map<std::string, std::string>;

// x and a weight, and ops that read what stands before them.
struct Program : MadeDump {
  Program() {
    for (const auto& [name, type] : {std::pair("x", kInputType), std::pair("w", kInitializerType)}) {
      at(op(name, std::string(type))).name = name;
      gives(static_cast<OpId>(all_ops.size() - 1), numbers(kCount, static_cast<uint32_t>(all_ops.size())));
    }
  }
  OpId makes(const std::string& name, const std::string& type, const std::vector<OpId>& inputs, const std::vector<float>& values) {
    const OpId id = op(name, type, inputs);
    gives(id, values);
    return id;
  }
};

std::vector<float> rounded_to_half(std::vector<float> values) {
  for (float& value : values) value = std::round(value * 1024) / 1024;  // of numbers from 1 to 2
  return values;
}

TEST(LocalJudge, NamesTheFirstValueThatIsNotExplainedByWhatItIsMadeOf) {
  Program a;
  Program b;
  for (Program* program : {&a, &b}) {
    const float factor = program == &a ? 1.01F : 1;
    program->makes("neg", "Neg", {0}, numbers(kCount, 5));
    program->makes("sqrt", "Sqrt", {2}, scaled(numbers(kCount, 6), factor));
    program->makes("floor", "Round", {3}, scaled(numbers(kCount, 7), factor));
  }
  const Judged judged(a, b);
  EXPECT_EQ(judged.roots, (Roots{{"sqrt:out0", "value"}}));
  EXPECT_TRUE(judged.comparison->summary().outside());
  EXPECT_EQ(judged.summary().at("culprit").at("b"), "sqrt:out0");
  EXPECT_EQ(judged.summary().at("culprit").at("input_level"), 0.0);
}

TEST(LocalJudge, NamesFurtherValuesThatNoOtherOneExplains) {
  Program a;
  Program b;
  for (Program* program : {&a, &b}) {
    const float factor = program == &a ? 1.01F : 1;
    program->makes("sqrt", "Sqrt", {0}, scaled(numbers(kCount, 6), factor));
    program->makes("log", "Log", {1}, scaled(numbers(kCount, 7), factor));
    program->makes("abs", "Abs", {2}, scaled(numbers(kCount, 6), factor));
  }
  const Json details = Judged(a, b).summary().at("details");
  ASSERT_EQ(details.size(), 1U) << details;
  EXPECT_EQ(details.at(0).get<std::string>().substr(0, 37), "also in log:out0 (Log): relative L2 0");
}

TEST(LocalJudge, SaysThatInputsHaveOtherShapes) {
  Program a;
  Program b;
  for (Program* program : {&a, &b}) {
    const int64_t count = program == &a ? 2 : 3;
    const OpId y = program->op("y", std::string(kInputType));
    program->at(y).name = "y";
    program->gives(y, numbers(static_cast<size_t>(count), 4), {1, count});
    program->makes("sqrt", "Sqrt", {y}, numbers(static_cast<size_t>(count), 6));
    program->makes("log", "Log", {0}, numbers(kCount, 7));
  }
  const Judged judged(a, b);
  EXPECT_TRUE(judged.comparison->summary().outside());
  EXPECT_EQ(judged.summary().at("other_inputs"), "inputs differ in shape: y:out0 [1,2] in A, [1,3] in B");
}

TEST(LocalJudge, SaysWhereShapesPartOnTheWayToAValue) {
  Program a;
  Program b;
  for (Program* program : {&a, &b}) {
    const size_t count = program == &a ? 12 : 18;
    if (program == &a) program->makes("extra", "Neg", {1}, numbers(kCount, 20));  // no program that has the same ops
    const OpId part = program->makes("part", "Slice", {0}, numbers(count, 9));
    const OpId root = program->makes("root", "Sqrt", {part}, numbers(count, program == &a ? 10 : 11));
    program->at(program->makes("sum", "ReduceSum", {root}, {program == &a ? 3.0F : 5.0F})).name = "result";
  }
  const Json details = Judged(a, b).summary().at("details");
  ASSERT_FALSE(details.empty());
  EXPECT_EQ(details.back(), "other shapes from here on: part:out0 [12] in A, [18] in B");
}

TEST(LocalJudge, SaysWhichInputsHaveNoPartner) {
  for (const bool in_both : {false, true}) {
    Program a;
    Program b;
    for (Program* program : {&a, &b}) {
      OpId last = 0;
      if (program == &a) last = program->makes("scale", "Mul", {0, 1}, numbers(kCount, 30));
      if (program == &b && in_both) last = program->makes("soften", "Softmax", {0}, numbers(kCount, 31));
      program->makes("sum", "Add", {last, 1}, scaled(numbers(kCount, 6), program == &a ? 1.01F : 1));
    }
    const Json culprit = Judged(a, b).summary().at("culprit");
    const std::string none = in_both ? "1 in A and 1 in B have none" : "1 in A has none";
    EXPECT_EQ(culprit.at("text"), "sum:out0 (Add): relative L2 0.01, the inputs that have a partner are equal, but " + none);
    EXPECT_EQ(culprit.at("inputs"),
              (Json{{"with_partner", 2}, {"without_partner_a", 1}, {"without_partner_b", in_both ? 1 : 0}, {"all_captured", true}}));
  }
}

TEST(LocalJudge, LetsAnErrorGrowByASmallFactorInEachOp) {
  for (const auto& [factor, is_out] : {std::pair(3.0F, false), std::pair(40.0F, true)}) {
    Program a;
    Program b;
    for (Program* program : {&a, &b}) {
      const float error = program == &a ? 0x1p-23F : 0;
      program->makes("sqrt", "Sqrt", {0}, scaled(numbers(kCount, 6), 1 + error));
      program->makes("log", "Log", {2}, scaled(numbers(kCount, 7), 1 + factor * error));
    }
    EXPECT_EQ(Judged(a, b).roots, is_out ? Roots({{"log:out0", "value"}}) : Roots());
    EXPECT_EQ(Judged(a, b, 10).roots, Roots()) << "with --allow";
  }
}

TEST(LocalJudge, HoldsASumThatIsNearlyZeroAgainstItsTerms) {
  Program a;
  Program b;
  for (Program* program : {&a, &b}) {
    program->makes("sqrt", "Sqrt", {0}, numbers(kCount, 6));
    program->makes("sum", "Sum", {2}, {program == &a ? 3e-7F : -2e-7F});
    program->makes("last", "Log", {3}, {program == &a ? 3e-7F : -2e-7F});
  }
  EXPECT_EQ(Judged(a, b).roots, Roots());
}

TEST(LocalJudge, NamesTheOpThatReadsAChangedWeightAndTheWeight) {
  Program a;
  Program b;
  std::vector<float> changed = numbers(kCount, 2);
  changed[3] *= 1.5F;
  a.set_data(1, changed);
  for (Program* program : {&a, &b}) {
    const std::vector<float> read = program == &a ? changed : numbers(kCount, 2);
    program->makes("moved", "Transpose", {1}, read);
    program->makes("mul", "Mul", {0, 2}, program == &a ? scaled(numbers(kCount, 8), 1.1F) : numbers(kCount, 8));
  }
  const Judged judged(a, b);
  EXPECT_EQ(judged.roots, (Roots{{"mul:out0", "weights"}, {"w:out0", "weights"}}));
  EXPECT_EQ(judged.summary().at("culprit").at("b"), "mul:out0");
  EXPECT_EQ(judged.summary().at("culprit").at("weight"), "w:out0");
}

TEST(LocalJudge, NamesTheOpThatReadsAWeightThatIsInfiniteOnOneSide) {
  Program a;
  Program b;
  std::vector<float> infinite = numbers(kCount, 2);
  infinite[3] = -std::numeric_limits<float>::infinity();
  a.set_data(1, infinite);
  for (Program* program : {&a, &b}) {
    program->makes("add", "Add", {0, 1}, program == &a ? infinite : numbers(kCount, 2));
    program->makes("exp", "Exp", {2}, scaled(numbers(kCount, 6), program == &a ? 1.5F : 1));
  }
  const Judged judged(a, b);
  EXPECT_EQ(judged.summary().at("culprit").at("b"), "add:out0");
  EXPECT_EQ(judged.summary().at("culprit").at("weight"), "w:out0");
}

TEST(LocalJudge, AcceptsWeightsThatAreTheOthersInANarrowerType) {
  Program a;
  Program b;
  a.set_data(1, rounded_to_half(numbers(kCount, 2)));
  for (Program* program : {&a, &b}) {
    program->makes("mul", "Mul", {0, 1}, program == &a ? scaled(numbers(kCount, 8), 1.0003F) : numbers(kCount, 8));
  }
  const Judged judged(a, b);
  EXPECT_EQ(judged.roots, Roots());
  EXPECT_FALSE(judged.comparison->summary().outside());
}

// A normalisation whose weights the runtime put into those of the convolution: of weights in float16 it makes others, which are no copies.
TEST(LocalJudge, AcceptsWeightsThatTheRuntimeComputedOfNarrowerOnes) {
  struct FoldedWeight {
    bool stores_half;
    bool folds;
    float factor;
    bool is_out;
  };
  for (const FoldedWeight& one :
       {FoldedWeight{true, true, 1.0003F, false}, {false, true, 1.0003F, true}, {true, false, 1.0003F, true}, {true, true, 1.01F, true}}) {
    Program a;
    Program b;
    if (one.stores_half) a.set_data(0, rounded_to_half(numbers(kCount, 1)));
    a.set_data(1, scaled(numbers(kCount, 2), one.factor));
    for (Program* program : {&a, &b}) {
      const OpId conv = program->makes("conv", "Conv", {0, 1}, scaled(numbers(kCount, 8), program == &a ? one.factor : 1));
      program->at(conv).originals = {{"conv", "Conv"}, {"norm", one.folds ? "BatchNormalization" : "Relu"}};
    }
    EXPECT_EQ(Judged(a, b).roots, one.is_out ? (Roots{{"conv:out0", "weights"}, {"w:out0", "weights"}}) : Roots()) << one.factor;
  }
}

TEST(LocalJudge, NamesAttributesThatDifferWhereTheResultDoes) {
  for (const bool same_result : {false, true}) {
    Program a;
    Program b;
    for (Program* program : {&a, &b}) {
      const float factor = program == &a && !same_result ? 1 + 0x1p-22F : 1;
      const OpId norm = program->makes("norm", "LayerNormalization", {0}, scaled(numbers(kCount, 6), factor));
      program->at(norm).attributes = program == &a ? R"({"epsilon":0.01,"axis":-1})" : R"({"epsilon":1e-5,"axis":1})";
    }
    const Judged judged(a, b);
    EXPECT_EQ(judged.roots, same_result ? Roots() : Roots({{"norm:out0", "attributes"}}));
    if (same_result) continue;
    EXPECT_EQ(judged.summary().at("culprit").at("attributes").at(0).at("name"), "epsilon");
  }
}

TEST(LocalJudge, AllowsAMoveNoError) {
  Program a;
  Program b;
  for (Program* program : {&a, &b}) {
    program->makes("reshape", "Reshape", {0}, scaled(numbers(kCount, 6), program == &a ? 1 + 0x1p-23F : 1));
  }
  EXPECT_EQ(Judged(a, b).roots, (Roots{{"reshape:out0", "moved"}}));
}

TEST(LocalJudge, NamesACastThatOneSideHas) {
  // Of one side, and of both. What ggml copies into memory of a narrower type, for an attention, is no cast that is missing elsewhere.
  for (const auto& [both, type] : {std::pair(false, "Cast"), std::pair(true, "Cast"), std::pair(false, "CPY")}) {
    Program a;
    Program b;
    for (Program* program : {&a, &b}) {
      OpId last = 0;
      for (uint32_t i = 0; i < 12; ++i) last = program->makes("op" + std::to_string(i), "Sqrt", {last}, numbers(kCount, 20 + i));
      if (program == &a || both) {
        const OpId low = program->makes(program == &a ? "low" : "low_b", type, {last}, numbers(kCount, 40));
        program->all_rows.back().set_desc({DType::kFloat16, {kCount}});
        program->set_data(program->all_rows.size() - 1, std::vector<uint16_t>(kCount, program == &a ? 0x3c00 : 0x4200));
        last = low;
      }
      program->makes("mul", "Mul", {last, 1}, scaled(numbers(kCount, 8), program == &a ? 1.0002F : 1));
    }
    const bool is_named = !both && std::string_view(type) == "Cast";
    EXPECT_EQ(Judged(a, b).roots, is_named ? Roots({{"mul:out0", "type"}}) : Roots()) << type;
  }
}

// ggml's GELU looks its values up in a table of float16.
TEST(LocalJudge, AllowsAnOpOfHalvesTheirStep) {
  for (const char* type : {"GELU", "Gelu"}) {
    Program a;
    Program b;
    for (Program* program : {&a, &b}) {
      OpId last = 0;
      for (uint32_t i = 0; i < 12; ++i) last = program->makes("op" + std::to_string(i), "Sqrt", {last}, numbers(kCount, 20 + i));
      program->makes("gelu", program == &a ? type : "gelu", {last}, scaled(numbers(kCount, 8), program == &a ? 1.0002F : 1));
    }
    EXPECT_EQ(Judged(a, b).roots, std::string_view(type) == "GELU" ? Roots() : Roots({{"gelu:out0", "value"}})) << type;
  }
}

TEST(LocalJudge, NamesAQuantiserThatClips) {
  for (const auto& [scale, is_out] : {std::pair(0.002F, true), std::pair(0.02F, false)}) {
    Program a;
    Program b;
    const std::vector<float> before = numbers(kCount, 6);
    std::vector<int8_t> codes;
    std::vector<float> after;
    for (const float value : before) {
      codes.push_back(static_cast<int8_t>(std::min(127.0F, std::round(value / scale))));
      after.push_back(scale * static_cast<float>(codes.back()));
    }
    for (Program* program : {&a, &b}) {
      OpId last = program->makes("sqrt", "Sqrt", {0}, before);
      if (program == &a) {
        const OpId given = program->makes("scale", std::string(kInitializerType), {}, {scale});
        const OpId quantise = program->makes("q", "QuantizeLinear", {last, given}, before);
        program->all_rows.back().set_desc({DType::kInt8, {kCount}});
        program->set_data(program->all_rows.size() - 1, codes);
        last = program->makes("dq", "DequantizeLinear", {quantise, given}, after);
      }
      std::vector<float> result = program == &a ? after : before;
      for (float& value : result) value = std::sqrt(value);
      program->makes("log", "Log", {last}, result);
    }
    const Judged judged(a, b);
    EXPECT_EQ(judged.roots, is_out ? Roots({{"log:out0", "saturated"}}) : Roots()) << scale;
    if (is_out) {
      EXPECT_EQ(judged.summary().at("culprit").at("clipped").at("op"), "dq");
    }
  }
}

// Numbers of 1.0 and next to it in bfloat16.
TEST(LocalJudge, TellsAFactorFromRoundingInTypesOf16Bits) {
  for (const bool one_way : {true, false}) {
    Program a;
    Program b;
    for (Program* program : {&a, &b}) {
      program->makes("gelu", "Gelu", {0}, numbers(kCount, 6));
      std::vector<uint16_t> values;
      for (size_t i = 0; i < kCount; ++i) {
        const auto step = static_cast<uint16_t>(program == &b ? 0 : one_way ? 1 : i % 2 == 0 ? 1 : -1);
        values.push_back(static_cast<uint16_t>(0x3f90 + i % 16 + step));
      }
      program->all_rows.back().set_desc({DType::kBFloat16, {kCount}});
      program->set_data(program->all_rows.size() - 1, values);
    }
    EXPECT_EQ(Judged(a, b).roots, one_way ? Roots({{"gelu:out0", "systematic"}}) : Roots());
  }
}

// bfloat16: 1.125 and next to it; one number of B is half as large again where `is_changed`.
std::vector<uint16_t> near_one(bool is_changed, uint16_t beside) {
  std::vector<uint16_t> values;
  for (size_t i = 0; i < size_t{64} * kCount; ++i) values.push_back(static_cast<uint16_t>(0x3f90 + i % 16 + (i % 2 == 0 ? 0 : beside)));
  if (is_changed) values[7] = static_cast<uint16_t>(values[7] + 0x40);
  return values;
}

void set_bfloat16(Program& program, const std::vector<uint16_t>& values) {
  program.all_rows.back().set_desc({DType::kBFloat16, {static_cast<int64_t>(values.size())}});
  program.set_data(program.all_rows.size() - 1, values);
}

TEST(LocalJudge, ASingleElementOfACopyDiffersByNoMoreThanRounding) {
  for (const bool is_changed : {true, false}) {
    Program a;
    Program b;
    for (Program* program : {&a, &b}) {
      OpId from = 1;
      if (program == &b) from = program->makes("scale", "Mul", {1}, numbers(kCount, 9));
      program->makes("copy", "_to_copy", {from}, numbers(kCount, 6));
      set_bfloat16(*program, near_one(is_changed && program == &b, program == &b ? 1 : 0));
    }
    EXPECT_EQ(Judged(a, b).roots, is_changed ? Roots({{"copy:out0", "element"}}) : Roots());
  }
}

// `beside`: kernels that round otherwise are no fault. An op that adds elements of an input of another size changes few of them, too.
TEST(LocalJudge, WhereAllOthersAreEqualASingleElementIsNoOtherRounding) {
  for (const auto& [beside, same_size] : {std::pair(uint16_t{0}, true), std::pair(uint16_t{1}, true), std::pair(uint16_t{0}, false)}) {
    Program a;
    Program b;
    for (Program* program : {&a, &b}) {
      const OpId wide = program->makes("wide", "Expand", {0}, numbers(size_t{64} * kCount, 8));
      program->makes("gelu", "Gelu", {same_size ? wide : 0}, numbers(kCount, 6));
      std::vector<uint16_t> values = near_one(program == &b, 0);
      for (size_t i = 0; i < values.size() && program == &b; i += 2) {
        values[i] = static_cast<uint16_t>(values[i] + (i % 4 == 0 ? beside : -beside));
      }
      set_bfloat16(*program, values);
    }
    const bool is_fault = beside == 0 && same_size;
    EXPECT_EQ(Judged(a, b).roots, is_fault ? Roots({{"gelu:out0", "element"}}) : Roots()) << beside << same_size;
  }
}

// A setting that rounding takes away, as a decay of the weights in bfloat16.
TEST(LocalJudge, NamesAWeightThatDiffersThoughNothingMadeOfItDoes) {
  Program a;
  Program b;
  a.set_data(1, scaled(numbers(kCount, 2), 1.01F));
  for (Program* program : {&a, &b}) program->makes("round", "Round", {1}, numbers(kCount, 7));
  const Judged judged(a, b);
  EXPECT_TRUE(judged.comparison->summary().outside());
  EXPECT_EQ(judged.summary().at("culprit").at("b"), "w:out0");
  EXPECT_EQ(judged.summary().at("culprit").at("text"),
            "w:out0 (Initializer): relative L2 0.01, an input or a weight, though nothing that is made of it is out");
}

TEST(LocalJudge, ProgramsThatShareCodesLoseNothingByThem) {
  for (const bool shared : {true, false}) {
    Program a;
    Program b;
    for (Program* program : {&a, &b}) {
      const bool of_a = program == &a;
      program->makes("first", "MatMulNBits", {0, 1}, scaled(numbers(kCount, 6), of_a && !shared ? 1.02F : 1));
      program->makes("second", "MatMulNBits", {0, 1}, scaled(numbers(kCount, 7), of_a ? 1.03F : 1));
    }
    EXPECT_EQ(Judged(a, b).roots, shared ? Roots({{"second:out0", "value"}}) : Roots());
  }
}

// The largest number below 0 of a type hides all of what it is added to.
TEST(LocalJudge, WhatShowsAMaskedSumHidesTheErrorOfTheOtherTermToo) {
  for (const auto& [error, is_out] : {std::pair(6 * 0x1p-23F, false), std::pair(60 * 0x1p-23F, true)}) {
    Program a;
    Program b;
    for (Program* program : {&a, &b}) {
      const float factor = program == &a ? 1 : 0;
      const std::vector<float> scores = scaled(numbers(kCount, 6), 1 + factor * 0x1p-23F);
      std::vector<float> masked = scores;
      for (size_t i = 0; i < kCount / 2; ++i) masked[i] = -3e38F;
      program->makes("scores", "Sqrt", {0}, scores);
      program->makes("sum", "Add", {2, 1}, masked);
      program->makes("cast", "Cast", {3}, masked);
      program->makes("share", "Softmax", {4}, scaled(numbers(kCount, 9), 1 + factor * error));
    }
    EXPECT_EQ(Judged(a, b).roots, is_out ? Roots({{"share:out0", "value"}}) : Roots());
  }
}

// Two implementations that name nothing alike, and whose results are too far apart to be known by their values.
TEST(LocalJudge, NamesTheOnlyOpOfAKindThatReadsTheSameWhereResultsHaveNoPartner) {
  for (const bool twice : {false, true}) {
    Program a;
    Program b;
    for (Program* program : {&a, &b}) {
      const bool of_a = program == &a;
      program->makes("neg", "Neg", {0}, numbers(kCount, 5));
      program->makes(of_a ? "view" : "reshape", of_a ? "view" : "Reshape", {2}, numbers(kCount, 5));
      program->makes(of_a ? "a" : "b", "scaled_dot_product_attention", {of_a ? 3U : 2U}, numbers(kCount, of_a ? 8 : 9));
      if (twice) program->makes(of_a ? "a2" : "b2", "scaled_dot_product_attention", {2}, numbers(kCount, of_a ? 10 : 11));
    }
    const Judged judged(a, b);
    EXPECT_EQ(judged.roots, twice ? Roots() : Roots({{"b:out0", "value"}}));
    EXPECT_EQ(judged.comparison->summary().has_open_ends(), twice);
  }
}

// Only one program asks whether its positions are packed.
TEST(LocalJudge, ATruthValueThatDecidesWhatIsCalledNextIsNoResult) {
  for (const bool is_decision : {true, false}) {
    Program a;
    Program b;
    for (Program* program : {&a, &b}) {
      program->makes("neg", "neg", {0}, numbers(kCount, 5));
      program->makes("sqrt", "sqrt", {2}, numbers(kCount, 6));
    }
    b.makes("difference", "sub", {0}, numbers(kCount / 2, 7));
    const OpId all = b.op("all", "all", {4});
    const size_t row = b.gives(all, {1.0F}, Shape({}), {.with_data = !is_decision});
    if (is_decision) b.all_rows[row].set_desc({DType::kBool, Shape({})});
    for (Program* program : {&a, &b}) {
      for (OpId id = 2; id < program->all_ops.size(); ++id) program->at(id).domain = "aten";
    }
    EXPECT_EQ(Judged(a, b).comparison->summary().has_open_ends(), !is_decision);
  }
}

TEST(LocalJudge, WholeNumbersAreExactWhereWhatTheyAreMadeOfIsEqual) {
  Program a;
  Program b;
  for (Program* program : {&a, &b}) {
    const OpId index = program->op("index", "ArgMax", {0});
    const size_t row = program->gives(index, numbers(kCount, 5));
    program->all_rows[row].set_desc({DType::kInt32, Shape({static_cast<int64_t>(kCount)})});
    std::vector<int32_t> places(kCount, 100);
    places[7] += program == &a ? 1 : 0;
    program->set_data(row, places);
  }
  EXPECT_EQ(Judged(a, b).roots, (Roots{{"index:out0", "integers"}}));
}

TEST(LocalJudge, AnErrorThatGrowsOverManyOpsIsOneOfTheWhole) {
  Program a;
  Program b;
  for (Program* program : {&a, &b}) {
    float error = program == &a ? 0x1p-23F : 0;
    for (uint32_t i = 0; i < 8; ++i, error *= 3.5F) {
      program->makes("op" + std::to_string(i), "Sqrt", {i == 0 ? 0 : i + 1}, scaled(numbers(kCount, 6 + i), 1 + error));
    }
  }
  const Judged judged(a, b);
  ASSERT_EQ(judged.roots.size(), 1U);
  EXPECT_EQ(judged.roots.begin()->second, "grown");
}

}  // namespace
}  // namespace tensortap
