// Plans that are replaced while steps run: each step is captured wholly under one plan.

#include "session/plan_change.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <thread>

#include "base/text.h"
#include "session/capture_session.h"
#include "session/fake_layout.h"

namespace tensortap {
namespace {

constexpr OpId kBits = 12;  // ops that encode the number of the plan, in binary; one more is in every plan

// The ops recorded by step, as the number of the plan that asks for them.
struct Recorded {
  std::mutex mutex;
  std::map<int64_t, uint64_t> plans;
  std::map<int64_t, int> events_of_last;  // of the op in every plan
};
Recorded* recorded = nullptr;

class PlanWriter : public FakeLayout {
 public:
  Status add_record(RecordRow& row, const TensorView* /*data*/, const ExponentHistogram* /*histogram*/) override {
    const std::lock_guard lock(recorded->mutex);
    if (row.op < kBits) {
      recorded->plans[row.step] |= uint64_t{1} << row.op;
    } else {
      recorded->plans[row.step] |= 0;
      ++recorded->events_of_last[row.step];
    }
    return {};
  }
};

Result<std::unique_ptr<LayoutWriter>> create_plan_writer(const DumpInfo& /*info*/, const CaptureSpec& /*spec*/) {
  return std::unique_ptr<LayoutWriter>(new PlanWriter());
}

class PlanChange : public testing::Test {
 protected:
  PlanChange() {
    recorded = &recorded_;
    std::string pattern = (std::filesystem::temp_directory_path() / "tensortap-plans-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    layout_.name = "plans";
    layout_.create = create_plan_writer;
    layout_.takes_plan_changes = true;
    SessionOptions options;
    options.spec = plan(0);
    options.layout = &layout_;
    session_ = *CaptureSession::open(std::move(options));
    for (OpId op = 0; op <= kBits; ++op) {
      OpInfo info;
      info.name = concat("op", op, "_");
      info.type = "T";
      session_->register_op(info);
    }
  }
  ~PlanChange() override {
    EXPECT_TRUE(session_->close().ok());
    std::filesystem::remove_all(folder_);
  }

  // Asks for the ops that are the number's bits, and the last one.
  [[nodiscard]] CaptureSpec plan(uint64_t number) const {
    CaptureSpec spec = FakeParts::spec();
    spec.payload = Payload::kStatistics;
    spec.out = folder_ + "/dump";
    for (OpId op = 0; op <= kBits; ++op) {
      if (op < kBits && (number >> op & 1U) == 0) continue;
      spec.include.push_back({});
      spec.include.back().text = concat("op", op, "_");
    }
    return spec;
  }
  Status replace(uint64_t number) { return session_->replace_plan(plan(number), {{}}); }
  void run_op(OpId op, int64_t step, uint64_t run) {
    FakeEvent event(op, {1});
    event.event.step = step;
    event.event.run = run;
    event.event.call = 0;
    session_->on_op(event.event);
  }

  Recorded recorded_;
  Layout layout_{};
  std::string folder_;
  std::unique_ptr<CaptureSession> session_;
};

// A step takes the plan that the rules give it, whatever the order in which steps begin and end and plans come.
TEST_F(PlanChange, RandomOrdersFollowTheRules) {
  struct Model {
    uint64_t now = 0;                 // the plan under which steps begin
    std::optional<uint64_t> next;     // replaces it with the next step
    std::optional<uint64_t> waiting;  // as soon as no step of the plan before `now` runs
    uint64_t generation = 0;
    std::map<int64_t, std::pair<uint64_t, uint64_t>> running;  // plan and generation of the steps that run
    [[nodiscard]] bool older_runs() const {
      return std::ranges::any_of(running, [this](const auto& step) { return step.second.second + 1 == generation; });
    }
    void settle() {
      if (waiting.has_value() && !older_runs()) next = std::exchange(waiting, std::nullopt);
    }
    void replace(uint64_t plan) {
      waiting = plan;
      settle();
    }
    void begin(int64_t step) {
      settle();
      if (next.has_value()) {
        now = *std::exchange(next, std::nullopt);
        ++generation;
      }
      running[step] = {now, generation};
    }
  };
  const auto end = [this](int64_t step) {
    for (OpId op = 0; op <= kBits; ++op) run_op(op, step, static_cast<uint64_t>(step));
    session_->step_end(step, static_cast<uint64_t>(step));
  };
  Model model;
  std::mt19937 random(7);
  std::map<int64_t, uint64_t> expected;
  uint64_t plans = 0;
  int64_t steps = 0;
  for (int i = 0; i < 4000; ++i) {
    const unsigned choice = random() % 8;
    if (choice == 0) {
      ++plans;
      ASSERT_TRUE(replace(plans).ok());
      model.replace(plans);
    } else if (choice <= 2 && model.running.size() < 5) {
      session_->step_begin(steps, static_cast<uint64_t>(steps));
      model.begin(steps);
      expected[steps] = model.running[steps].first;
      ++steps;
    } else if (choice == 3 && !model.running.empty()) {
      const auto step = std::next(model.running.begin(), random() % model.running.size());
      end(step->first);
      model.running.erase(step);
    }
    // Something of every step that runs: never of two plans.
    for (const auto& [step, of] : model.running) run_op(static_cast<OpId>(random() % kBits), step, static_cast<uint64_t>(step));
  }
  for (const auto& [step, of] : model.running) end(step);
  ASSERT_TRUE(session_->flush().ok());
  ASSERT_GT(plans, 300U);
  EXPECT_EQ(recorded_.plans, expected);
}

TEST_F(PlanChange, EachStepOfSeveralThreadsIsCapturedUnderOnePlan) {
  constexpr int kThreads = 4;
  constexpr int64_t kSteps = 150;
  std::atomic<uint64_t> asked{0};  // plans whose replacement has begun
  std::atomic<int> busy{kThreads};
  std::mutex mutex;
  std::map<int64_t, uint64_t> most;  // by step: plans that had been asked for when it had begun
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int64_t i = 0; i < kSteps; ++i) {
        const int64_t step = i * kThreads + thread;
        session_->step_begin(step, static_cast<uint64_t>(thread));
        const uint64_t by_then = asked.load();
        for (OpId op = 0; op <= kBits; ++op) {
          run_op(op, step, static_cast<uint64_t>(thread));
          if (op % 4 == 0) std::this_thread::yield();
        }
        session_->step_end(step, static_cast<uint64_t>(thread));
        const std::lock_guard lock(mutex);
        most[step] = by_then;
      }
      --busy;
    });
  }
  while (busy.load() > 0 && asked.load() + 1 < uint64_t{1} << kBits) {
    EXPECT_TRUE(replace(++asked).ok());
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  session_->step_begin(kThreads * kSteps, 0);
  for (OpId op = 0; op <= kBits; ++op) run_op(op, kThreads * kSteps, 0);
  session_->step_end(kThreads * kSteps, 0);
  ASSERT_TRUE(session_->flush().ok());
  ASSERT_EQ(recorded_.plans.size(), static_cast<size_t>(kThreads * kSteps + 1));
  std::map<int, uint64_t> latest;  // by thread: plans come in their order
  for (const auto& [step, plan] : recorded_.plans) {
    EXPECT_EQ(recorded_.events_of_last[step], 1);
    if (step == kThreads * kSteps) continue;
    EXPECT_LE(plan, most[step]) << "step " << step << " has bits of several plans, or of one to come";
    uint64_t& before = latest[static_cast<int>(step % kThreads)];
    EXPECT_GE(plan, before) << "step " << step;
    before = plan;
  }
  EXPECT_EQ(recorded_.plans[kThreads * kSteps], asked.load()) << "the latest, once nothing older runs";
}

