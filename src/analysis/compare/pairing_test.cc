#include "compare/pairing.h"

#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <string>
#include <vector>

#include "base/text.h"
#include "compare/made_dump.h"
#include "compare/unpaired.h"

namespace tensortap {
namespace {

// Pairs two dumps and says by which rule each value of A got which of B.
struct Paired {
  Paired(const DumpIndex& a, const DumpIndex& b, std::vector<std::pair<ValueId, ValueId>> map = {})
      : table_a(a), table_b(b), keys_a(table_a), keys_b(table_b), alignment(table_a, table_b, choose_steps(a, b, {})) {
    const ValueJudge judge(table_a, table_b, alignment, [](ValueId) { return ToleranceRule(); });
    pairing = pair_values(keys_a, keys_b, judge, {std::move(map), nullptr});
  }
  static std::string name_of(const ValueTable& table, ValueId id) {
    return table.op(id).name + (table.at(id).call + 1 < 2 ? "" : "#" + std::to_string(table.at(id).call));
  }
  [[nodiscard]] std::map<std::string, std::string> found() const {
    std::map<std::string, std::string> all;
    for (const ValuePair& pair : pairing.pairs) {
      const std::string order = pair.accepted.order.text();
      all[name_of(table_a, pair.a)] =
          name_of(table_b, pair.b) + " by " + std::string(pair_rule_name(pair.rule)) + (order.empty() ? "" : ", " + order);
    }
    return all;
  }
  [[nodiscard]] size_t refused(PairRule rule) const { return pairing.refused[static_cast<size_t>(rule)]; }
  [[nodiscard]] std::map<std::string, std::string> unpaired_a() const {
    std::map<std::string, std::string> all;
    for (const Unpaired& one : explain_unpaired(keys_a, pairing.pair_of_a, keys_b, pairing.pair_of_b, pairing.pairs)) {
      all[name_of(table_a, one.id)] = std::string(absence_name(one.why)) + (one.by.empty() ? "" : " into " + one.by);
    }
    return all;
  }
  ValueTable table_a;
  ValueTable table_b;
  PairingKeys keys_a;
  PairingKeys keys_b;
  Alignment alignment;
  Pairing pairing;
};

using Found = std::map<std::string, std::string>;

// A matrix of these rows, with rows and columns exchanged.
std::vector<float> transposed(const std::vector<float>& values, size_t rows) {
  const size_t columns = values.size() / rows;
  std::vector<float> turned(values.size());
  for (size_t i = 0; i < values.size(); ++i) turned[i % columns * rows + i / columns] = values[i];
  return turned;
}

// Something that makes two dumps no two runs of one program.
void add_other(MadeDump& dump) { dump.gives(dump.op("only here", "Other"), numbers(3, 99)); }

TEST(Pairing, TakesTheAuthorsNameOfTheValueEvenWhereValuesAreFarApart) {
  MadeDump a;
  MadeDump b;
  a.gives(a.op("x", "Conv"), numbers(20, 1));
  b.gives(b.op("fused", "FusedConv"), scaled(numbers(20, 1), 7));
  b.at(0).outputs = {"x"};
  EXPECT_EQ(Paired(a, b).found(), (Found{{"x", "fused by value name"}}));
}

TEST(Pairing, DoesNotTrustNamesThatTheRuntimeMade) {
  for (const std::string name : {"reorder_token_7", "reorder"}) {
    MadeDump a;
    MadeDump b;
    a.gives(a.op("first", "Conv"), numbers(20, 1));
    b.gives(b.op("second", "Conv"), numbers(20, 2));
    a.at(0).outputs = b.at(0).outputs = {name};
    a.gives(a.op("other", "Relu"), numbers(20, 3));
    a.at(1).outputs = {"reorder_token_1"};
    EXPECT_EQ(Paired(a, b).found(), Found()) << name;
  }
  MadeDump a;
  MadeDump b;
  a.gives(a.op("x", "Reorder"), numbers(20, 1));
  b.gives(b.op("y", "Reorder"), numbers(20, 2));
  a.at(0).outputs = b.at(0).outputs = {"same"};
  a.at(0).inserted_by_runtime = b.at(0).inserted_by_runtime = true;
  EXPECT_EQ(Paired(a, b).found(), Found());
}

TEST(Pairing, RefusesANameThatMeansNumbersInOneDumpAndCodesInTheOther) {
  MadeDump a;
  MadeDump b;
  a.gives(a.op("x", "Conv"), numbers(20, 1));
  add_other(a);
  RecordRow row;
  row.op = b.op("x", "QLinearConv");
  row.set_desc({DType::kUInt8, {20}});
  b.set_data(b.add(row), std::vector<uint8_t>(20, 7));
  const Paired paired(a, b);
  EXPECT_EQ(paired.found(), Found());
  EXPECT_EQ(paired.refused(PairRule::kName), 1U);
}

TEST(Pairing, TakesIdentityWhereValuesAreClose) {
  MadeDump a;
  MadeDump b;
  for (MadeDump* dump : {&a, &b}) {
    dump->op("close", "Mul");
    dump->op("far", "Mul");
    dump->at(0).outputs = dump->at(1).outputs = {""};
  }
  a.gives(0, numbers(20, 1));
  b.gives(0, scaled(numbers(20, 1), 1.01F));
  a.gives(1, numbers(20, 2));
  b.gives(1, scaled(numbers(20, 2), 3));
  add_other(a);
  b.at(1).inputs.push_back({"something else", 0, 0});
  const Paired paired(a, b);
  EXPECT_EQ(paired.found(), (Found{{"close", "close by identity"}}));
  EXPECT_EQ(paired.refused(PairRule::kIdentity), 1U);
}

TEST(Pairing, TakesOneOpAtOnePlaceWhateverItsValues) {
  MadeDump a;
  MadeDump b;
  for (MadeDump* dump : {&a, &b}) {
    const OpId first = dump->op("first", "Mul");
    const OpId second = dump->op("second", "Add", {first});
    dump->at(first).outputs = dump->at(second).outputs = {""};
  }
  a.gives(0, numbers(20, 1));
  b.gives(0, numbers(20, 1));
  a.gives(1, numbers(20, 2));
  b.gives(1, scaled(numbers(20, 3), -5));
  add_other(a);
  EXPECT_EQ(Paired(a, b).found(), (Found{{"first", "first by identity"}, {"second", "second by identity"}}));
}

TEST(Pairing, TakesTheLastOriginalThroughAPermutation) {
  MadeDump a;
  MadeDump b;
  const std::vector<float> plain = numbers(2 * 3 * 4 * 5, 1);
  std::vector<float> channels_last(plain.size());
  for (size_t n = 0; n < 2; ++n) {
    for (size_t c = 0; c < 3; ++c) {
      for (size_t p = 0; p < 20; ++p) channels_last[(n * 20 + p) * 3 + c] = plain[(n * 3 + c) * 20 + p];
    }
  }
  a.gives(a.op("conv", "Conv"), plain, {2, 3, 4, 5});
  a.at(0).originals = {{"conv", "Conv"}};
  b.gives(b.op("nhwc", "NhwcConv"), channels_last, {2, 4, 5, 3});
  b.at(0).originals = {{"pad", "Pad"}, {"conv", "Conv"}};
  EXPECT_EQ(Paired(a, b).found(), (Found{{"conv", "nhwc by last original, permuted [0, 3, 1, 2]"}}));
}

TEST(Pairing, TakesModulesOfPyTorchForScopesOfOnnx) {
  MadeDump a;
  MadeDump b;
  a.gives(a.op("Net.fc/addmm", "addmm"), numbers(20, 1));
  a.at(0).module = "Net.fc";
  a.gives(a.op("Net.norm/add", "add"), numbers(20, 2));
  a.at(1).module = "Net.norm";
  b.gives(b.op("/fc/Gemm", "Gemm"), numbers(20, 1));
  b.gives(b.op("/norm/Sub", "Sub"), numbers(20, 5));
  b.gives(b.op("/norm/Mul", "Mul"), numbers(20, 2));
  EXPECT_EQ(Paired(a, b).found(), (Found{{"Net.fc/addmm", "/fc/Gemm by scope"}, {"Net.norm/add", "/norm/Mul by scope"}}));
}

TEST(Pairing, FollowsTheGraphFromPairsForwardAndBackward) {
  MadeDump a;
  MadeDump b;
  for (MadeDump* dump : {&a, &b}) {
    const std::string mark = dump == &a ? "a" : "b";
    const OpId before = dump->op(mark + "0", "Neg");
    const OpId known = dump->op("known", "Conv", {before});
    dump->op(mark + "2", "Exp", {known});
    dump->gives(0, scaled(numbers(6, 1), dump == &a ? 1.0F : 1.001F));
    dump->gives(1, numbers(6, 2));
    dump->gives(2, scaled(numbers(6, 3), dump == &a ? 1.0F : 1.001F));
  }
  EXPECT_EQ(Paired(a, b).found(), (Found{{"a0", "b0 by topology"}, {"a2", "b2 by topology"}, {"known", "known by value name"}}));
}

TEST(Pairing, FindsNearlyEqualContentsOfOneEach) {
  MadeDump a;
  MadeDump b;
  a.gives(a.op("a0", "P"), numbers(5, 1));
  b.gives(b.op("b0", "Q"), numbers(5, 1), {5, 1});
  a.gives(a.op("a1", "P"), numbers(40, 2));
  b.gives(b.op("b1", "Q"), scaled(numbers(40, 2), 1.0002F));
  a.gives(a.op("a5", "P"), numbers(40, 5), {4, 10});
  b.gives(b.op("b5", "Q"), scaled(transposed(numbers(40, 5), 4), 1.00001F), {10, 4});
  // Four elements are too few to tell by; of two equal ones the first is taken, and the other program makes it once.
  a.gives(a.op("a2", "P"), numbers(4, 3));
  b.gives(b.op("b2", "Q"), numbers(4, 3));
  for (const char* name : {"a3", "a4"}) a.gives(a.op(name, "P"), numbers(9, 4));
  b.gives(b.op("b3", "Q"), numbers(9, 4));
  const Paired paired(a, b);
  EXPECT_EQ(paired.found(), (Found{{"a0", "b0 by content, reshaped"}, {"a3", "b3 by content"}, {"a5", "b5 by content, permuted [1, 0]"}}));
  EXPECT_EQ(paired.unpaired_a(), (Found{{"a1", "not explained"}, {"a2", "not explained"}, {"a4", "removed"}}))
      << "of a1 only the size is alike";
}

TEST(Pairing, TakesTheNearestOfWhatRoundingMakesAlike) {
  MadeDump a;
  MadeDump b;
  // Sums behind branches that add little: each is nearer to its own partner than what bfloat16 tells apart.
  for (const int percent : {0, 1, 2}) {
    const float factor = 1 + static_cast<float>(percent) / 100;
    a.gives(a.op(concat("a", percent), "P"), scaled(numbers(40, 1), factor));
    RecordRow row;
    row.op = b.op(concat("b", percent), "Q");
    row.set_desc({DType::kBFloat16, {40}});
    std::vector<uint16_t> rounded;
    for (const float value : scaled(numbers(40, 1), factor))
      rounded.push_back(static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16U));
    row.stats = compute_stats({row.desc(), rounded.data(), nullptr}, {});
    b.set_data(b.add(row), rounded);
  }
  EXPECT_EQ(Paired(a, b).found(), (Found{{"a0", "b0 by content"}, {"a1", "b1 by content"}, {"a2", "b2 by content"}}));
}

TEST(Pairing, SaysWhichValuesAreStepsOnAnotherWay) {
  MadeDump a;
  MadeDump b;
  for (MadeDump* dump : {&a, &b}) {
    const bool first = dump == &a;
    const OpId x = dump->op(first ? "x" : "input", first ? "Conv" : "convolution");
    const OpId step = dump->op(first ? "step" : "other step", first ? "Pow" : "Mul", {x});
    const OpId end = dump->op(first ? "end" : "result", first ? "Sqrt" : "Abs", {step});
    const OpId wrong = dump->op(first ? "wrong" : "other", first ? "Pow" : "Mul", {end});
    dump->op(first ? "last" : "also", first ? "Exp" : "Sin", {wrong});
    const std::vector<uint32_t> seeds = first ? std::vector<uint32_t>{1, 2, 3, 4, 5} : std::vector<uint32_t>{1, 7, 3, 8, 9};
    for (OpId id = 0; id < seeds.size(); ++id) dump->gives(id, numbers(20, seeds[id]));
  }
  EXPECT_EQ(Paired(a, b).unpaired_a(), (Found{{"last", "not explained"}, {"step", "another way into result"}, {"wrong", "not explained"}}));
}

TEST(Pairing, PutsAProposalBackWhoseValuesAreOthers) {
  MadeDump a;
  MadeDump b;
  a.gives(a.op("a", "P"), numbers(20, 1));
  b.gives(b.op("b0", "P"), numbers(20, 2));
  b.gives(b.op("b1", "Q"), numbers(20, 1));
  for (OpInfo* op : {&a.at(0), &b.at(0)}) op->originals = {{"node", "P"}};
  const Paired paired(a, b);
  EXPECT_EQ(paired.found(), (Found{{"a", "b1 by content"}}));
  EXPECT_EQ(paired.refused(PairRule::kOriginal), 1U);
}

TEST(Pairing, TakesAPersonsWordFirst) {
  MadeDump a;
  MadeDump b;
  for (MadeDump* dump : {&a, &b}) {
    dump->gives(dump->op("one", "P"), numbers(20, 1));
    dump->gives(dump->op("two", "P"), numbers(20, 2));
  }
  EXPECT_EQ(Paired(a, b, {{0, 1}}).found(), (Found{{"one", "two by map"}}));
}

TEST(Pairing, TakesEverythingOfOneProgramByItsNames) {
  MadeDump a;
  MadeDump b;
  a.gives(a.op("one", "P"), numbers(20, 1));
  b.gives(b.op("one", "P"), numbers(7, 2));
  a.at(0).outputs = b.at(0).outputs = {""};
  EXPECT_EQ(Paired(a, b).found(), (Found{{"one", "one by identity"}}));
}

TEST(Pairing, PairsStatisticsWithoutData) {
  MadeDump a;
  MadeDump b;
  a.gives(a.op("one", "P"), numbers(20, 1), {20}, {.with_data = false});
  b.gives(b.op("two", "Q"), scaled(numbers(20, 1), 1.00001F), {20}, {.with_data = false});
  EXPECT_EQ(Paired(a, b).found(), (Found{{"one", "two by statistics"}}));
}

TEST(Pairing, ReadsBlocksOfChannelsAsPlainOrder) {
  MadeDump a;
  MadeDump b;
  const std::vector<float> plain = numbers(1 * 8 * 2 * 3, 1);
  std::vector<float> blocked(plain.size());
  for (size_t c = 0; c < 8; ++c) {
    for (size_t p = 0; p < 6; ++p) blocked[(c / 4 * 6 + p) * 4 + c % 4] = plain[c * 6 + p];
  }
  const size_t row = a.gives(a.op("x", "Conv"), blocked, {1, 2, 2, 3, 4});
  b.gives(b.op("x", "Conv"), plain, {1, 8, 2, 3});
  for (const bool said : {false, true}) {
    if (said) a.all_rows[row].flags |= kRecordBlocked;
    const Paired paired(a, b);
    EXPECT_EQ(paired.found(), (Found{{"x", "x by value name, unblocked"}}));
    ASSERT_TRUE(paired.pairing.pairs.at(0).accepted.first.has_value());
    EXPECT_EQ(paired.pairing.pairs[0].accepted.first->differing, 0U);
    EXPECT_EQ(Paired(b, a).found(), (Found{{"x", "x by value name, unblocked"}}));
  }
}

TEST(Pairing, TakesNoBlocksOfChannelsWhereAReshapeHasTheValues) {
  MadeDump a;
  MadeDump b;
  a.gives(a.op("x", "Reshape"), numbers(48, 1), {1, 2, 2, 3, 4});
  b.gives(b.op("x", "Reshape"), numbers(48, 1), {1, 8, 2, 3});
  EXPECT_EQ(Paired(a, b).found(), (Found{{"x", "x by value name, reshaped"}}));
  b.gives(b.op("y", "Reshape"), numbers(48, 2), {1, 8, 2, 3});
  a.gives(a.op("y", "Reshape"), numbers(48, 3), {1, 2, 2, 3, 4});
  EXPECT_EQ(Paired(a, b).found().at("y"), "y by value name, reshaped") << "an author's name holds though the values are far";
}

TEST(Pairing, SaysWhyAValueHasNoPartner) {
  MadeDump a;
  MadeDump b;
  OpInfo weight;
  weight.name = "w";
  weight.type = std::string(kInitializerType);
  const OpId w = a.add_op(weight);
  a.at(w).outputs = {"w"};
  a.gives(w, numbers(8, 9));
  a.gives(a.op("folded", "Neg", {w}), numbers(20, 8));
  a.gives(a.op("conv", "Conv"), numbers(20, 1));
  a.gives(a.op("relu", "Relu"), numbers(20, 2));
  a.gives(a.op("lost", "Tanh"), numbers(20, 3));
  a.gives(a.op("reorder", "ReorderInput"), numbers(20, 4));
  for (OpId id = 1; id < 5; ++id) a.at(id).originals = {{a.at(id).name, a.at(id).type}};
  a.at(5).inserted_by_runtime = true;
  b.gives(b.op("relu", "FusedConv"), numbers(20, 2));
  b.at(0).originals = {{"conv", "Conv"}, {"relu", "Relu"}};
  EXPECT_EQ(Paired(a, b).unpaired_a(),
            (Found{{"conv", "fused into relu"}, {"folded", "removed"}, {"lost", "not explained"}, {"reorder", "made by the runtime"}}));
}

std::string scope_of(const std::string& name, const std::string& type, const std::string& module = "") {
  MadeDump dump;
  dump.gives(dump.op(name, type), numbers(4, 1));
  dump.at(0).module = module;
  const ValueTable table(dump);
  return PairingKeys(table).scope(0);
}

// M26
TEST(Pairing, TheScopeOfAModuleIsOneInAllFrameworks) {
  for (const std::string name :
       {"Default/conv1-Conv2d/Conv2D-op123", "Default/network-WithLossCell/_backbone-LeNet/conv1-Conv2d/Conv2D-op0",
        "Default/network-TrainOneStepCell/network-WithLossCell/_backbone-Net-of-mine/conv1-Conv2d/BiasAdd-op1", "/conv1/Conv"}) {
    EXPECT_EQ(scope_of(name, "Conv2D"), "/conv1") << name;
  }
  EXPECT_EQ(scope_of("any", "convolution", "LeNet.conv1"), "/conv1");
  EXPECT_EQ(scope_of("/features/features.6/block/block.0/block.0.2/HardSwish", "HardSwish"), "/features/6/block/0/2");
  EXPECT_EQ(scope_of("any", "hardswish_", "Net.features.6.block.0.2"), "/features/6/block/0/2");
  EXPECT_EQ(scope_of("/block/block2/Add", "Add"), "/block/block2") << "a name that only begins alike";
  EXPECT_EQ(scope_of("Default/network-ResNet/layer1-SequentialCell/0-ResidualBlock/conv1-Conv2d/Conv2D-op3", "Conv2D"), "/layer1/0/conv1");
  EXPECT_EQ(scope_of("Default/Add-op0", "Add"), "/");
  EXPECT_EQ(scope_of("Default/fc/MatMul_1/MatMul-op12", "MatMul"), "/fc") << "an op in a separate scope";
  EXPECT_EQ(scope_of("Gradients/Default/network-WithLossCell/_backbone-LeNet/fc2-Dense/Grad_MatMul/MatMul-op0", "MatMul"),
            "gradient of /fc2");
  EXPECT_EQ(scope_of("Parameter", "Add"), "");
}

TEST(Pairing, AModuleIsPairedAcrossFrameworksAndItsPartsAreFused) {
  MadeDump a;  // MindSpore: a convolution and its bias
  a.gives(a.op("Default/conv1-Conv2d/Conv2D-op0", "Conv2D"), numbers(20, 1));
  a.gives(a.op("Default/conv1-Conv2d/BiasAdd-op0", "BiasAdd", {0}), numbers(20, 2));
  a.gives(a.op("Default/relu-ReLU/ReLU-op0", "ReLU", {1}), numbers(20, 3));
  MadeDump b;  // PyTorch: both at once
  b.gives(b.op("Net.conv1/convolution", "convolution"), numbers(20, 2));
  b.gives(b.op("Net.relu/relu", "relu", {0}), numbers(20, 3));
  b.at(0).module = "Net.conv1";
  b.at(1).module = "Net.relu";
  const Paired paired(a, b);
  EXPECT_EQ(paired.found(), (Found{{"Default/conv1-Conv2d/BiasAdd-op0", "Net.conv1/convolution by scope"},
                                   {"Default/relu-ReLU/ReLU-op0", "Net.relu/relu by scope"}}));
  EXPECT_EQ(paired.unpaired_a(), (Found{{"Default/conv1-Conv2d/Conv2D-op0", "fused into Net.conv1/convolution"}}));
}

// A graph of llama.cpp: a product and the sum with the bias; PyTorch does both at once, and reads a view of what the product reads.
TEST(Pairing, AProductWithoutItsBiasIsNoViewOfWhatIsMultiplied) {
  MadeDump a;
  a.gives(a.op("norm", "MUL"), numbers(64, 1), {4, 16});
  a.gives(a.op("product", "MUL_MAT", {0}), numbers(64, 2), {4, 16});
  a.gives(a.op("sum", "ADD", {1}), numbers(64, 3), {4, 16});
  MadeDump b;
  b.gives(b.op("Net.norm/mul", "mul"), numbers(64, 1), {1, 4, 16});
  b.gives(b.op("Net.q_proj/view", "view", {0}), numbers(64, 1), {4, 16});
  b.gives(b.op("Net.q_proj/addmm", "addmm", {1}), numbers(64, 3), {4, 16});
  for (OpId id = 0; id < 3; ++id) {
    a.at(id).module = b.at(id).module = id == 0 ? "Net.norm" : "Net.q_proj";
    b.at(id).domain = "aten";
  }
  EXPECT_EQ(Paired(a, b).found(), (Found{{"norm", "Net.norm/mul by scope, reshaped"}, {"sum", "Net.q_proj/addmm by scope"}}));
}

// An exporter folds a normalisation into the convolution before it, whose module it then names.
TEST(Pairing, TheEndOfModulesIsPairedThoughItsOpIsNamedAsAnEarlierOne) {
  const std::vector<float> normalised = numbers(40, 2);
  const std::vector<float> activated = numbers(40, 3);
  MadeDump a;
  a.gives(a.op("conv", "convolution"), scaled(normalised, 0.9995F));
  const OpId norm = a.op("norm", "native_batch_norm", {0});
  a.gives(norm, normalised);
  RecordRow saved = a.all_rows.back();
  saved.slot_index = 1;
  a.set_data(a.add(saved), numbers(40, 7));
  a.gives(a.op("relu", "relu", {1}), activated);
  a.at(0).module = "Net.features.0.0";
  a.at(1).module = "Net.features.0.1";
  a.at(2).module = "Net.features.1";
  MadeDump b;
  b.gives(b.op("/features/features.0/features.0.0/Conv", "Conv"), normalised);
  b.gives(b.op("/features/features.1/Relu", "Relu", {0}), activated);
  const Paired paired(a, b);
  EXPECT_EQ(paired.found(),
            (Found{{"norm", "/features/features.0/features.0.0/Conv by scope"}, {"relu", "/features/features.1/Relu by scope"}}));
  const auto unpaired =
      explain_unpaired(paired.keys_a, paired.pairing.pair_of_a, paired.keys_b, paired.pairing.pair_of_b, paired.pairing.pairs);
  ASSERT_EQ(unpaired.size(), 2U);
  EXPECT_EQ(unpaired[0].why, Absence::kFused);
  EXPECT_EQ(unpaired[0].by, "/features/features.0/features.0.0/Conv");
  EXPECT_EQ(unpaired[1].why, Absence::kRemoved) << "an output that nothing reads";
}

TEST(Pairing, PhasesCountOnlyWhereBothDumpsTellThem) {
  for (const bool both : {false, true}) {
    MadeDump a;
    MadeDump b;
    a.gives(a.op("x", "Conv"), numbers(20, 1));
    b.gives(b.op("x", "Conv"), numbers(20, 1));
    a.all_rows[0].phase = static_cast<uint8_t>(Phase::kForward);
    if (both) b.all_rows[0].phase = static_cast<uint8_t>(Phase::kBackward);
    EXPECT_EQ(Paired(a, b).found().size(), both ? 0U : 1U);
  }
}

struct ProgramOf : MadeDump {
  explicit ProgramOf(const std::vector<std::pair<std::string, uint32_t>>& calls) {
    std::map<std::string, std::pair<OpId, uint32_t>> known;
    for (const auto& [type, seed] : calls) {
      const auto found = known.try_emplace(type, static_cast<OpId>(all_ops.size()), 0).first;
      if (found->second.second == 0) at(op(type, type)).domain = "aten";
      gives(found->second.first, numbers(20, seed), {20}, {.step = 0, .call = found->second.second++});
    }
  }
};

TEST(Pairing, PairsCallsOfProgramsOfWhichOneMakesMore) {
  const ProgramOf right({{"mul", 1}, {"exp", 2}, {"mul", 3}, {"neg", 4}, {"mul", 5}});
  EXPECT_EQ(Paired(ProgramOf({{"mul", 1}, {"exp", 2}, {"sub", 9}, {"mul", 3}, {"neg", 4}, {"mul", 5}}), right).found().size(), 5U);
  const ProgramOf longer({{"mul", 8}, {"mul", 1}, {"exp", 2}, {"mul", 3}, {"neg", 4}, {"mul", 5}});
  const Paired more(longer, right);
  const Found found = more.found();
  EXPECT_EQ(found.size(), 5U);
  EXPECT_EQ(found.at("mul#1") + ", " + found.at("mul#3"), "mul by sequence, mul#2 by sequence");
}

TEST(Pairing, StatisticsAreTakenFromTensorsThatHaveNone) {
  MadeDump a;
  MadeDump b;
  a.gives(a.op("one", "Foo"), numbers(20, 1));
  b.gives(b.op("two", "Bar"), scaled(numbers(20, 1), 1.00001F));
  b.all_rows[0].stats = {};
  EXPECT_EQ(Paired(a, b).found(), (Found{{"one", "two by content"}}));
}

// An input of one framework's op is an attribute of another's; here it is a constant that goes through a cast.
TEST(Pairing, ConstantsBehindTheLastInputDoNotCount) {
  MadeDump a;
  const OpId weight = a.op("k", std::string(kInitializerType));
  const OpId cast = a.op("cast", "Cast", {weight});
  const OpId neg = a.op("neg", "Neg");
  const OpId top = a.op("best", "TopK", {neg, cast});
  a.gives(weight, {3});
  a.gives(cast, {3});
  a.gives(neg, numbers(20, 1));
  a.gives(top, numbers(3, 2));
  MadeDump b;
  b.gives(b.op("neg", "Neg"), numbers(20, 1));
  b.gives(b.op("largest", "topk", {0}), numbers(3, 2));
  EXPECT_EQ(Paired(a, b).found(), (Found{{"neg", "neg by value name"}, {"best", "largest by topology"}}));
  EXPECT_EQ(Paired(a, b).unpaired_a(), (Found{{"cast", "removed"}}));
}

TEST(Pairing, AConstantOfOneGraphIsAWeightOfTheOther) {
  MadeDump a;
  a.op("c", "Constant");
  for (const int64_t step : {4, 5}) a.gives(0, numbers(6, 1), Shape({6}), {step, 0});
  a.gives(a.op("neg", "Neg", {0}), numbers(6, 2), Shape({6}), {4, 0});
  MadeDump b;
  b.gives(b.op("c", std::string(kInitializerType)), numbers(6, 1));
  b.all_rows[0].phase = static_cast<uint8_t>(Phase::kLoad);
  b.gives(b.op("neg", "Neg", {0}), numbers(6, 2), Shape({6}), {4, 0});
  for (const bool swapped : {false, true}) {
    const Paired paired(swapped ? b : a, swapped ? a : b);
    EXPECT_EQ(paired.found(), (Found{{"c", "c by value name"}, {"neg", "neg by value name"}})) << swapped;
    EXPECT_TRUE(paired.unpaired_a().empty());
  }
}

TEST(Pairing, WhatNothingReadsIsRemovedWhereTheGraphsResultsAreKnown) {
  for (const bool known : {true, false}) {
    MadeDump a;
    const OpId neg = a.op("neg", "Neg");
    const OpId dead = a.op("dead", "Add", {neg});
    const OpId behind = a.op("behind", "Floor", {dead});
    const OpId result = a.op("result", "Exp", {neg});
    if (known) a.at(result).attributes = R"({"graph_outputs": [0]})";
    for (const OpId id : {neg, dead, behind, result}) a.gives(id, numbers(20, id + 1));
    MadeDump b;
    b.gives(b.op("neg", "Neg"), numbers(20, 1));
    const std::string why = known ? "removed" : "not explained";
    EXPECT_EQ(Paired(a, b).unpaired_a(), (Found{{"dead", why}, {"behind", why}, {"result", "not explained"}}));
  }
}

}  // namespace
}  // namespace tensortap
