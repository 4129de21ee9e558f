// NaN and Inf in dumps that know their whole graph: which ops made them, and whether a result of the graph holds any.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "find/find_report.h"
#include "find/nonfinite_origins.h"
#include "trace/vector_dump_index.h"

namespace tensortap {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Counts of a record; all other values are finite.
struct Counts {
  uint64_t nan = 0;
  uint64_t pos_inf = 0;
  uint64_t neg_inf = 0;
  uint64_t zero = 0;
};

class GraphDump : public VectorDumpIndex {
 public:
  explicit GraphDump(DType dtype = DType::kFloat32) : dtype_(dtype) {}

  // The op's only output is called as the op is; `is_result`: the graph hands it out.
  OpId op(const std::string& name, const std::string& type, const std::vector<std::string>& inputs = {}, bool is_result = false) {
    OpInfo info;
    info.name = name;
    info.type = type;
    for (const std::string& input : inputs) info.inputs.push_back({input, kNoOp, 0});
    info.outputs = {name};
    if (is_result) info.attributes = R"({"graph_outputs": [0]})";
    return add_op(std::move(info));
  }

  size_t record(const std::string& name, Counts counts = {}, int64_t numel = 8) {
    RecordRow row;
    row.op = static_cast<OpId>(std::ranges::find(all_ops, name, &OpInfo::name) - all_ops.begin());
    row.step = step;
    row.set_desc({dtype_, {numel}});
    row.stats.valid = kStatFull;
    row.stats.count = static_cast<uint64_t>(numel);
    row.stats.nan = counts.nan;
    row.stats.pos_inf = counts.pos_inf;
    row.stats.neg_inf = counts.neg_inf;
    row.stats.zero = counts.zero;
    row.stats.first_nonfinite = counts.nan + counts.pos_inf + counts.neg_inf > 0 ? 1 : -1;
    return add(row);
  }

  [[nodiscard]] std::string first_cause() const {
    const Json first = find_report(*this, 10)["first_nonfinite"];
    return first.is_null() ? "" : first["op"].get<std::string>();
  }

  int64_t step = 0;

