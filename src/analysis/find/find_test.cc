#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/json.h"
#include "find/find_json.h"
#include "find/headroom.h"
#include "find/nonfinite_origins.h"
#include "find/patterns.h"
#include "stats/histogram.h"
#include "stats/stats.h"
#include "trace/vector_dump_index.h"

namespace tensortap {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr double kInf = std::numeric_limits<double>::infinity();

OpInfo op(std::string name, std::string type, std::vector<std::string> inputs, std::vector<std::string> outputs) {
  OpInfo info;
  info.name = std::move(name);
  info.type = std::move(type);
  for (std::string& input : inputs) info.inputs.push_back({std::move(input), kNoOp, 0});
  info.outputs = std::move(outputs);
  return info;
}

RecordRow row_of(OpId id, double absmax, uint64_t nan = 0) {
  RecordRow row;
  row.op = id;
  row.set_desc({DType::kFloat32, {2, 3}});
  row.stats.valid = kStatFull;
  row.stats.count = 6;
  row.stats.min = -absmax;
  row.stats.max = absmax;
  row.stats.absmax = absmax;
  row.stats.nan = nan;
  row.stats.first_nonfinite = nan > 0 ? 4 : -1;
  return row;
}

// x, w -> mul -> sqrt -> add(sqrt, w), with records of one step; `nan` NaN in each of x, w, mul, sqrt, add.
struct ADump : VectorDumpIndex {
  explicit ADump(const std::vector<uint64_t>& nan) {
    add_op(op("x", "Input", {}, {"x"}));
    add_op(op("w", "Initializer", {}, {"w"}));
    add_op(op("mul", "Mul", {"x", "w"}, {"a"}));
    add_op(op("sqrt", "Sqrt", {"a"}, {"b"}));
    add_op(op("add", "Add", {"b", "w"}, {"c"}));
    all_ops[3].source_location = "/src/train.py:41";
    for (OpId id = 0; id < nan.size(); ++id) add(row_of(id, 1, nan[id]));
  }
};

TEST(FirstNonFinite, IsTheEarliestByTimeNotByRow) {
  ADump dump(std::vector<uint64_t>{0, 0, 0, 2, 1});
  dump.all_rows[4].sequence = 1;
  dump.all_rows[3].sequence = 9;
  const std::optional<NonFiniteRecord> found = first_nonfinite(dump);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->row, 4U);
  EXPECT_FALSE(first_nonfinite(ADump(std::vector<uint64_t>{0, 0, 0, 0, 0})));
}

TEST(FirstNonFinite, SaysWhichAndWhere) {
  ADump dump(std::vector<uint64_t>{0, 0, 0, 2, 1});
  dump.all_rows[3].step = 7;
  dump.all_rows[3].stats.pos_inf = 1;
  const Json json = nonfinite_json(dump, *first_nonfinite(dump));
  EXPECT_EQ(
      to_json_text(json),
      R"({"step":7,"op":"sqrt","type":"Sqrt","slot":"out0","nan":2,"pos_inf":1,"neg_inf":0,"index":[1,1],"source":"/src/train.py:41","module":null,"phase":"inference","forward":null})");
}

TEST(FirstNonFinite, CountsTheDataWhereStatisticsWereNotTaken) {
  ADump dump(std::vector<uint64_t>{0, 0, 0, 0, 0});
  dump.all_rows[2].stats = {};
  EXPECT_FALSE(first_nonfinite(dump)) << "neither counts nor data";
  dump.set_data<float>(2, {1, 2, -INFINITY, 3, NAN, 4});
  const std::optional<NonFiniteRecord> found = first_nonfinite(dump);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->row, 2U);
  EXPECT_EQ(found->nan, 1U);
  EXPECT_EQ(found->neg_inf, 1U);
  EXPECT_THAT(found->index, ElementsAre(0, 2));
}

TEST(FirstNonFinite, HostileIndexIsNotUnravelled) {
  ADump dump(std::vector<uint64_t>{1, 0, 0, 0, 0});
  dump.all_rows[0].stats.first_nonfinite = 600;
  EXPECT_FALSE(first_nonfinite(dump)->index_known);
  EXPECT_EQ(nonfinite_json(dump, *first_nonfinite(dump))["index"], nullptr);
}

