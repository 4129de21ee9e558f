#include "session/governor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <random>
#include <set>
#include <vector>

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
    const Governor::Step begun = with_steps ? governor.begin_step(now) : Governor::Step{.captured = true};
    outcome.captured_steps += begun.captured ? 1 : 0;
    for (int op = 0; op < program.ops; ++op) {
      now += program.base_ns / program.ops;
      const bool first = step == 0;
      const bool taken =
          with_steps ? begun.captured && (first || governor.takes_op(static_cast<OpId>(op), step)) : governor.window_open(now) || first;
      if (!taken) continue;
      const int64_t cost = program.cost(governor.thinning(now).sample_limit);
      governor.spend(cost, 1000, 0);
      now += cost;
      spent += cost;
      ++outcome.captured_ops;
    }
    if (with_steps) governor.end_step(begun, now);
  }
  outcome.overhead = static_cast<double>(spent) / static_cast<double>(now - kMillisecond - spent);
  return outcome;
}

// What a made program does in one step.
struct MadeStep {
  double own_ns = 0;     // by itself
  double in_calls = 0;   // what a capture of it costs, inside its own calls,
  double elsewhere = 0;  // in the rest of the step,
  double after = 0;      // and in the next step
  uint64_t kind = 0;
};

// A program whose steps the function makes of their number and of random numbers from 0 to 1.
using MadeProgram = std::function<MadeStep(int step, const std::function<double()>& noise)>;

struct Truth {
  double overhead = 0;  // real
  double reported = 0;
  std::vector<int> captured;  // numbers of the steps
  Json report;
};

Truth run_made(const MadeProgram& program, int steps, uint64_t seed, double budget = 0.03) {
  Governor governor(budget, false, seed);
  std::mt19937_64 random(seed * 7919);
  const auto noise = [&random] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  Truth truth;
  double now = 1e6;
  double own = 0;
  double cost = 0;
  double owed = 0;
  for (int number = 0; number < steps; ++number) {
    const MadeStep step = program(number, noise);
    const Governor::Step begun = governor.begin_step(static_cast<int64_t>(now), step.kind);
    now += step.own_ns + owed;
    own += step.own_ns;
    cost += owed;
    owed = 0;
    if (begun.captured) {
      truth.captured.push_back(number);
      governor.spend(static_cast<int64_t>(step.in_calls), 1000, 0);
      now += step.in_calls + step.elsewhere;
      cost += step.in_calls + step.elsewhere;
      owed = step.after;
    }
    governor.end_step(begun, static_cast<int64_t>(now));
  }
  truth.overhead = cost / own;
  truth.report = governor.report(0);
  truth.reported = truth.report["measured_overhead"].get<double>();
  return truth;
}

// Checks for every program that the budget is kept, that the report is right, and that steps were captured.
void expect_kept(const MadeProgram& program, int steps, double fewest_captured, double budget = 0.03) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const Truth truth = run_made(program, steps, seed, budget);
    EXPECT_LE(truth.overhead, budget) << "seed " << seed;
    EXPECT_NEAR(truth.reported, truth.overhead, 0.01) << "seed " << seed << truth.report;
    EXPECT_GE(static_cast<double>(truth.captured.size()), fewest_captured) << "seed " << seed << truth.report;
  }
}

MadeStep costly(double own_ns, uint64_t kind = 0) {
  return {.own_ns = own_ns, .in_calls = 0.5 * own_ns, .elsewhere = 0.2 * own_ns, .after = 0.1 * own_ns, .kind = kind};
}

double one_in(double often, double value) { return value < 1 / often ? 1 : 0; }

TEST(Governor, KeepsTheBudgetOfASteadyProgram) {  // B8
  expect_kept([](int, const auto&) { return costly(1e6); }, 2000, 30);
}

TEST(Governor, KeepsTheBudgetOfAProgramWithNoise) {  // B8
  // Skewed: most steps are a little longer than the shortest, some are much.
  expect_kept(
      [](int, const auto& noise) {
        const double u = noise();
        MadeStep step = costly(1e6);
        step.own_ns = 1e6 * (1 + 0.3 * u * u * u);
        return step;
      },
      4000, 60);
}