TEST_F(PlanChange, AnOpThatIsNewIsDecidedUnderThePlanOfItsStep) {
  session_->step_begin(0, 0);
  ASSERT_TRUE(replace(1).ok());
  OpInfo info;
  info.name = "new";
  info.type = "T";
  const OpId op = session_->register_op(info);
  EXPECT_FALSE(session_->wants(op, 0));
  CaptureSpec all = plan(0);
  all.include.clear();
  session_->step_end(0, 0);
  ASSERT_TRUE(session_->replace_plan(all, {{}}).ok());
  session_->step_begin(1, 0);
  EXPECT_TRUE(session_->wants(op, 1));
  EXPECT_TRUE(session_->wants_op(op));
  session_->step_end(1, 0);
}

TEST_F(PlanChange, RefusesWhatBelongsToTheSessionAsAWhole) {
  const auto code = [&](auto&& change) {
    CaptureSpec spec = plan(1);
    change(spec);
    return session_->replace_plan(spec, {{}}).code();
  };
  EXPECT_EQ(code([](CaptureSpec& spec) { spec.layout = "mindspore"; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](CaptureSpec& spec) { spec.out = "/elsewhere"; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](CaptureSpec& spec) { spec.dialect = "acl"; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](CaptureSpec& spec) { spec.levels = {"kernel"}; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](CaptureSpec& spec) { spec.trigger = Trigger::kOnRequest; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](CaptureSpec& spec) { spec.limits.max_records = 1; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](CaptureSpec& spec) { spec.where = "nan >"; }), StatusCode::kInvalidArgument) << "a wrong one";
  EXPECT_EQ(code([](CaptureSpec& spec) { spec.payload = Payload::kTensor; }), StatusCode::kOk);
  session_->step_begin(0, 0);
  run_op(kBits, 0, 0);
  session_->step_end(0, 0);
  ASSERT_TRUE(session_->flush().ok());
  EXPECT_EQ(recorded_.events_of_last[0], 1);
}

TEST(CheckPlanChange, NeedsATriggerAndALayoutThatTakeChanges) {
  Layout layout{};
  layout.name = "fixed";
  CaptureSpec spec;
  EXPECT_EQ(check_plan_change(spec, spec, layout).code(), StatusCode::kUnsupported);
  layout.takes_plan_changes = true;
  EXPECT_TRUE(check_plan_change(spec, spec, layout).ok());
  for (const Trigger trigger : {Trigger::kOverflow, Trigger::kWatch}) {
    spec.trigger = trigger;
    EXPECT_EQ(check_plan_change(spec, spec, layout).code(), StatusCode::kUnsupported);
  }
}

}  // namespace
}  // namespace tensortap
