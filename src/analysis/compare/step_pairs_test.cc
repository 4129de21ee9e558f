#include "compare/step_pairs.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "compare/dump_comparison.h"
#include "compare/made_dump.h"

namespace tensortap {
namespace {

using Pairs = std::vector<StepPair>;

// An engine: each step looks up rows of a table for its ids, and makes something of them.
struct Engine : MadeDump {
  Engine() {
    op("embedding", "embedding");
    op("result", "Neg", {0});
  }
  Engine& step(const std::vector<int64_t>& ids, float factor = 1) {
    RecordRow row;
    row.op = 0;
    row.step = next_++;
    row.slot_kind = static_cast<uint8_t>(SlotKind::kInput);
    row.set_desc({DType::kInt64, Shape({static_cast<int64_t>(ids.size())})});
    set_data(add(row), ids);
    std::vector<float> rows;
    for (const int64_t id : ids) {
      const std::vector<float> of_id = numbers(8, static_cast<uint32_t>(id));
      rows.insert(rows.end(), of_id.begin(), of_id.end());
    }
    const Shape shape({static_cast<int64_t>(ids.size()), 8});
    gives(0, rows, shape, {.step = row.step});
    gives(1, scaled(rows, factor), shape, {.step = row.step});
    return *this;
  }

 private:
  int64_t next_ = 0;
};

TEST(StepPairs, ReadsPairsOfSteps) {
  const auto pairs = parse_step_pairs("3:4, 7,0-2");
  ASSERT_TRUE(pairs.ok()) << pairs.status().message();
  EXPECT_EQ(*pairs, (Pairs{{3, 4}, {7, 7}, {0, 0}, {1, 1}, {2, 2}}));
  for (const char* text : {"x", "3:", ":3", "3-1", "0-99999999999", "1,1:2", "1,,2"}) EXPECT_FALSE(parse_step_pairs(text).ok()) << text;
}

TEST(StepPairs, StepsOfEqualIdsStandBesideEachOther) {
  Engine a;
  a.step({0, 0, 0, 0, 0, 0}).step({5, 6, 7, 8}).step({9}).step({3});
  Engine b;
  b.step({5, 6, 7, 8}).step({9}).step({3});
  const ChosenSteps steps = choose_steps(a, b, {});
  EXPECT_TRUE(steps.by_ids);
  EXPECT_EQ(steps.pairs, (Pairs{{1, 0}, {2, 1}, {3, 2}}));
  EXPECT_EQ(steps.alone_a, 1U);
  EXPECT_EQ(steps.alone_b, 0U);
  EXPECT_EQ(choose_steps(a, b, {{1, 2}}).pairs, (Pairs{{1, 2}})) << "a person knows better";
}

TEST(StepPairs, OfAPhaseAreThosePairsWhoseStepHasIt) {
  Engine warmed;  // a warm-up, a prompt, two tokens
  warmed.step({9, 9}).step({3, 4, 5}).step({6}).step({7});
  const auto phases = {ModelPhase::kWarmUp, ModelPhase::kPrefill, ModelPhase::kDecode, ModelPhase::kDecode};
  for (RecordRow& row : warmed.all_rows) row.model_phase = static_cast<uint8_t>(phases.begin()[row.step]);
  Engine plain;
  plain.step({3, 4, 5}).step({6}).step({7});
  EXPECT_EQ(*step_pairs_of_phase(warmed, plain, ModelPhase::kDecode), (Pairs{{2, 1}, {3, 2}}));
  EXPECT_EQ(*step_pairs_of_phase(plain, warmed, ModelPhase::kPrefill), (Pairs{{0, 1}})) << "the phases of B";
  EXPECT_EQ(step_pairs_of_phase(warmed, plain, ModelPhase::kWarmUp).status().code(), StatusCode::kNotFound) << "B has none";
  EXPECT_EQ(step_pairs_of_phase(plain, plain, ModelPhase::kDecode).status().code(), StatusCode::kNotFound);
}

TEST(StepPairs, EqualNumbersStandWhereIdsFitThem) {
  Engine a;
  a.step({5, 6, 7, 8}).step({9}).step({3}).step({4});
  Engine other;  // computes another token from the third step on
  other.step({5, 6, 7, 8}).step({9}).step({4}).step({1});
  EXPECT_FALSE(choose_steps(a, other, {}).by_ids) << "a single token that comes again says nothing";
  EXPECT_FALSE(choose_steps(a, a, {}).by_ids);
  Engine unlike;
  unlike.step({1, 2, 3, 4}).step({2}).step({6}).step({0});
  EXPECT_FALSE(choose_steps(a, unlike, {}).by_ids);
}

TEST(StepPairs, OnlyStepsWithAPartnerAreCompared) {
  Engine a;
  a.step({0, 0, 0, 0, 0, 0}).step({5, 6, 7, 8}).step({9}, 1.5F);
  Engine b;
  b.step({5, 6, 7, 8}).step({9});
  auto comparison = DumpComparison::make(a, b, {});
  ASSERT_TRUE(comparison.ok()) << comparison.status().message();
  std::vector<std::string> compared;
  (*comparison)->run([&](const ComparedValue& value) {
    if (value.verdict == Verdict::kDifferent) compared.push_back(std::to_string(b.rows()[value.row_b].step));
  });
  EXPECT_EQ(compared, (std::vector<std::string>{"1"}));
  EXPECT_EQ((*comparison)->summary().judged(), 4U);
}

}  // namespace
}  // namespace tensortap