 private:
  DType dtype_;
};

// scores -> where(scores, minus_infinity) -> softmax -> out
struct Attention : GraphDump {
  Attention() {
    op("scores", "Input");
    op("infinity", "Initializer");
    op("mask", "Where", {"scores", "infinity"});
    op("softmax", "Softmax", {"mask"});
    op("out", "MatMul", {"softmax"}, true);
  }
  void run(uint64_t nan) {
    record("scores");
    record("infinity", {.neg_inf = 1}, 1);
    record("mask", {.neg_inf = 4});
    record("softmax", {.nan = nan, .zero = 4});
    record("out", {.nan = nan});
  }
};

TEST(GraphWalk, AnOpThatMakesNanOfAMaskIsTheOrigin) {
  Attention broken;
  broken.run(4);
  EXPECT_EQ(broken.first_cause(), "softmax");
  const NonFiniteFindings found = find_nonfinite(broken);
  ASSERT_TRUE(found.seen);
  EXPECT_EQ(found.seen->reached, "result");
  EXPECT_EQ(found.seen->kind, OriginKind::kOp);
  EXPECT_TRUE(found.seen->certain);
}

TEST(GraphWalk, AMaskIsHarmlessWhereNoResultHoldsAny) {
  Attention healthy;
  healthy.run(0);
  EXPECT_EQ(healthy.first_cause(), "");
  const NonFiniteFindings found = find_nonfinite(healthy);
  EXPECT_TRUE(found.judged);
  ASSERT_EQ(found.origins.size(), 1U);
  EXPECT_TRUE(found.origins[0].harmless);
  EXPECT_EQ(found.origins[0].kind, OriginKind::kWeight);
}

// B19: whether harm was done is not known there, and infinities of a mask must not hide the NaN of a weight.
TEST(GraphWalk, AWeightWithNanIsFoundBesideAMaskWhereTheGraphIsNotKnown) {
  for (const uint64_t nan : {0, 1}) {
    GraphDump dump;
    dump.op("mask", "Input");
    dump.all_ops.back().attributes = R"({"intended_inf": true})";
    dump.op("weight", "Initializer");
    dump.op("masked", "Add", {"mask"});
    dump.op("norm", "Mul", {"weight"});
    dump.record("weight", {.nan = nan});
    dump.all_rows.back().phase = static_cast<uint8_t>(Phase::kLoad);
    dump.record("mask", {.neg_inf = 4});
    dump.record("masked", {.neg_inf = 4});
    dump.record("norm", {.nan = nan});
    EXPECT_FALSE(find_nonfinite(dump).judged);
    EXPECT_EQ(dump.first_cause(), nan > 0 ? "norm" : "");
  }
}

TEST(GraphWalk, EachStepIsJudgedByItself) {
  Attention dump;
  dump.run(0);
  dump.step = 1;
  dump.run(4);
  const Json first = find_report(dump, 10)["first_nonfinite"];
  EXPECT_EQ(first["op"], "softmax");
  EXPECT_EQ(first["step"], 1);
}

// An op's own infinities: log(0) under a Where, and the same where the graph hands them out.
TEST(GraphWalk, WhatAnOpMadeIsHarmlessUnlessItReachesAResult) {
  for (const bool reaches : {false, true}) {
    GraphDump dump;
    dump.op("x", "Input");
    dump.op("log", "Log", {"x"});
    dump.op("bucket", "Where", {"x", "log"});
    dump.op("y", "Add", {"bucket"}, true);
    dump.record("x", {.zero = 1});
    dump.record("log", {.neg_inf = 1});
    dump.record("bucket", {.neg_inf = reaches ? 1U : 0U});
    dump.record("y", {.neg_inf = reaches ? 1U : 0U});
    EXPECT_EQ(dump.first_cause(), reaches ? "log" : "");
    EXPECT_EQ(find_nonfinite(dump).origins[0].harmless, !reaches);
  }
}

TEST(GraphWalk, AReaderThatWasNotCapturedLeavesItOpen) {
  GraphDump dump;
  dump.op("x", "Input");
  dump.op("log", "Log", {"x"});
  dump.op("one", "Where", {"log"});
  dump.op("other", "Add", {"log"});
  dump.op("y", "Add", {"one", "other"}, true);
  dump.record("x");
  dump.record("log", {.neg_inf = 1});
  dump.record("one");
  dump.record("y");
  EXPECT_EQ(dump.first_cause(), "log") << "what became of it in the other reader is not known";
  dump.record("other");
  std::swap(dump.all_rows[3].sequence, dump.all_rows[4].sequence);
  EXPECT_EQ(dump.first_cause(), "");
}

TEST(GraphWalk, AReaderWhoseValuesWereNotCountedLeavesItOpen) {
  GraphDump dump;
  dump.op("log", "Log");
  dump.op("where", "Where", {"log"});
  dump.op("y", "Add", {"where"}, true);
  dump.record("log", {.neg_inf = 1});
  dump.all_rows[dump.record("where")].stats = {};
  dump.record("y");
  EXPECT_EQ(dump.first_cause(), "log");
}

TEST(GraphWalk, AValueThatNothingReadsIsHarmless) {
  GraphDump dump;
  dump.op("nan", "ConstantOfShape");
  dump.op("y", "Input", {}, true);
  dump.record("nan", {.nan = 8});
  dump.record("y");
  EXPECT_EQ(dump.first_cause(), "");
  EXPECT_TRUE(find_nonfinite(dump).origins[0].harmless);
}

// logits -> log -> argmax -> label, or -> codes -> numbers -> scaled by a weight.
TEST(GraphWalk, WhatIsMadeOfNanAsIfItWereANumberMattersWhereTheGraphHandsItOut) {
  for (const std::string type : {"ArgMax", "IsNaN", "Greater"}) {
    GraphDump dump;
    dump.op("x", "Input");
    dump.op("log", "Log", {"x"});
    dump.op("label", type, {"log"}, true);
    dump.record("x");
    const size_t made = dump.record("log", {.nan = 1});
    dump.record("label");
    dump.all_rows.back().dtype = static_cast<uint8_t>(DType::kInt64);
    EXPECT_EQ(dump.first_cause(), type == "IsNaN" ? "" : "log");
    if (type == "IsNaN") continue;
    const NonFiniteFindings found = find_nonfinite(dump);
    ASSERT_TRUE(found.seen);
    EXPECT_EQ(found.seen->reached, "result");
    EXPECT_EQ(found.seen->chain.back().row, made);
  }
}

// log -> the largest number, without NaN -> scaled by a weight. An op that chooses leaves NaN out on purpose.
TEST(GraphWalk, NanThatAKernelLeavesOutMattersWhereTheGraphHandsItsAnswerOut) {
  for (const std::string type : {"ReduceMax", "GlobalMaxPool", "Where"}) {
    GraphDump dump;
    dump.op("x", "Input");
    dump.op("scale", "Initializer");
    dump.op("log", "Log", {"x"});
    dump.op("largest", type, {"log"});
    dump.op("y", "Mul", {"largest", "scale"}, true);
    dump.record("x");
    dump.record("scale");
    dump.record("log", {.nan = 1});
    dump.record("largest");
    dump.record("y");
    EXPECT_EQ(dump.first_cause(), type == "Where" ? "" : "log") << type;
  }
}

TEST(GraphWalk, NumbersMadeOfCodesOfNanMatterUntilTheyMeetOthers) {
  for (const bool meets_others : {false, true}) {
    GraphDump dump;
    dump.op("x", "Input");
    dump.op("scale", "Initializer");
    dump.op("log", "Log", {"x"});
    dump.op("codes", "QuantizeLinear", {"log", "scale"});
    dump.op("numbers", "DequantizeLinear", {"codes", "scale"});
    dump.op("y", "Mul", {"numbers", meets_others ? "x" : "scale"}, true);
    dump.record("x");
    dump.record("scale");
    dump.record("log", {.nan = 1});
    dump.record("codes");
    dump.all_rows.back().dtype = static_cast<uint8_t>(DType::kUInt8);
    dump.record("numbers");
    dump.record("y");
    EXPECT_EQ(dump.first_cause(), meets_others ? "" : "log");
  }
}

TEST(GraphWalk, ABranchThatWasNotTakenReadsNothing) {
  GraphDump dump;
  dump.op("log", "Log");
  const OpId branch = dump.op("if", "If", {}, true);
  const OpId taken = dump.op("taken", "Where", {"log"});
  const OpId other = dump.op("other", "Identity", {"log"});
  for (const auto& [id, graph] : {std::pair(taken, "if/then_branch"), {other, "if/else_branch"}}) {
    dump.all_ops[id].parent = branch;
    dump.all_ops[id].graph = graph;
    dump.all_ops[id].attributes = R"({"graph_outputs": [0]})";
  }
  dump.record("log", {.neg_inf = 1});
  dump.record("taken");
  dump.record("if");
  EXPECT_EQ(dump.first_cause(), "");
}

// The body of a loop hands out NaN in its first round only.
TEST(GraphWalk, WhatABodyHandsOutInAnyRoundIsInWhatItsOpGives) {
  for (const bool reaches : {false, true}) {
    GraphDump dump;
    const OpId loop = dump.op("loop", "Loop", {}, true);
    const OpId body = dump.op("body", "Log");
    dump.all_ops[body].parent = loop;
    dump.all_ops[body].graph = "loop/body";
    dump.all_ops[body].attributes = R"({"graph_outputs": [0]})";
    dump.record("body", {.nan = 1});
    dump.all_rows[dump.record("body")].call = 1;
    dump.record("loop", {.nan = reaches ? 1U : 0U});
    EXPECT_EQ(find_nonfinite(dump).origins[0].harmless, !reaches);
    EXPECT_EQ(dump.first_cause().empty(), !reaches);
  }
}

// x -> body: sub reads x in the first trip and what root made in later ones.
TEST(GraphWalk, WhatATripReadsOfTheOneBeforeIsNoSecondOrigin) {
  for (const bool told : {false, true}) {
    GraphDump dump;
    dump.op("x", "Input");
    const OpId loop = dump.op("loop", "Loop", {"x"}, true);
    const OpId sub = dump.op("sub", "Sub", {"s"});
    const OpId root = dump.op("root", "Sqrt", {"sub"});
    for (const OpId id : {sub, root}) {
      dump.all_ops[id].parent = loop;
      dump.all_ops[id].graph = "loop/body";
    }
    if (told) dump.all_ops[sub].attributes = R"({"body_inputs": {"0": [["", "x"], ["loop/body", "root"], ["", 3], 7]}})";
    dump.record("x");
    dump.record("sub");
    dump.record("root", {.nan = 1});
    for (const char* name : {"sub", "root"}) dump.all_rows[dump.record(name, {.nan = 1})].call = 1;
    dump.record("loop", {.nan = 1});
    EXPECT_EQ(find_nonfinite(dump).origins.size(), told ? 1U : 2U);
    EXPECT_EQ(dump.first_cause(), told ? "root" : "sub");
  }
}

// The weights of a model that was converted to a narrow type.
TEST(GraphWalk, InfinitiesOfAWeightThatReachAResultAreNamed) {
  for (const bool makes_nan : {false, true}) {
    GraphDump dump(DType::kFloat16);
    dump.op("x", "Input");
    dump.op("w", "Initializer");
    dump.op("y", "MatMul", {"x", "w"}, true);
    dump.record("x");
    dump.record("w", {.pos_inf = 3});
    dump.record("y", makes_nan ? Counts{.nan = 2} : Counts{.pos_inf = 2});
    EXPECT_EQ(dump.first_cause(), makes_nan ? "y" : "w");
    EXPECT_FALSE(find_nonfinite(dump).origins[0].harmless);
  }
}

TEST(GraphWalk, AMaskThatTheGraphHandsOutIsNoAlarm) {
  GraphDump dump;
  dump.op("mask", "Initializer");
  dump.op("scores", "Input");
  dump.op("y", "Add", {"scores", "mask"}, true);
  dump.record("mask", {.neg_inf = 3, .zero = 5});
  dump.record("scores");
  dump.record("y", {.neg_inf = 3});
  EXPECT_EQ(dump.first_cause(), "");
}

// mean(x * x) overflows, and 1 / sqrt(Inf) is 0.
TEST(GraphWalk, AnOverflowOfANarrowTypeThatIsDividedByIsWrong) {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat32}) {
    GraphDump dump(dtype);
    dump.op("x", "Input");
    dump.op("square", "Mul", {"x", "x"});
    dump.op("root", "Sqrt", {"square"});
    dump.op("inverse", "Reciprocal", {"root"});
    dump.op("y", "Mul", {"x", "inverse"}, true);
    dump.record("x");
    dump.record("square", {.pos_inf = 2});
    dump.record("root", {.pos_inf = 2});
    dump.record("inverse", {.zero = 2});
    dump.record("y", {.zero = 2});
    EXPECT_EQ(dump.first_cause(), dtype == DType::kFloat16 ? "square" : "");
    if (dtype != DType::kFloat16) continue;
    const Json seen = find_report(dump, 10)["seen"];
    EXPECT_EQ(seen["reached"], "swallowed");
    EXPECT_EQ(seen["overflow"], "float16");
    EXPECT_EQ(seen["swallowed_by"]["op"], "inverse");
    EXPECT_EQ(seen["swallowed_by"]["zero"], 2);
  }
}