std::vector<size_t> rows_of(const NonFiniteOrigin& origin) {
  std::vector<size_t> rows;
  for (const OriginStep& step : origin.chain) rows.push_back(step.row);
  return rows;
}

// B4
TEST(NonFiniteOrigin, IsTheOpThatMadeItFromFiniteInputs) {
  ADump dump(std::vector<uint64_t>{0, 0, 0, 2, 1});
  const NonFiniteOrigin origin = trace_nonfinite(dump, 4);
  EXPECT_EQ(origin.kind, OriginKind::kOp);
  EXPECT_TRUE(origin.certain);
  EXPECT_THAT(rows_of(origin), ElementsAre(4, 3));
  EXPECT_THAT(origin.chain[1].inputs, ElementsAre(2));
  EXPECT_THAT(origin.chain[0].inputs, ElementsAre(3, 1));
}

TEST(NonFiniteOrigin, WeightsAndGraphInputsAreOriginsOfTheirOwn) {
  const NonFiniteOrigin weight = trace_nonfinite(ADump(std::vector<uint64_t>{0, 1, 2, 2, 1}), 4);
  EXPECT_EQ(weight.kind, OriginKind::kWeight);
  EXPECT_THAT(rows_of(weight), ElementsAre(4, 1)) << "the earliest of what was read";
  const NonFiniteOrigin input = trace_nonfinite(ADump(std::vector<uint64_t>{1, 0, 2, 2, 1}), 4);
  EXPECT_EQ(input.kind, OriginKind::kGraphInput);
  EXPECT_THAT(rows_of(input), ElementsAre(4, 3, 2, 0));
}

TEST(NonFiniteOrigin, MissingRecordsAreSaid) {
  ADump dump(std::vector<uint64_t>{0, 0, 0, 2, 1});
  dump.all_rows[2].op = kNoOp;
  const NonFiniteOrigin origin = trace_nonfinite(dump, 4);
  EXPECT_THAT(rows_of(origin), ElementsAre(4, 3));
  EXPECT_EQ(origin.kind, OriginKind::kUnknown);
  EXPECT_FALSE(origin.certain);
  EXPECT_THAT(origin.chain[1].missing, ElementsAre("a"));
  EXPECT_EQ(origin_json(dump, origin)["chain"][1]["missing"], Json::parse(R"(["a"])"));
}

TEST(NonFiniteOrigin, StepsAndRunsAreKeptApart) {
  ADump dump(std::vector<uint64_t>{0, 0, 0, 0, 0});
  RecordRow row = row_of(3, 1, 1);
  row.step = 1;
  const size_t sqrt = dump.add(row);
  const NonFiniteOrigin origin = trace_nonfinite(dump, sqrt);
  EXPECT_THAT(origin.chain[0].inputs, IsEmpty()) << "mul of step 0 is not what sqrt of step 1 read";
  EXPECT_THAT(origin.chain[0].missing, ElementsAre("a"));
  row.op = 4;
  const size_t add = dump.add(row);
  EXPECT_THAT(trace_nonfinite(dump, add).chain[0].inputs, ElementsAre(sqrt, 1)) << "a weight is recorded once for all steps";
}

TEST(NonFiniteOrigin, LoopsReadTheLatestCall) {
  ADump dump(std::vector<uint64_t>{0, 0, 0, 0, 0});
  const size_t second_mul = dump.add(row_of(2, 1, 1));
  dump.all_rows[second_mul].call = 1;
  const size_t second_sqrt = dump.add(row_of(3, 1, 1));
  dump.all_rows[second_sqrt].call = 1;
  EXPECT_THAT(rows_of(trace_nonfinite(dump, second_sqrt)), ElementsAre(second_sqrt, second_mul));
}

