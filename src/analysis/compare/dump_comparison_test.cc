#include "compare/dump_comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "compare/comparison_csv.h"
#include "compare/comparison_json.h"
#include "compare/culprit_text.h"
#include "compare/made_dump.h"

namespace tensortap {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// What is said of each value of B, and the summary.
struct Compared {
  explicit Compared(const DumpIndex& a, const DumpIndex& b, ComparisonOptions options = {}) {
    auto made = DumpComparison::make(a, b, std::move(options));
    EXPECT_TRUE(made.ok()) << made.status().message();
    comparison = *std::move(made);
    comparison->run([&](const ComparedValue& value) {
      const std::string name = record_name_of(b, value.row_b);
      verdicts[name] = verdict_name(value.verdict);
      births[name] = birth_name(value.birth);
      order.push_back(name);
      json.push_back(compared_json(*comparison, value));
      values.push_back(value);
    });
  }
  [[nodiscard]] const ComparisonSummary& summary() const { return comparison->summary(); }
  std::unique_ptr<DumpComparison> comparison;
  std::map<std::string, std::string> verdicts;
  std::map<std::string, std::string> births;
  std::vector<std::string> order;
  std::vector<Json> json;
  std::vector<ComparedValue> values;
};

// Two layers of a tree of files of one process: the second reads what the first made, and a weight.
struct Tree : MadeDump {
  Tree(const std::string& process, float weight) {
    for (const char* name : {"linear", "norm"}) at(op(name, "Operation")).graph = process;
    reads(0, 0, numbers(9, 1));
    reads(0, 1, numbers(9, 2));
    gives(0, numbers(9, 3));
    reads(1, 0, numbers(9, 3));
    reads(1, 1, scaled(numbers(9, 4), weight));
    gives(1, scaled(numbers(9, 5), weight));
  }
};

TEST(DumpComparison, InATreeOfFilesEqualContentsAreTheEdges) {
  const Tree right("0_9946", 1);
  const Tree other("0_77", 1);
  const Compared same(other, right);
  EXPECT_FALSE(same.summary().outside());
  EXPECT_EQ(same.summary().paired, 2U) << "whatever number the process had";
  const Tree changed("0_77", 1.5F);
  const Compared wrong(changed, right);
  EXPECT_EQ(wrong.verdicts.at("linear:out0"), "equal");
  EXPECT_EQ(wrong.verdicts.at("norm:in1"), "different");
  EXPECT_FALSE(wrong.json.back().contains("text")) << "that is the culprit's";
  ASSERT_TRUE(wrong.summary().culprit);
  EXPECT_EQ(culprit_text(*wrong.comparison),
            "norm:out0 (Operation): relative L2 0.5, it reads a weight or an input that differs: norm:in1");
}

TEST(DumpComparison, AnOutputOfTheGraphHasItsNameWhateverOpMakesIt) {
  MadeDump a;
  MadeDump b;
  a.gives(a.op("act", "Relu"), numbers(9, 1));
  a.at(0).outputs = {"y"};
  a.at(0).attributes = R"({"graph_outputs": [0]})";
  b.gives(b.op("conv", "Conv"), numbers(9, 2));
  b.gives(b.op("reorder", "ReorderOutput", {0}), scaled(numbers(9, 1), 2));
  b.at(1).outputs = {"y"};
  b.at(1).inserted_by_runtime = true;
  b.at(1).attributes = R"({"graph_outputs": [0]})";
  const Compared compared(a, b);
  EXPECT_EQ(compared.verdicts, (std::map<std::string, std::string>{{"reorder:out0", "different"}}));
}

// in -> neg -> exp -> sum, with a weight that exp reads.
struct Chain : MadeDump {
  Chain() {
    OpInfo input;
    input.name = "in";
    input.type = std::string(kInputType);
    input.outputs = {"in"};
    add_op(input);
    OpInfo weight;
    weight.name = "w";
    weight.type = std::string(kInitializerType);
    weight.outputs = {"w"};
    add_op(weight);
    op("neg", "Neg", {0});
    op("exp", "Exp", {2, 1});
    op("sum", "Sum", {3});
  }
  // Factors of the outputs, in the order of the ops.
  void run(const std::vector<float>& factors, const Execution& execution = {}) {
    for (OpId id = 0; id < factors.size(); ++id) gives(id, scaled(numbers(30, id + 1), factors[id]), {30}, execution);
  }
};

TEST(DumpComparison, TellsWhereADifferenceIsBornAndWhatInheritsIt) {
  Chain a;
  Chain b;
  a.run({1, 1, 1, 1.01F, 1.02F});
  b.run({1, 1, 1, 1, 1});
  const Compared compared(a, b);
  EXPECT_EQ(compared.births, (std::map<std::string, std::string>{
                                 {"in:out0", ""}, {"w:out0", ""}, {"neg:out0", ""}, {"exp:out0", "born"}, {"sum:out0", "inherited"}}));
  EXPECT_EQ(compared.verdicts.at("exp:out0"), "different");
  ASSERT_EQ(compared.summary().born.size(), 1U);
  EXPECT_EQ(compared.summary().inherited, 1U);
  EXPECT_NEAR(compared.summary().largest_growth.growth, 2, 1e-4);
  EXPECT_EQ(record_name_of(b, compared.summary().first_outside.row_b), "exp:out0");
  EXPECT_EQ(compared.summary().count(Verdict::kEqual), 1U);
  EXPECT_TRUE(compared.summary().outside());
  EXPECT_EQ(compared.order.back(), "sum:out0");
}

TEST(DumpComparison, CallsAnOpThatReadsAChangedWeightBorn) {
  Chain a;
  Chain b;
  a.run({1, 1.5F, 1, 1.01F, 1});
  b.run({1, 1, 1, 1, 1});
  const Compared compared(a, b);
  EXPECT_EQ(compared.births.at("w:out0"), "given");
  EXPECT_EQ(compared.births.at("exp:out0"), "born");
  EXPECT_EQ(compared.json.at(3).at("weight"), "w:out0");
  EXPECT_EQ(record_name_of(b, compared.summary().first_given.row_b), "w:out0");
}

TEST(DumpComparison, CallsWhatComesOfOtherInputsInherited) {
  Chain a;
  Chain b;
  a.run({1.01F, 1, 1.01F, 1, 1});
  b.run({1, 1, 1, 1, 1});
  const Compared compared(a, b);
  EXPECT_EQ(compared.births.at("in:out0"), "given");
  EXPECT_EQ(compared.births.at("neg:out0"), "inherited");
  EXPECT_TRUE(compared.summary().born.empty());
}

TEST(DumpComparison, SaysOfStatisticsThatTheyAreTheSameAndNotThatTheValuesAreEqual) {
  Chain a;
  Chain b;
  a.run({1, 1, 1, 1, 1.5F}, {.with_data = false});
  b.run({1, 1, 1, 1, 1}, {.with_data = false});
  const Compared compared(a, b);
  EXPECT_EQ(compared.verdicts.at("exp:out0"), "same statistics");
  EXPECT_EQ(compared.births.at("exp:out0"), "");
  EXPECT_EQ(compared.summary().count(Verdict::kEqual), 0U);
  EXPECT_EQ(record_name_of(b, compared.summary().first.row_b), "sum:out0");
  EXPECT_EQ(compared.births.at("sum:out0"), "born");
}

TEST(DumpComparison, LooksThroughValuesThatHaveNoPartner) {
  Chain a;
  Chain b;
  a.run({1, 1, 1.01F, 1, 1.01F});
  b.run({1, 1, 1, 1, 1});
  // exp is fused away in A: what sum read is known only from before it.
  a.all_rows.erase(a.all_rows.begin() + 3);
  a.all_data[3] = a.all_data[4];
  const Compared compared(a, b);
  EXPECT_FALSE(compared.births.contains("exp:out0"));
  EXPECT_EQ(compared.births.at("sum:out0"), "inherited");
}

TEST(DumpComparison, GivesEachVerdict) {
  struct Row {
    std::string verdict;
    std::vector<float> a;
    std::vector<float> b;
  };
  const std::vector<float> ones(20, 1);
  std::vector<float> one_nan = ones;
  one_nan[7] = kNaN;
  const std::vector<Row> rows = {
      {"equal", ones, ones},
      {"equal", one_nan, one_nan},
      {"non-finite", one_nan, ones},
      {"tolerated", scaled(ones, 1 + 0x1p-22F), ones},
      {"different", scaled(ones, 1 + 0x1p-18F), ones},
      {"not comparable", {1, 2}, {1, 2, 3}},
  };
  for (const Row& row : rows) {
    MadeDump a;
    MadeDump b;
    a.gives(a.op("x", "P"), row.a);
    b.gives(b.op("x", "P"), row.b);
    EXPECT_EQ(Compared(a, b).verdicts.at("x:out0"), row.verdict);
  }
}

TEST(DumpComparison, ToleratesMoreBehindMoreOpsAndCoarserTypes) {
  MadeDump a;
  MadeDump b;
  OpId last = 0;
  for (int i = 0; i < 9; ++i) {
    const std::string name = "op" + std::to_string(i);
    const std::vector<OpId> inputs = i == 0 ? std::vector<OpId>() : std::vector<OpId>{last};
    a.op(name, "P", inputs);
    last = b.op(name, "P", inputs);
    a.gives(last, numbers(20, 1));
    b.gives(last, numbers(20, 1));
  }
  const Compared compared(a, b);
  EXPECT_NEAR(compared.values.front().basis.relative_l2, 8 * 0x1p-23, 1e-12);
  EXPECT_NEAR(compared.values.back().basis.relative_l2, 24 * 0x1p-23, 1e-12);
  for (MadeDump* dump : {&a, &b}) {
    dump->all_rows[4].set_desc({DType::kFloat16, {40}});
    dump->all_rows[4].numel = 40;
    dump->set_data(4, std::vector<uint16_t>(40, 0x3c00));
  }
  const Compared half(a, b);
  EXPECT_NEAR(half.values.at(3).basis.relative_l2, 16 * 0x1p-23, 1e-12);
  EXPECT_NEAR(half.values.back().basis.relative_l2, 24 * 0x1p-10, 1e-12);
}

TEST(DumpComparison, HoldsDifferencesAgainstTheNoiseOfOtherRuns) {
  Chain a;
  Chain b;
  Chain noise;
  a.run({1, 1, 1, 1.025F, 1.035F});
  b.run({1, 1, 1, 1, 1});
  noise.run({1, 1, 1, 1.01F, 1.01F});
  ComparisonOptions options;
  options.noise = {{&noise}};
  const Compared compared(a, b, std::move(options));
  EXPECT_EQ(compared.verdicts.at("exp:out0"), "noise");
  EXPECT_EQ(compared.verdicts.at("sum:out0"), "different");
  EXPECT_NEAR(compared.summary().largest_noise_ratio, 3.5, 0.01);
}

TEST(DumpComparison, TakesTheRulesOfAPerson) {
  Chain a;
  Chain b;
  a.run({1, 1, 1, 1.01F, 1.01F});
  b.run({1, 1, 1, 1, 1});
  auto rules = ToleranceRules::parse("exp 0 0.02\n.* 0 0.001\n", "rules");
  ASSERT_TRUE(rules.ok()) << rules.status().message();
  ComparisonOptions options;
  options.rules = &*rules;
  const Compared compared(a, b, std::move(options));
  EXPECT_EQ(compared.verdicts.at("exp:out0"), "tolerated");
  EXPECT_EQ(compared.verdicts.at("sum:out0"), "different");
}

TEST(DumpComparison, ComparesStatisticsWhereDataAreMissingAndNeverCallsThemEqual) {
  MadeDump a;
  MadeDump b;
  for (MadeDump* dump : {&a, &b}) {
    for (const char* name : {"same", "known", "far", "none"}) dump->op(name, "P");
  }
  const MadeDump::Execution bare{.with_data = false};
  for (OpId id = 0; id < 4; ++id) {
    a.gives(id, scaled(numbers(20, id + 1), id == 2 ? 1.5F : 1), {20}, bare);
    b.gives(id, numbers(20, id + 1), {20}, bare);
  }
  for (MadeDump* dump : {&a, &b}) {
    dump->all_rows[1].digest_kind = 1;
    dump->all_rows[1].digest[0] = 7;
    dump->all_rows[3].stats = {};
  }
  const Compared compared(a, b);
  EXPECT_EQ(compared.verdicts,
            (std::map<std::string, std::string>{
                {"same:out0", "same statistics"}, {"known:out0", "equal"}, {"far:out0", "different"}, {"none:out0", "not comparable"}}));
}

TEST(DumpComparison, GoesStepByStepAndCallByCall) {
  Chain a;
  Chain b;
  for (int64_t step = 0; step < 3; ++step) {
    a.run({1, 1, 1, 1, step == 1 ? 1.1F : 1}, {.step = step});
    b.run({1, 1, 1, 1, 1}, {.step = step});
  }
  const Compared compared(a, b);
  EXPECT_EQ(compared.summary().records, 15U);
  EXPECT_EQ(record_name_of(b, compared.summary().first_outside.row_b), "sum:out0@1");
  ComparisonOptions options;
  options.steps = {{1, 2}};
  const Compared chosen(a, b, std::move(options));
  EXPECT_EQ(chosen.summary().records, 5U);
  EXPECT_EQ(record_name_of(b, chosen.summary().first_outside.row_b), "sum:out0@2");
}

// After the prompt, a program with a cache computes one token, another one the whole sequence again.
TEST(DumpComparison, OneMoreTokenStandsBesideTheLastOfTheWholeSequence) {
  const std::vector<float> prompt = numbers(12, 1);
  const std::vector<float> whole = numbers(15, 2);
  for (const float factor : {1.0F, 1.3F}) {
    MadeDump cached;
    MadeDump again;
    for (MadeDump* one : {&cached, &again}) {
      one->op("ids", "Neg");
      one->gives(0, prompt, Shape({1, 4, 3}), {});
    }
    cached.gives(0, scaled({whole.end() - 3, whole.end()}, factor), Shape({1, 1, 3}), {.call = 1});
    again.gives(0, whole, Shape({1, 5, 3}), {.call = 1});
    const Compared compared(cached, again);
    EXPECT_EQ(compared.verdicts.at("ids:out0#1"), factor == 1 ? "equal" : "different");
    EXPECT_EQ(compared.summary().outside(), factor != 1);
  }
  // Two tokens fewer are no decoding.
  MadeDump fewer;
  MadeDump all;
  for (MadeDump* one : {&fewer, &all}) {
    one->op("cache", "Neg");
    one->gives(0, prompt, Shape({1, 4, 3}), {});
  }
  fewer.gives(0, {whole.begin() + 3, whole.end()}, Shape({1, 4, 3}), {.call = 1});
  all.gives(0, whole, Shape({1, 5, 3}), {.call = 1});
  EXPECT_TRUE(Compared(fewer, all).summary().outside());
}

TEST(DumpComparison, FollowsMemoryWhereADumpSaysWhichItIs) {
  // The op "twice" runs twice; its second input is its first output.
  const auto make = [](MadeDump& dump, float first, float second) {
    const OpId id = dump.op("twice", "mul");
    dump.at(id).outputs.clear();
    const auto record = [&](SlotKind kind, float factor, uint64_t storage, uint32_t call) {
      const size_t row = dump.gives(id, scaled(numbers(30, static_cast<uint32_t>(storage)), factor), {30}, {.call = call});
      dump.all_rows[row].slot_kind = static_cast<uint8_t>(kind);
      dump.all_rows[row].storage = storage;
    };
    record(SlotKind::kInput, 1, 1, 0);
    record(SlotKind::kOutput, first, 2, 0);
    record(SlotKind::kInput, first, 2, 1);
    record(SlotKind::kOutput, second, 3, 1);
  };
  MadeDump a;
  MadeDump b;
  make(a, 1.01F, 1.03F);
  make(b, 1, 1);
  const Compared compared(a, b);
  EXPECT_EQ(compared.births,
            (std::map<std::string, std::string>{{"twice:in0", ""}, {"twice:out0", "born"}, {"twice:out0#1", "inherited"}}));
  EXPECT_EQ(compared.summary().values_a, 1U);
}

TEST(DumpComparison, FailsWhereNothingCanBePaired) {
  MadeDump a;
  MadeDump b;
  a.gives(a.op("x", "P"), numbers(4, 1));
  b.gives(b.op("y", "Q"), numbers(5, 2));
  const auto made = DumpComparison::make(a, b, {});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().code(), StatusCode::kCorrupt);
}