TEST(Governor, KeepsTheBudgetThoughTheMachineHoldsStepsUp) {  // B8
  expect_kept(
      [](int, const auto& noise) {
        MadeStep step = costly(1e6);
        step.own_ns = 1e6 * (1 + 0.05 * noise()) + 2e7 * one_in(20, noise());
        return step;
      },
      5000, 100);
}

TEST(Governor, ChargesWhatItCanNotSee) {  // B8
  expect_kept([](int, const auto&) { return MadeStep{.own_ns = 1e6, .in_calls = 1e5, .elsewhere = 6e5}; }, 3000, 60);
}

TEST(Governor, ChargesWhatTheNextStepPays) {  // B8
  const MadeProgram program = [](int, const auto& noise) {
    return MadeStep{.own_ns = 1e6 * (1 + 0.05 * noise()), .in_calls = 2e5, .after = 5e5};
  };
  expect_kept(program, 3000, 60);
  EXPECT_GT(run_made(program, 3000, 1).report["measured_by"]["steps_after"], 50);
}

TEST(Governor, ComparesStepsOfOneKind) {  // B8
  const MadeProgram program = [](int number, const auto& noise) {
    const bool small = number % 2 == 0;
    return costly((small ? 1e6 : 1e7) * (1 + 0.05 * noise()), small ? 11 : 22);
  };
  expect_kept(program, 4000, 50);
  std::array<int, 2> captured{};
  for (const int number : run_made(program, 4000, 1).captured) ++captured.at(static_cast<size_t>(number % 2));
  EXPECT_GT(captured[0], 10) << "the draw does not follow the program's own rhythm";
  EXPECT_GT(captured[1], 10);
}

TEST(Governor, KeepsTheBudgetOfKindsThatItCanNotTellApart) {  // B8
  expect_kept([](int number, const auto&) { return costly(number % 3 == 0 ? 3e6 : 1e6); }, 6000, 50);
}

TEST(Governor, KeepsTheBudgetWhereEveryStepIsOfANewKind) {  // B8
  // No step to compare with: the time inside the calls counts instead, and here the capture costs nothing else.
  expect_kept([](int number, const auto&) { return MadeStep{.own_ns = 1e6, .in_calls = 3e5, .kind = static_cast<uint64_t>(number) + 1}; },
              3000, 50);
}

TEST(Governor, FollowsAProgramThatGetsSlowerOrFaster) {  // B8
  expect_kept([](int number, const auto& noise) { return costly(1e6 * (1 + number / 4000.0) * (1 + 0.05 * noise())); }, 4000, 60);
  expect_kept([](int number, const auto& noise) { return costly(2e6 * (1 - number / 8000.0) * (1 + 0.05 * noise())); }, 4000, 60);
}

TEST(Governor, FollowsACaptureThatGetsDearer) {  // B8
  expect_kept(
      [](int number, const auto&) {
        MadeStep step = costly(1e6);
        if (number > 2000) step.elsewhere *= 4;
        return step;
      },
      6000, 80);
}

TEST(Governor, CapturesMostStepsThatCostLittle) {  // B8
  const MadeProgram program = [](int, const auto& noise) {
    return MadeStep{.own_ns = 1e7 * (1 + 0.01 * noise()), .in_calls = 1e5, .elsewhere = 2e4};
  };
  expect_kept(program, 4000, 2500);
  EXPECT_GE(run_made(program, 4000, 1).report["measured_by"]["plain_steps"], 200) << "without plain steps nothing is known";
}

TEST(Governor, DrawsTheSameStepsOfTheSameSeed) {
  const MadeProgram program = [](int, const auto&) { return costly(1e6); };
  EXPECT_EQ(run_made(program, 1000, 3).captured, run_made(program, 1000, 3).captured);
  EXPECT_NE(run_made(program, 1000, 3).captured, run_made(program, 1000, 4).captured);
}

