#include "session/op_registry.h"

#include <gtest/gtest.h>

#include "session/fake_layout.h"

namespace tensortap {
namespace {

CaptureSpec spec_of(std::string_view op) {
  CaptureSpec spec = FakeParts::spec();
  spec.include.push_back({});
  spec.include.back().text = std::string(op);
  return spec;
}

std::unique_ptr<const ActivePlan> plan_of(FakeParts& parts, std::string_view op) {
  return std::make_unique<ActivePlan>(*CapturePlan::compile(spec_of(op)), parts.layout.parts(), false, parts.ops.next_number());
}

TEST(OpRegistry, TellsTheLayoutOfEachOpOnceAndOfWhatWasDecided) {
  FakeParts parts(spec_of("b"));
  const OpId a = parts.add("a");
  const OpId b = parts.add("b");
  EXPECT_EQ(parts.layout.added, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(parts.layout.wanted.empty()) << "not asked yet";
  ASSERT_TRUE(parts.ops.bind().ok());
  EXPECT_EQ(parts.layout.wanted, (std::vector<bool>{false, true}));
  EXPECT_FALSE(parts.ops.wants(a, *parts.ops.find(a)));
  EXPECT_TRUE(parts.ops.wants(b, *parts.ops.find(b)));
  EXPECT_EQ(parts.layout.wanted.size(), 2U) << "a decision is not made twice";
}

TEST(OpRegistry, DecidesForAnOpThatComesLater) {
  CaptureSpec spec = spec_of("late");
  spec.include.back().optional = true;
  FakeParts parts(spec);
  ASSERT_TRUE(parts.ops.bind().ok());
  const OpId late = parts.add("late");
  EXPECT_TRUE(parts.ops.wants(late, *parts.ops.find(late)));
  EXPECT_EQ(parts.layout.wanted, (std::vector<bool>{true}));
}

TEST(OpRegistry, AStepThatRunsKeepsThePlanThatItBeganUnder) {
  FakeParts parts(spec_of("a"));
  const OpId a = parts.add("a");
  const OpId b = parts.add("b");
  StepGate& gate = parts.admission.steps();
  gate.begin(0, 1, 0);
  ASSERT_TRUE(parts.ops.replace(plan_of(parts, "b"), gate).ok());
  EXPECT_FALSE(parts.ops.has_waiting()) << "two plans may be alive";
  EXPECT_EQ(gate.look(0).generation, 0);
  EXPECT_TRUE(parts.ops.decision_of(a, *parts.ops.find(a), 0)->wanted);
  EXPECT_FALSE(parts.ops.decision_of(b, *parts.ops.find(b), 0)->wanted);
  gate.begin(1, 2, 0);
  const uint8_t now = gate.look(1).generation;
  EXPECT_EQ(now, 1);
  EXPECT_FALSE(parts.ops.decision_of(a, *parts.ops.find(a), now)->wanted);
  EXPECT_TRUE(parts.ops.decision_of(b, *parts.ops.find(b), now)->wanted);
  EXPECT_TRUE(parts.ops.wants(a, *parts.ops.find(a))) << "step 0 still runs";
}

TEST(OpRegistry, OnlyTheLatestOfThePlansThatWaitIsApplied) {
  FakeParts parts(spec_of("a"));
  const OpId b = parts.add("b");
  const OpId c = parts.add("c");
  StepGate& gate = parts.admission.steps();
  gate.begin(0, 1, 0);
  ASSERT_TRUE(parts.ops.replace(plan_of(parts, "x"), gate).ok());
  gate.begin(1, 2, 0);
  ASSERT_TRUE(parts.ops.replace(plan_of(parts, "b"), gate).ok());
  EXPECT_TRUE(parts.ops.has_waiting());
  ASSERT_TRUE(parts.ops.replace(plan_of(parts, "c"), gate).ok());
  gate.end(0, 1, 0);
  parts.ops.apply_waiting(gate);
  EXPECT_FALSE(parts.ops.has_waiting());
  const uint8_t newest = parts.ops.newest();
  EXPECT_FALSE(parts.ops.decision_of(b, *parts.ops.find(b), newest)->wanted);
  EXPECT_TRUE(parts.ops.decision_of(c, *parts.ops.find(c), newest)->wanted);
  EXPECT_EQ(parts.ops.plan().generation, 3U) << "numbered in the order in which they were given";
}

TEST(OpRegistry, AWrongPlanChangesNothing) {
  FakeParts parts(spec_of("a"));
  const OpId a = parts.add("a");
  ASSERT_TRUE(parts.ops.bind().ok());
  CaptureSpec spec = FakeParts::spec();
  spec.include.push_back({});
  spec.include.back().text = "nowhere";
  auto plan = std::make_unique<ActivePlan>(*CapturePlan::compile(spec), parts.layout.parts(), false, parts.ops.next_number());
  EXPECT_FALSE(parts.ops.replace(std::move(plan), parts.admission.steps()).ok());
  EXPECT_EQ(parts.ops.newest(), 0);
  EXPECT_FALSE(parts.ops.has_waiting());
  EXPECT_TRUE(parts.ops.wants(a, *parts.ops.find(a)));
}

TEST(OpRegistry, SaysThatARequestHadNoEffect) {
  FakeParts parts(FakeParts::spec());
  const OpId op = parts.add("op");
  EXPECT_TRUE(parts.ops.explain_plan()["notes"].empty());
  parts.ops.request(op, true, false);
  EXPECT_EQ(parts.ops.explain_plan()["notes"].size(), 1U);
  EXPECT_FALSE(parts.ops.find(op)->has(kOpRequested));
}

TEST(OpRegistry, KeepsEachReasonOnce) {
  FakeParts parts(FakeParts::spec());
  const OpId op = parts.add("op");
  for (const std::string_view reason : {"fused", "fused", "on a device"}) parts.ops.not_captured(op, reason);
  parts.ops.not_captured(op + 1, "an unknown op");
  EXPECT_EQ(parts.ops.find(op)->reasons, (std::vector<std::string>{"fused", "on a device"}));
}

}  // namespace
}  // namespace tensortap