TEST(NonFiniteOrigin, InputsOfTheEventGoBeforeProducers) {
  ADump dump(std::vector<uint64_t>{0, 0, 0, 2, 1});
  RecordRow row = row_of(3, 1, 1);
  row.slot_kind = static_cast<uint8_t>(SlotKind::kInput);
  row.moment = static_cast<uint8_t>(Moment::kBefore);
  const size_t input = dump.add(row);
  dump.all_rows[input].sequence = 3;
  const NonFiniteOrigin origin = trace_nonfinite(dump, 4);
  EXPECT_THAT(rows_of(origin), ElementsAre(4, 3, input));
  EXPECT_EQ(origin.kind, OriginKind::kUnknown) << "mul's output was finite, sqrt's input was not: another op wrote in between";
}

TEST(NonFiniteOrigin, BodiesOfAnOpAreLookedInto) {
  ADump dump(std::vector<uint64_t>{0, 0, 0, 0, 0});
  OpInfo inside = op("inside", "Log", {}, {"l"});
  inside.parent = 3;
  dump.add_op(inside);
  const size_t log = dump.add(row_of(5, 1, 1));
  const size_t outer = dump.add(row_of(3, 1, 1));
  EXPECT_THAT(rows_of(trace_nonfinite(dump, outer)), ElementsAre(outer, log));
  dump.all_rows[log].op = kNoOp;
  EXPECT_THAT(trace_nonfinite(dump, outer).chain[0].missing, ElementsAre("the body of sqrt"));
}

TEST(NonFiniteOrigin, RingsEnd) {
  VectorDumpIndex dump;
  dump.add_op(op("a", "Add", {"y"}, {"x"}));
  dump.add_op(op("b", "Add", {"x"}, {"y"}));
  for (OpId id : {0U, 1U, 0U, 1U}) dump.add(row_of(id, 1, 1));
  for (RecordRow& row : dump.all_rows) row.sequence = 0;
  const NonFiniteOrigin origin = trace_nonfinite(dump, 3);
  EXPECT_EQ(origin.kind, OriginKind::kUnknown);
  EXPECT_FALSE(origin.certain);
}

TEST(NonFiniteOrigin, AllOriginsOfADump) {
  ADump dump(std::vector<uint64_t>{0, 1, 1, 1, 1});
  dump.add_op(op("log", "Log", {"x"}, {"z"}));
  dump.add(row_of(5, 1, 3));
  const std::vector<NonFiniteOrigin> origins = find_nonfinite(dump).origins;
  std::vector<std::string> found;
  for (const NonFiniteOrigin& origin : origins) found.push_back(op_of(dump, dump.rows()[origin.chain[0].row]).name);
  EXPECT_THAT(found, ElementsAre("w", "log"));
  EXPECT_EQ(find_nonfinite(dump, 1).origins.size(), 1U);
}

TEST(Headroom, RanksTheWorstFirst) {
  ADump dump(std::vector<uint64_t>{0, 0, 0, 0, 0});
  const double absmax[] = {1, 0, 70000, 65519, 32752};
  for (size_t i = 0; i < 5; ++i) dump.all_rows[i] = row_of(static_cast<OpId>(i), absmax[i]);
  std::vector<size_t> order;
  const std::vector<Headroom> half = find_headroom(dump, DType::kFloat16);
  for (const Headroom& headroom : half) order.push_back(headroom.row);
  EXPECT_THAT(order, ElementsAre(2, 3, 4, 0, 1));
  EXPECT_TRUE(half[0].overflows);
  EXPECT_FALSE(half[1].overflows) << "65519 rounds down to 65504";
  EXPECT_DOUBLE_EQ(*half[2].binades, 1.0);
  EXPECT_FALSE(half[4].binades) << "all zero";
  EXPECT_FALSE(find_headroom(dump, DType::kBFloat16)[0].overflows);
  EXPECT_NEAR(*find_headroom(dump, DType::kBFloat16)[0].binades, 128 - std::log2(70000), 0.01);
}

TEST(Headroom, TheBorderOfOverflowIsThatOfTheConversion) {
  ADump dump(std::vector<uint64_t>{0});
  for (const auto& [absmax, overflows] : {std::pair{65519.996, false}, {65520.0, true}}) {
    dump.all_rows[0] = row_of(0, absmax);
    EXPECT_EQ(find_headroom(dump, DType::kFloat16)[0].overflows, overflows) << absmax;
  }
  for (const auto& [absmax, overflows] : {std::pair{3.39617752923046e38, true}, {3.396177e38, false}}) {
    dump.all_rows[0] = row_of(0, absmax);
    EXPECT_EQ(find_headroom(dump, DType::kBFloat16)[0].overflows, overflows) << absmax;
  }
}