TEST(Governor, DrawsStepsAtNoFixedDistance) {
  const Truth truth = run_made([](int, const auto&) { return costly(1e6); }, 4000, 1);
  std::set<int> distances;
  for (size_t i = 1; i < truth.captured.size(); ++i) distances.insert(truth.captured[i] - truth.captured[i - 1]);
  EXPECT_GT(distances.size(), 10U);
}

TEST(Governor, SaysOnHowManyStepsItsMeasureRests) {
  const Truth truth = run_made([](int, const auto&) { return costly(1e6); }, 2000, 1);
  const Json& by = truth.report["measured_by"];
  EXPECT_EQ(truth.report["seen"], 2000);
  EXPECT_EQ(truth.report["captured"], truth.captured.size());
  EXPECT_EQ(by["captured_steps"].get<size_t>() + by["by_own_calls"].get<size_t>(), truth.captured.size());
  EXPECT_EQ(by["by_own_calls"], 1) << "the first step comes before any plain one";
  EXPECT_LE(by["plain_steps"].get<size_t>() + by["steps_after"].get<size_t>() + truth.captured.size(), 2000U);
}

// Two threads: the steps of one begin in the middle of the other's.
TEST(Governor, TakesNoPlainSampleFromStepsBesideACapturedOne) {
  Governor governor(0.5, false);
  int64_t now = kMillisecond;
  Governor::Step other = governor.begin_step(now);
  ASSERT_TRUE(other.captured);
  std::vector<bool> captured = {true};
  for (int step = 0; step < 2000; ++step) {
    const Governor::Step begun = governor.begin_step(now += kMillisecond / 2);
    EXPECT_FALSE(begun.captured && other.captured) << "one at a time";
    if (other.captured) {
      governor.spend(kMillisecond, 1000, 0);
      now += kMillisecond;
    }
    governor.end_step(other, now += kMillisecond / 2);
    other = begun;
    captured.push_back(begun.captured);
  }
  // Steps 0 to 1999 ended. The second one after a captured one is the first that began when that had ended.
  int expected = 0;
  for (size_t i = 2; i < 2000; ++i) expected += captured[i - 2] || captured[i - 1] || captured[i] || captured[i + 1] ? 0 : 1;
  EXPECT_EQ(governor.report(0)["measured_by"]["plain_steps"], expected);
  EXPECT_GT(std::ranges::count(captured, true), 100);
  EXPECT_GT(expected, 100);
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
  ASSERT_TRUE(governor.begin_step(0).captured);
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

TEST(Governor, LetsEverythingThroughWithoutABudget) {
  Governor governor(0, false);
  EXPECT_FALSE(governor.active());
  for (int step = 0; step < 100; ++step) {
    const Governor::Step begun = governor.begin_step(step);
    EXPECT_TRUE(begun.captured);
    governor.end_step(begun, step + 1);
  }
  EXPECT_TRUE(governor.report(0).is_null());
}

TEST(Governor, ABudgetThatChangesWhileTheProgramRunsIsKept) {
  const Program cheap{.base_ns = 10 * kMillisecond, .ops = 100, .cost = [](uint64_t) { return int64_t{2'000}; }};
  const Program dear{.base_ns = 10 * kMillisecond, .ops = 100, .cost = [](uint64_t) { return int64_t{60'000}; }};
  Governor governor(0.2, false);
  run(governor, cheap, 2000);
  governor.aim(0.02, true);
  const Outcome outcome = run(governor, dear, 4000);
  EXPECT_LE(outcome.overhead, 0.025) << "with what the cheap steps left over";
  EXPECT_GT(outcome.captured_steps, 20);
  EXPECT_EQ(governor.report(0)["budget"], 0.02);
  Governor none(0, false);
  none.aim(0.02, true);
  EXPECT_FALSE(none.active()) << "it measured nothing";
}

}  // namespace
}  // namespace tensortap