// The type of the op that read Inf, and whether that is a finding.
TEST(GraphWalk, AnOverflowThatIsBoundedOrChosenAmongIsHarmless) {
  for (const auto& [type, is_wrong] : {std::pair("Clip", false),
                                       {"Tanh", false},
                                       {"Where", false},
                                       {"Min", false},
                                       {"Div", true},
                                       {"BatchNormalization", true},
                                       {"Pow", true}}) {
    GraphDump dump(DType::kFloat16);
    dump.op("x", "Input");
    dump.op("exp", "Exp", {"x"});
    dump.op("y", type, {"x", "exp"}, true);
    dump.record("x");
    dump.record("exp", {.pos_inf = 2});
    dump.record("y", {.zero = 2});
    EXPECT_EQ(dump.first_cause(), is_wrong ? "exp" : "") << type;
  }
}

// Scores that are masked twice overflow to -Inf, of which Softmax makes the 0 that it should.
TEST(GraphWalk, MinusInfinityIsWrongWhereItIsDividedBy) {
  for (const auto& [type, is_wrong] : {std::pair("Softmax", false), {"Exp", false}, {"Reciprocal", true}}) {
    GraphDump dump(DType::kFloat16);
    dump.op("x", "Input");
    dump.op("add", "Add", {"x", "x"});
    dump.op("y", type, {"add"}, true);
    dump.record("x");
    dump.record("add", {.neg_inf = 2});
    dump.record("y", {.zero = 2});
    EXPECT_EQ(dump.first_cause(), is_wrong ? "add" : "") << type;
  }
}

