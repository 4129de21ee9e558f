#include "source/pytorch/identity/step_counter.h"

#include <gtest/gtest.h>

#include <vector>

#include "fake_capture.h"

namespace tensortap::pytorch {
namespace {

class Steps : public testing::Test {
 protected:
  Steps()
      : counter_(
            reinterpret_cast<tensortap_session*>(&told_), [](void* seen, bool) { ++*static_cast<int*>(seen); }, &notices_) {
    counter_.begin();
  }
  void train(const char* name, const void* optimizer = nullptr) {
    counter_.root_module_begins(kModel);
    counter_.backward_ran();
    counter_.optimizer_ends(name, optimizer);
  }

  static constexpr ModuleId kModel = 1;
  static constexpr ModuleId kLoss = 2;
  static constexpr RootCall kNoTensors{.holds_tensors = false};

  fake_capture::Session told_;
  int notices_ = 0;
  StepCounter counter_;
};

TEST_F(Steps, OfATrainingAreThoseOfItsOptimizer) {
  for (int i = 0; i < 3; ++i) train("Adam");
  EXPECT_EQ(counter_.current(), 2);
  EXPECT_EQ(told_.begun, (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(told_.ended, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(notices_, 3);
}

TEST_F(Steps, GoOnUntilSomethingOfTheNextOneRuns) {
  train("Adam");
  EXPECT_TRUE(counter_.lingers());
  EXPECT_EQ(counter_.current(), 0);
  counter_.move_on();
  EXPECT_FALSE(counter_.lingers());
  counter_.move_on();
  EXPECT_EQ(counter_.current(), 1);
  train("Adam");
  counter_.end();
  EXPECT_EQ(told_.begun, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(told_.ended, (std::vector<int64_t>{0, 1})) << "as many as the program made";
}

TEST_F(Steps, OfSeveralOptimizersTheFirstCounts) {
  for (int i = 0; i < 3; ++i) {
    train("generator");
    train("discriminator");
  }
  EXPECT_EQ(counter_.current(), 3) << "the last discriminator's";
}

TEST_F(Steps, OfOptimizersOfOneKindTheFirstCounts) {
  const int generator = 0;
  const int discriminator = 0;
  for (int i = 0; i < 3; ++i) {
    train("Adam", &generator);
    train("Adam", &discriminator);
  }
  EXPECT_EQ(counter_.current(), 3);
}

TEST_F(Steps, OfTheNextTrainingAreThoseOfItsOptimizer) {
  const int optimizers[3] = {};
  for (const int& one : optimizers) {
    counter_.optimizer_made(&one);
    for (int i = 0; i < 4; ++i) train("SGD", &one);
  }
  counter_.move_on();
  EXPECT_EQ(counter_.current(), 12) << "also while the earlier ones are kept";
}

TEST_F(Steps, OfTheNextTrainingAreThoseOfTheFirstOfItsOptimizers) {
  for (int fold = 0; fold < 2; ++fold) {
    const int generator = 0;
    const int discriminator = 0;
    counter_.optimizer_made(&generator);
    counter_.optimizer_made(&discriminator);
    for (int i = 0; i < 3; ++i) {
      train("Adam", &generator);
      train("Adam", &discriminator);
    }
    counter_.optimizer_gone(&generator);
    counter_.optimizer_gone(&discriminator);
  }
  EXPECT_EQ(counter_.current(), 6);
}

TEST_F(Steps, AreTakenOverFromAnOptimizerThatIsGoneOrDoneWith) {
  const int warm_up = 0;
  const int main = 0;
  counter_.optimizer_made(&warm_up);
  counter_.optimizer_made(&main);
  train("SGD", &warm_up);
  for (int i = 0; i < 40; ++i) train("Adam", &main);
  counter_.move_on();
  EXPECT_EQ(counter_.current(), 9) << "after 32 in a row it is clear that the first one steps no more";
  counter_.optimizer_gone(&main);
  train("SGD", &warm_up);
  train("SGD", &warm_up);
  counter_.move_on();
  EXPECT_EQ(counter_.current(), 11);
}

TEST_F(Steps, AnOptimizerThatStepsMoreOftenDoesNotTakeOver) {
  const int generator = 0;
  const int critic = 0;
  for (int i = 0; i < 4; ++i) {
    train("Adam", &generator);
    for (int n = 0; n < 5; ++n) train("Adam", &critic);
  }
  EXPECT_EQ(counter_.current(), 4);
}

TEST_F(Steps, BeforeTheFirstOneOfAnOptimizerAreNone) {
  counter_.optimizer_made(nullptr);
  for (int i = 0; i < 3; ++i) counter_.root_module_begins(kModel);
  EXPECT_EQ(counter_.current(), 0);
  train("Adam");
  counter_.move_on();
  EXPECT_EQ(counter_.current(), 1);
}

TEST_F(Steps, OfInferenceAreCallsOfTheModel) {
  for (int i = 0; i < 3; ++i) counter_.root_module_begins(kModel);
  EXPECT_EQ(counter_.current(), 2) << "the third call is step 2";
}

TEST_F(Steps, WithoutAnOptimizerBeginWithTheModelThatRanAlready) {
  for (int i = 0; i < 3; ++i) {
    counter_.root_module_begins(kModel);
    counter_.root_module_begins(kLoss);
    counter_.backward_ran();
  }
  EXPECT_EQ(counter_.current(), 2) << "the loss is of the model's step";
  for (int token = 0; token < 4; ++token) counter_.root_module_begins(kLoss);
  EXPECT_EQ(counter_.current(), 6) << "three more calls in a row are three steps more";
}

TEST_F(Steps, HoldTheSamplerBehindTheirModelHoweverOftenAWarmUpCallsIt) {
  counter_.root_module_begins(kModel);
  for (int i = 0; i < 3; ++i) counter_.root_module_begins(kLoss, kNoTensors);
  EXPECT_EQ(counter_.current(), 0);
  for (int i = 1; i < 4; ++i) {
    counter_.root_module_begins(kModel);
    EXPECT_EQ(counter_.current(), i);
    counter_.root_module_begins(kLoss, kNoTensors);
    EXPECT_EQ(counter_.current(), i);
  }
}

TEST_F(Steps, BeginWithWhatPreparesTheModelsInput) {
  constexpr ModuleId kPrepare = kLoss;
  for (int i = 0; i < 3; ++i) {
    counter_.root_module_begins(kPrepare, kNoTensors);
    EXPECT_EQ(counter_.current(), i);
    counter_.root_module_begins(kModel);
    EXPECT_EQ(counter_.current(), i);
  }
}

TEST_F(Steps, GradientsMayBeSummedOverSeveralCalls) {
  counter_.optimizer_may_come();
  for (int i = 0; i < 4; ++i) {
    counter_.root_module_begins(kModel);
    counter_.backward_ran();
  }
  counter_.optimizer_ends("SGD", nullptr);
  counter_.move_on();
  EXPECT_EQ(counter_.current(), 1);
}

TEST_F(Steps, EvaluationBetweenTrainingStepsIsNoStep) {
  train("Adam");
  for (int i = 0; i < 5; ++i) counter_.root_module_begins(kModel);
  train("Adam");
  counter_.move_on();
  EXPECT_EQ(counter_.current(), 2);
}

TEST_F(Steps, ArePassedOverWhileTheCapturePauses) {
  train("Adam");
  counter_.pause(true);
  counter_.pause(true);
  for (int i = 0; i < 3; ++i) train("Adam");
  counter_.pause(false);
  train("Adam");
  counter_.move_on();
  EXPECT_EQ(counter_.current(), 5);
  EXPECT_EQ(told_.begun, (std::vector<int64_t>{0, 1, 4, 5}));
  EXPECT_EQ(told_.ended, (std::vector<int64_t>{0, 1, 4}));
}

TEST_F(Steps, AreTheProgramsOnceItSaysSo) {
  counter_.program_steps();
  train("Adam");
  counter_.root_module_begins(kModel);
  counter_.root_module_begins(kModel);
  EXPECT_EQ(counter_.current(), 1);
  counter_.program_steps();
  EXPECT_EQ(counter_.current(), 2);
}

TEST_F(Steps, HaveThePhaseOfTheirModel) {
  EXPECT_EQ(counter_.model_phase(), 0U);
  counter_.root_module_begins(kModel, {.model_phase = TENSORTAP_MODEL_PHASE_PREFILL});
  counter_.root_module_begins(kLoss, kNoTensors);
  EXPECT_EQ(counter_.model_phase(), 1U) << "a sampler says nothing";
  counter_.root_module_begins(kModel, {.model_phase = TENSORTAP_MODEL_PHASE_DECODE});
  EXPECT_EQ(counter_.current(), 1);
  EXPECT_EQ(counter_.model_phase(), 2U);
  counter_.root_module_begins(kModel, {.model_phase = kPhaseStays});
  EXPECT_EQ(counter_.current(), 2);
  EXPECT_EQ(counter_.model_phase(), 2U) << "a model that guesses tokens, in the engine's round";
  counter_.root_module_begins(kModel);
  EXPECT_EQ(counter_.model_phase(), 0U) << "nothing is known of this call";
}

TEST_F(Steps, OfATrainingHaveNoPhaseUntilTheirModelRuns) {
  counter_.root_module_begins(kModel, {.model_phase = TENSORTAP_MODEL_PHASE_TRAIN});
  counter_.optimizer_ends("Adam", nullptr);
  EXPECT_EQ(counter_.model_phase(), 3U) << "the step goes on";
  counter_.move_on();
  EXPECT_EQ(counter_.model_phase(), 0U);
}

TEST_F(Steps, ThatAPreparationBeginsHaveNoPhaseUntilTheirModelRuns) {
  counter_.root_module_begins(kLoss, kNoTensors);
  counter_.root_module_begins(kModel, {.model_phase = TENSORTAP_MODEL_PHASE_DECODE});
  counter_.root_module_begins(kLoss, kNoTensors);
  EXPECT_EQ(counter_.current(), 1);
  EXPECT_EQ(counter_.model_phase(), 0U);
}

TEST(ChosenModules, AloneBeginSteps) {
  fake_capture::Session told;
  StepCounter counter(
      reinterpret_cast<tensortap_session*>(&told), [](void*, bool) {}, nullptr, StepsBy::kModules);
  counter.begin();
  for (int i = 0; i < 3; ++i) {
    counter.root_module_begins(1);
    counter.chosen_module_begins();
    counter.root_module_begins(1);
    counter.optimizer_made(nullptr);
    counter.optimizer_ends("Adam", nullptr);
    counter.program_steps();
  }
  EXPECT_EQ(counter.current(), 2) << "operators before the first call belong to its step";
  counter.root_module_begins(1, {.model_phase = TENSORTAP_MODEL_PHASE_DECODE});
  counter.chosen_module_begins();
  EXPECT_EQ(counter.current(), 3);
  EXPECT_EQ(counter.model_phase(), 2U) << "that of the call around it";
}

class Rounds : public testing::Test {
 protected:
  Rounds()
      : counter_(
            reinterpret_cast<tensortap_session*>(&told_), [](void* seen, bool looks) { static_cast<Looks*>(seen)->push_back(looks); },
            &looks_, StepsBy::kRounds) {
    counter_.begin();
  }
  using Looks = std::vector<bool>;

  fake_capture::Session told_;
  Looks looks_;
  StepCounter counter_;
};

TEST_F(Rounds, AreCountedForEachModelInEachPhase) {
  constexpr uint32_t kModel = 4;
  counter_.round_begins(kModel, TENSORTAP_MODEL_PHASE_PREFILL);
  for (int token = 0; token < 3; ++token) counter_.round_begins(kModel, TENSORTAP_MODEL_PHASE_DECODE);
  counter_.round_begins(kModel, TENSORTAP_MODEL_PHASE_PREFILL);
  counter_.round_begins(kModel + 1, TENSORTAP_MODEL_PHASE_PREFILL);
  counter_.end();
  EXPECT_EQ(told_.begun, (std::vector<int64_t>{0, 0, 0, 1, 2, 1, 0}));
  EXPECT_EQ(told_.begun_runs, (std::vector<uint64_t>{0, 1, 2, 2, 2, 1, 1}));
  EXPECT_EQ(told_.ended, told_.begun) << "each is ended as it began";
  EXPECT_EQ(told_.ended_runs, told_.begun_runs);
  EXPECT_EQ(counter_.round().number, 6);
  EXPECT_EQ(counter_.model_phase(), 1U);
}

TEST_F(Rounds, NothingElseBeginsAStep) {
  counter_.root_module_begins(1);
  counter_.root_module_begins(1);
  counter_.chosen_module_begins();
  counter_.program_steps();
  counter_.optimizer_ends("Adam", nullptr);
  EXPECT_EQ(told_.begun, std::vector<int64_t>{0});
  EXPECT_FALSE(counter_.lingers());
}

TEST_F(Rounds, TheFirstOfEachPhaseIsLookedAtEvenWhenNothingOfItIsWanted) {
  told_.unwanted_steps = {0, 1};
  for (int round = 0; round < 3; ++round) counter_.round_begins(1, TENSORTAP_MODEL_PHASE_DECODE);
  EXPECT_EQ(looks_, (Looks{true, true, false, true})) << "the begin, round 0, 1 and 2";
}

}  // namespace
}  // namespace tensortap::pytorch