TEST(DumpComparison, NamesWhatAMapDoesNotFind) {
  Chain a;
  a.run({1, 1, 1, 1, 1});
  ComparisonOptions options;
  options.map = {{"expp", "exp", false, 3}};
  options.map_name = "names.txt";
  const auto made = DumpComparison::make(a, a, options);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().message(), "names.txt:3: nothing in A is called \"expp\". Did you mean \"exp\"?");
}

TEST(DumpComparison, CountsWhatHasNoPartnerAndLeadsToNone) {
  Chain a;
  Chain b;
  a.run({1, 1, 1, 1, 1});
  b.run({1, 1, 1, 1});
  b.at(4).name = "product";
  b.at(4).type = "ReduceProd";
  b.at(4).outputs = {"product"};
  b.gives(4, numbers(30, 99));
  const Compared compared(a, b);
  const ComparisonSummary& summary = compared.summary();
  EXPECT_FALSE(summary.outside());
  EXPECT_TRUE(summary.has_open_ends());
  EXPECT_EQ(summary.results_a.open, 1U);
  EXPECT_EQ(summary.results_b.open, 1U);
  EXPECT_EQ(summary.results_b.paired, 0U);
  EXPECT_EQ(summary_json(*compared.comparison).at("summary").at("results_b").at("first_open"), "product:out0");

  // The same step within the program leads to a result that both have.
  for (Chain* chain : {&a, &b}) {
    const OpId last = chain->op("last", "Floor", {4});
    chain->gives(last, numbers(30, 77));
  }
  const Compared led(a, b);
  EXPECT_FALSE(led.summary().has_open_ends());
  EXPECT_EQ(led.summary().results_b.paired, 1U);
}