// 1 / 0 is infinite in every type: no overflow.
TEST(GraphWalk, ADivisionByZeroIsNoOverflow) {
  for (const auto& [type, zeros, is_wrong] : {std::tuple("Reciprocal", 1U, false), {"Reciprocal", 0U, true}, {"Log", 0U, false}}) {
    GraphDump dump(DType::kFloat16);
    dump.op("x", "Input");
    dump.op("made", type, {"x"});
    dump.op("y", "Reciprocal", {"made"}, true);
    dump.record("x", {.zero = zeros});
    dump.record("made", {.pos_inf = 1});
    dump.record("y", {.zero = 1});
    EXPECT_EQ(dump.first_cause(), is_wrong ? "made" : "") << type << zeros;
  }
}

// A dump that lists no results of its graph is not judged: the first value counts, unless it is a mask.
TEST(GraphWalk, WithoutAKnownGraphNothingIsCalledHarmless) {
  Attention dump;
  for (OpInfo& op : dump.all_ops) op.attributes.clear();
  dump.run(4);
  EXPECT_EQ(dump.first_cause(), "softmax");
  GraphDump other;
  other.op("log", "Log");
  other.op("where", "Where", {"log"});
  other.record("log", {.neg_inf = 1});
  other.record("where");
  EXPECT_EQ(other.first_cause(), "log");
  EXPECT_FALSE(find_nonfinite(other).judged);
  EXPECT_THAT(find_report(other, 10)["unwritten"], IsEmpty());
}

}  // namespace
}  // namespace tensortap
