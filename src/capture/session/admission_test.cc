#include "session/admission.h"

#include <gtest/gtest.h>

#include "session/fake_layout.h"

namespace tensortap {
namespace {

constexpr uint32_t kWholeExecution = 0;  // flags of an event that is its execution's only one

struct Admitted {
  explicit Admitted(const CaptureSpec& spec, bool counts_all = false)
      : parts(spec), admission(parts.ops.plan(), counts_all), op(*parts.ops.find(parts.add("op"))) {}

  Execution admit(int64_t step, uint32_t flags = kWholeExecution, uint32_t call = 0) {
    FakeEvent event(0, {1});
    event.event.step = step;
    event.event.call = call;
    event.event.flags = flags;
    const Execution execution = admission.admit(parts.ops.plan(), event.event, op, 0);
    admission.remember(parts.ops.plan(), event.event, op, execution);
    return execution;
  }

  FakeParts parts;
  Admission admission;
  OpEntry& op;
};

CaptureSpec of_steps(std::string_view steps) {
  CaptureSpec spec = FakeParts::spec();
  spec.steps = *StepSet::parse(steps);
  return spec;
}

TEST(Admission, TakesTheStepsThatWereAskedForAndNotesTheOthers) {
  Admitted session(of_steps("1"));
  EXPECT_FALSE(session.admit(0).taken);
  EXPECT_TRUE(session.op.has(kOpOutsideSteps));
  EXPECT_TRUE(session.admit(1).taken);
  EXPECT_FALSE(session.admit(2).taken);
}

TEST(Admission, CountsStepsAsUsersDo) {
  CaptureSpec spec = of_steps("1");
  spec.first_step = 1;
  Admitted session(spec);
  EXPECT_TRUE(session.admit(0).taken);
  EXPECT_FALSE(session.admit(1).taken);
}

TEST(Admission, NumbersExecutionsWithinAStep) {
  Admitted session(FakeParts::spec());
  EXPECT_EQ(session.admit(0).call, 0U);
  EXPECT_EQ(session.admit(0).call, 1U);
  EXPECT_EQ(session.admit(1).call, 0U);
  EXPECT_EQ(session.admit(1, kWholeExecution, 8).call, 7U) << "the source counts from 1";
}

TEST(Admission, CountsWhatIsNotTakenWhereALayoutFollowsExecutions) {
  Admitted records(of_steps("1"));
  Admitted executions(of_steps("1"), true);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(records.admit(0).call, 0U);
    EXPECT_EQ(executions.admit(0).call, static_cast<uint32_t>(i));
  }
}

// The second event of an execution gets the number of the first, however many run at the same time.
TEST(Admission, TheSecondEventOfAnExecutionIsDecidedByItsFirst) {
  Admitted session(FakeParts::spec());
  const Execution outer = session.admit(0, TENSORTAP_EVENT_READ_FIRST);
  const Execution inner = session.admit(0, TENSORTAP_EVENT_READ_FIRST);
  EXPECT_NE(outer.call, inner.call);
  EXPECT_EQ(session.admit(0).call, inner.call);
  EXPECT_EQ(session.admit(0).call, outer.call);
  EXPECT_EQ(session.admit(0).call, 2U) << "nothing waits any more";
}

TEST(Admission, AFailedOpHasTheNumberOfTheExecutionThatItBegan) {
  Admitted session(FakeParts::spec());
  session.admit(0);
  const Execution begun = session.admit(0, TENSORTAP_EVENT_READ_FIRST);
  const FakeEvent failed(0, {1});
  tensortap_op_event event = failed.event;
  event.call = 0;
  EXPECT_EQ(session.admission.call_of_failed(event, session.op), begun.call);
}

TEST(Admission, ChoosesMoments) {
  const FakeEvent fake(0, {1});
  const auto wanted = [&fake](MomentChoice choice, uint32_t moment, uint32_t phase, uint32_t flags) {
    CaptureSpec spec = FakeParts::spec();
    spec.moment = choice;
    FakeParts parts(spec);
    tensortap_op_event event = fake.event;
    event.moment = moment;
    event.phase = phase;
    event.flags = flags;
    return Admission::moment_wanted(parts.ops.plan(), event);
  };
  const uint32_t runs = TENSORTAP_PHASE_FORWARD;
  EXPECT_TRUE(wanted(MomentChoice::kBefore, TENSORTAP_MOMENT_BEFORE, runs, 0));
  EXPECT_FALSE(wanted(MomentChoice::kBefore, TENSORTAP_MOMENT_AFTER, runs, 0));
  EXPECT_TRUE(wanted(MomentChoice::kBefore, TENSORTAP_MOMENT_AFTER, runs, TENSORTAP_EVENT_READ_FIRST)) << "inputs before the op runs";
  EXPECT_TRUE(wanted(MomentChoice::kBefore, TENSORTAP_MOMENT_AFTER, TENSORTAP_PHASE_LOAD, 0)) << "weights have no moment";
  EXPECT_FALSE(wanted(MomentChoice::kAfter, TENSORTAP_MOMENT_BEFORE, runs, 0));
  EXPECT_TRUE(wanted(MomentChoice::kAfter, TENSORTAP_MOMENT_AFTER, runs, 0));
  for (const MomentChoice both : {MomentChoice::kBoth, MomentChoice::kInBeforeOutAfter}) {
    EXPECT_TRUE(wanted(both, TENSORTAP_MOMENT_BEFORE, runs, 0));
    EXPECT_TRUE(wanted(both, TENSORTAP_MOMENT_AFTER, runs, 0));
  }
}

}  // namespace
}  // namespace tensortap