TEST(DumpComparison, WritesTablesWithAsManyCellsAsColumns) {
  Chain a;
  Chain b;
  a.run({1, 1, 1, 1.01F, 1});
  b.run({1, 1, 1, 1, 1});
  a.at(3).name = "=exp \"a\", b";
  b.at(3).name = "=exp \"a\", b";
  const Compared compared(a, b);
  const auto cells = [](const std::string& line) {
    size_t count = 1;
    bool quoted = false;
    for (const char c : line) {
      quoted ^= c == '"';
      count += c == ',' && !quoted ? 1 : 0;
    }
    return count;
  };
  for (const CsvStyle style : {CsvStyle::kOwn, CsvStyle::kMsprobe}) {
    for (const ComparedValue& value : compared.values) {
      EXPECT_EQ(cells(csv_line(style, *compared.comparison, value)), cells(csv_header(style)));
    }
  }
  const std::string line = csv_line(CsvStyle::kMsprobe, *compared.comparison, compared.values.at(3));
  EXPECT_TRUE(line.starts_with("\"'=exp \"\"a\"\", b:out0\",")) << line;
}

// A loop's graph of two ops, that runs 4 times, behind one op and before another.
TEST(DumpComparison, TheModelOfRoundingCountsEveryExecutionOfALoop) {
  MadeDump dump;
  const OpId before = dump.op("before", "Neg");
  const OpId loop = dump.op("loop", "Loop", {before});
  const OpId first = dump.op("loop/body/first", "Exp");
  const OpId second = dump.op("loop/body/second", "Sqrt", {first});
  const OpId behind = dump.op("behind", "Floor", {loop});
  for (const OpId id : {first, second}) {
    dump.at(id).graph = "loop/body";
    dump.at(id).parent = loop;
  }
  dump.gives(before, numbers(20, 1));
  for (uint32_t call = 0; call < 4; ++call) {
    for (const OpId id : {first, second}) dump.gives(id, numbers(20, id + call), Shape({20}), {0, call});
  }
  dump.gives(loop, numbers(20, 9));
  dump.gives(behind, numbers(20, 10));
  const Compared compared(dump, dump);
  std::map<std::string, int> depths;
  for (const ComparedValue& value : compared.values) {
    depths[record_name_of(dump, value.row_b)] = static_cast<int>(std::lround(std::pow(value.basis.relative_l2 / 0x1p-20, 2)));
  }
  EXPECT_EQ(depths, (std::map<std::string, int>{{"before:out0", 1},
                                                {"loop/body/first:out0", 2},
                                                {"loop/body/second:out0", 3},
                                                {"loop/body/first:out0#1", 4},
                                                {"loop/body/second:out0#1", 5},
                                                {"loop/body/first:out0#2", 6},
                                                {"loop/body/second:out0#2", 7},
                                                {"loop/body/first:out0#3", 8},
                                                {"loop/body/second:out0#3", 9},
                                                {"loop:out0", 10},
                                                {"behind:out0", 11}}));
}

}  // namespace
}  // namespace tensortap
