#include "session/step_gate.h"

#include <gtest/gtest.h>
#include <tensortap/capture.h>

namespace tensortap {
namespace {

TEST(StepGate, SharesADecisionBetweenRunsOfOneStep) {
  Governor governor(0, false);
  const StepSet all = StepSet::all();
  StepGate gate(all, 1, governor);
  EXPECT_TRUE(gate.begin(0, 1, 0));
  EXPECT_TRUE(gate.begin(0, 2, 0));
  gate.end(0, 1, 1);
  EXPECT_EQ(gate.verdict(0), StepGate::Verdict::kCaptured);
  gate.end(0, 2, 1);
  EXPECT_FALSE(gate.begin(0, 3, 2)) << "the same number again is another step: one was asked for";
  EXPECT_EQ(gate.verdict(0), StepGate::Verdict::kStopped);
}

TEST(StepGate, TellsFarNumbersApart) {
  Governor governor(0, false);
  StepSet steps;
  steps.add(5, 5);
  StepGate gate(steps, -1, governor);
  EXPECT_EQ(gate.verdict(5), StepGate::Verdict::kCaptured);
  for (const int64_t step : {int64_t{5} + 64, int64_t{-5}, INT64_MAX, INT64_MIN, (int64_t{1} << 61) + 5}) {
    EXPECT_EQ(gate.verdict(step), StepGate::Verdict::kOutside) << step;
    EXPECT_EQ(gate.verdict(step), StepGate::Verdict::kOutside) << step;
  }
  for (int64_t step = 6; step < 20000; ++step) EXPECT_EQ(gate.verdict(step), StepGate::Verdict::kOutside);
  EXPECT_EQ(gate.verdict(5), StepGate::Verdict::kCaptured);
}

TEST(StepGate, ARunThatBeginsAgainTakesItsStepUpAgain) {
  Governor governor(0.03, false);
  const StepSet all = StepSet::all();
  StepGate gate(all, -1, governor);
  EXPECT_TRUE(gate.begin(0, 0, 0));
  EXPECT_TRUE(gate.begin(0, 0, 1'000'000)) << "its first attempt did not run";
  gate.end(0, 0, 3'000'000);
  EXPECT_FALSE(gate.begin(1, 1, 4'000'000)) << "it ended once, and the governor goes on";
  gate.end(1, 1, 5'000'000);
  EXPECT_EQ(gate.steps_seen(), 2U);
  EXPECT_EQ(gate.steps_captured(), 1U);
  EXPECT_TRUE(gate.withdraw().has_value()) << "no step is under way";
}

// Rounds of a phase: `run` is the phase, and the numbers restart in each.
TEST(StepGate, RoundsOfTwoPhasesAreStepsOfTheirOwn) {
  const StepSet steps = *StepSet::parse("0,1");
  Governor governor(0, false);
  StepGate gate(steps, -1, governor);
  for (const uint64_t phase : {TENSORTAP_MODEL_PHASE_PREFILL, TENSORTAP_MODEL_PHASE_DECODE}) {
    for (int64_t round = 0; round < 3; ++round) {
      EXPECT_EQ(gate.begin(round, phase, 0), round < 2);
      gate.end(round, phase, 0);
    }
  }
  EXPECT_EQ(gate.steps_seen(), 6U);
  EXPECT_EQ(gate.steps_captured(), 4U);
}

}  // namespace
}  // namespace tensortap
