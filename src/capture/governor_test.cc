#include "capture/governor.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/json.h"

namespace tensortap {
namespace {

constexpr int64_t kMillisecond = 1'000'000;

// A program of `ops` ops a step that takes `base_ns` a step by itself, and a capture that costs `cost` for each op it takes.
struct Program {
  int64_t base_ns;
  int ops;
  std::function<int64_t(uint64_t sample_limit)> cost;
};

struct Outcome {
  double overhead;
  int captured_steps;
  int captured_ops;
};

Outcome run(Governor& governor, const Program& program, int steps, bool with_steps = true) {
  int64_t now = kMillisecond;
  int64_t spent = 0;
  Outcome outcome{0, 0, 0};
  for (int step = 0; step < steps; ++step) {
    const int64_t began = now;
    const bool captured = !with_steps || governor.begin_step(now);
    outcome.captured_steps += captured ? 1 : 0;
    for (int op = 0; op < program.ops; ++op) {
      now += program.base_ns / program.ops;
      const bool first = step == 0;
      const bool taken =
          with_steps ? captured && (first || governor.takes_op(static_cast<OpId>(op), step)) : governor.window_open(now) || first;
      if (!taken) continue;
      const int64_t cost = program.cost(governor.thinning(now).sample_limit);
      governor.spend(cost, 1000, 0);
      now += cost;
      spent += cost;
      ++outcome.captured_ops;
    }
    if (with_steps) governor.end_step(captured, began, now);
  }
  outcome.overhead = static_cast<double>(spent) / static_cast<double>(now - kMillisecond - spent);
  return outcome;
}

TEST(Governor, CapturesEveryStepThatCostsLittle) {  // B8
  Governor governor(0.03, false);
  const Outcome outcome = run(governor, {10 * kMillisecond, 10, [](uint64_t) { return 10'000; }}, 1000);
  EXPECT_GE(outcome.captured_steps, 995);
  EXPECT_LE(outcome.overhead, 0.03);
}

TEST(Governor, CapturesEveryKthStepThatCostsMuch) {  // B8
  Governor governor(0.03, false);
  // A captured step is 20 % slower: at 3 % about every tenth fits, with the room that the governor keeps.
  const Outcome outcome = run(governor, {10 * kMillisecond, 10, [](uint64_t) { return 200'000; }}, 2000);
  EXPECT_LE(outcome.overhead, 0.03);
  EXPECT_GE(outcome.captured_steps, 100);
  const Json report = governor.report(0);
  EXPECT_EQ(report["seen"], 2000);
  EXPECT_EQ(report["captured"], outcome.captured_steps);
  EXPECT_NEAR(report["measured_overhead"].get<double>(), outcome.overhead, 0.005);
}

TEST(Governor, SamplesWhenOneStepAloneCostsFarTooMuch) {  // B8
  Governor governor(0.03, false);
  // Whole tensors: 30 times the program's own time; samples: next to nothing.
  const Program program{10 * kMillisecond, 10, [](uint64_t limit) { return limit == 0 ? 30 * kMillisecond : 20'000; }};
  const Outcome outcome = run(governor, program, 5000);
  EXPECT_LE(outcome.overhead, 0.03);
  EXPECT_GE(outcome.captured_steps, 5);
}

TEST(Governor, LeavesOpsOutWhenSamplesAreNotEnough) {  // B8
  Governor governor(0.03, false);
  const Outcome outcome = run(governor, {kMillisecond, 100, [](uint64_t) { return 50'000; }}, 20000);
  EXPECT_LE(outcome.overhead, 0.03);
  EXPECT_GE(outcome.captured_ops, 100);
}

TEST(Governor, TakesTheFirstStepWhateverItCosts) {  // B8
  Governor governor(0.001, false);
  const Outcome outcome = run(governor, {kMillisecond, 10, [](uint64_t) { return 10 * kMillisecond; }}, 1);
  EXPECT_EQ(outcome.captured_steps, 1);
  EXPECT_EQ(outcome.captured_ops, 10);
}

TEST(Governor, SamplesTheFirstStepAsSoonAsItCostsTooMuch) {
  Governor governor(0.03, false);
  ASSERT_TRUE(governor.begin_step(0));
  EXPECT_EQ(governor.thinning(0).sample_limit, 0U);
  governor.spend(5 * kMillisecond, 1000, 0);
  EXPECT_GT(governor.thinning(6 * kMillisecond).sample_limit, 0U);
  EXPECT_FALSE(governor.thinning(6 * kMillisecond).keep_data);
  EXPECT_EQ(governor.thinning(1000 * kMillisecond).sample_limit, 0U) << "the step turned out to be long";
}

TEST(Governor, GovernsProgramsWithoutStepsByTime) {  // B8
  Governor governor(0.03, false);
  const Outcome outcome = run(governor, {kMillisecond, 10, [](uint64_t) { return 50'000; }}, 20000, false);
  EXPECT_LE(outcome.overhead, 0.03);
  EXPECT_GE(outcome.captured_ops, 1000);
}

TEST(Governor, LearnsWhatItCanNotSeeThoughTheMachineHoldsStepsUp) {  // B8
  Governor governor(0.03, false);
  int64_t now = kMillisecond;
  int captured_steps = 0;
  constexpr int kSteps = 5000;
  for (int step = 0; step < kSteps; ++step) {
    const int64_t began = now;
    const bool captured = governor.begin_step(now);
    now += kMillisecond;
    if (captured) {
      ++captured_steps;
      governor.spend(kMillisecond / 10, 1000, 0);
      now += kMillisecond * 7 / 10;
    } else if (step % 20 == 0) {
      now += 20 * kMillisecond;
    }
    governor.end_step(captured, began, now);
  }
  EXPECT_GE(captured_steps, 50);
  const double spent = 0.7 * kMillisecond * captured_steps;
  EXPECT_LE(spent / (static_cast<double>(now - kMillisecond) - spent), 0.03);
}

TEST(Governor, LetsEverythingThroughWithoutABudget) {
  Governor governor(0, false);
  EXPECT_FALSE(governor.active());
  EXPECT_TRUE(governor.begin_step(0));
  EXPECT_TRUE(governor.report(0).is_null());
}

}  // namespace
}  // namespace tensortap