TEST(Headroom, TheWorstOfAllStepsCounts) {
  ADump dump(std::vector<uint64_t>{0, 0, 0, 0, 0});
  const size_t worst = dump.add(row_of(2, 9000));
  dump.add(row_of(2, 10));
  const std::vector<Headroom> half = find_headroom(dump, DType::kFloat16);
  EXPECT_EQ(half[0].row, worst);
  EXPECT_EQ(half[0].records, 3U);
}

TEST(Headroom, WhatAnOpWritesOverDoesNotCount) {
  ADump dump(std::vector<uint64_t>{0});
  OpInfo with_out = op("mm", "mm", {}, {"y"});
  with_out.attributes = R"({"overwrites": [2]})";
  dump.add_op(with_out);
  const auto mm = static_cast<OpId>(dump.ops().size() - 1);
  for (const uint16_t slot : {uint16_t{1}, uint16_t{2}}) {
    RecordRow row = row_of(mm, slot == 2 ? 60000 : 3);
    row.slot_kind = static_cast<uint8_t>(SlotKind::kInput);
    row.slot_index = slot;
    dump.add(row);
  }
  for (const Headroom& headroom : find_headroom(dump, DType::kFloat16)) EXPECT_NE(dump.rows()[headroom.row].slot_index, 2);
}

TEST(Headroom, InfIsSetAside) {
  ADump dump(std::vector<uint64_t>{0, 0});
  dump.all_rows[0] = row_of(0, kInf);
  dump.all_rows[0].stats.pos_inf = 1;
  std::vector<Headroom> half = find_headroom(dump, DType::kFloat16);
  EXPECT_EQ(half[0].row, 0U);
  EXPECT_TRUE(half[0].holds_inf);
  EXPECT_FALSE(half[0].absmax);
  dump.set_data<float>(0, {1, 2, INFINITY, -300, NAN, 4});
  half = find_headroom(dump, DType::kFloat16);
  EXPECT_EQ(half[0].row, 0U);
  EXPECT_DOUBLE_EQ(*half[0].absmax, 300);
}

TEST(Headroom, OfOneRecordIsWhatTheListSays) {
  ADump dump(std::vector<uint64_t>{0, 0, 0, 0});
  const double absmax[] = {4000, 0, kInf, kInf};
  for (size_t i = 0; i < 4; ++i) dump.all_rows[i] = row_of(static_cast<OpId>(i), absmax[i]);
  dump.all_rows[2].stats.pos_inf = dump.all_rows[3].stats.pos_inf = 1;
  dump.set_data<float>(3, {1, 2, INFINITY, -300, NAN, 4});
  EXPECT_DOUBLE_EQ(*headroom_binades(dump, 0, DType::kFloat16), std::log2(65504.0 / 4000));
  EXPECT_FALSE(headroom_binades(dump, 1, DType::kFloat16)) << "all zero";
  EXPECT_EQ(headroom_binades(dump, 2, DType::kFloat16), -kInf) << "only Inf is known";
  EXPECT_DOUBLE_EQ(*headroom_binades(dump, 3, DType::kFloat16), std::log2(65504.0 / 300)) << "of the finite values";
  constexpr DType kBoth[] = {DType::kFloat16, DType::kBFloat16};
  const auto found = find_headrooms(dump, kBoth);
  ASSERT_EQ(found.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    for (const Headroom& one : found[i]) {
      if (one.absmax) {
        EXPECT_EQ(one.binades, headroom_binades(dump, one.row, kBoth[i])) << one.row;
      }
    }
  }
  dump.all_rows[0].dtype = static_cast<uint8_t>(DType::kInt32);
  EXPECT_FALSE(headroom_binades(dump, 0, DType::kFloat16)) << "no floating type";
}

TEST(Headroom, SharesComeFromTheHistogram) {
  ADump dump(std::vector<uint64_t>{0});
  ExponentHistogram histogram;
  const std::vector<double> values = {1.0, 100000.0, 65536.0, 1e-5, 2e-8, 0.0, -3.0, 1e-30};
  add_to_histogram({{DType::kFloat64, {8}}, values.data(), nullptr}, histogram);
  std::vector<uint64_t> numbers(histogram.bins, histogram.bins + ExponentHistogram::kBins);
  numbers.insert(numbers.end(), {histogram.zero, histogram.nan, histogram.inf});
  dump.all_histograms[0] = numbers;
  dump.all_rows[0].histogram = 1;
  const Headroom half = find_headroom(dump, DType::kFloat16)[0];
  EXPECT_DOUBLE_EQ(*half.overflow_share, 2.0 / 7);
  EXPECT_DOUBLE_EQ(*half.subnormal_share, 3.0 / 7);
  EXPECT_DOUBLE_EQ(*half.zero_share, 2.0 / 7) << "2e-8 is below half of float16's smallest value";
  const Headroom brain = find_headroom(dump, DType::kBFloat16)[0];
  EXPECT_DOUBLE_EQ(*brain.subnormal_share, 0);
  EXPECT_DOUBLE_EQ(*brain.overflow_share, 0);
  EXPECT_EQ(headroom_json(dump, half, "float16")["target"], "float16");
}

TEST(Patterns, DeadOutputsAreZeroInEveryStep) {
  ADump dump(std::vector<uint64_t>{0, 0, 0, 0, 0});
  for (const OpId id : {1U, 2U, 3U, 3U}) {
    dump.all_rows.at(id).stats.zero = 6;
    RecordRow row = row_of(id, 0);
    row.step = 1;
    row.stats.zero = id == 2 ? 5 : 6;
    dump.add(row);
  }
  const std::vector<DeadOutput> dead = find_dead_outputs(dump);
  ASSERT_EQ(dead.size(), 1U) << "weights are not outputs; mul lives in step 1";
  EXPECT_EQ(dead[0].row, 3U);
  EXPECT_EQ(dead[0].records, 3U);
  EXPECT_EQ(dead_output_json(dump, dead[0])["op"], "sqrt");
}

TEST(Patterns, GradientsAreJudgedAgainstTheirStep) {
  ADump dump(std::vector<uint64_t>{});
  EXPECT_EQ(find_gradients(dump).records, 0U);
  EXPECT_EQ(gradients_json(dump, find_gradients(dump)), nullptr);
  for (const double l2 : {1.0, 2.0, 1.5, 1e5, 1e-9, kInf}) {
    RecordRow row = row_of(2, 1);
    row.slot_kind = static_cast<uint8_t>(SlotKind::kGradient);
    row.stats.l2 = l2;
    dump.add(row);
  }
  const GradientReport report = find_gradients(dump);
  EXPECT_EQ(report.records, 6U);
  ASSERT_EQ(report.exploding.size(), 2U);
  EXPECT_EQ(report.exploding[0].row, 5U);
  EXPECT_EQ(report.exploding[1].row, 3U);
  ASSERT_EQ(report.vanishing.size(), 1U);
  EXPECT_EQ(report.vanishing[0].row, 4U);
  EXPECT_DOUBLE_EQ(report.vanishing[0].rms, 1e-9 / std::sqrt(6.0));
}

// M19
TEST(Patterns, FromSourceLineToOpsAndBack) {
  ADump dump(std::vector<uint64_t>{});
  dump.all_ops[2].originals = {{"mul_1", "Mul"}};
  EXPECT_THAT(ops_of_source(dump, "train.py:41"), ElementsAre(3));
  EXPECT_THAT(ops_of_source(dump, "/src/train.py"), ElementsAre(3));
  EXPECT_THAT(ops_of_source(dump, "rain.py:41"), IsEmpty());
  EXPECT_THAT(ops_of_source(dump, "train.py:4"), IsEmpty());
  EXPECT_THAT(ops_of_source(dump, ""), IsEmpty());
  EXPECT_THAT(ops_of_name(dump, "mul_1"), ElementsAre(2));
  EXPECT_EQ(op_source_json(dump, 3)["source"], "/src/train.py:41");
}

}  // namespace
}  // namespace tensortap
