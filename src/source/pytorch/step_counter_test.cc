#include "source/pytorch/step_counter.h"

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
    counter_.root_module_begins();
    counter_.backward_ran();
    counter_.optimizer_ends(name, optimizer);
  }

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

TEST_F(Steps, BeforeTheFirstOneOfAnOptimizerAreNone) {
  counter_.optimizer_made();
  for (int i = 0; i < 3; ++i) counter_.root_module_begins();
  EXPECT_EQ(counter_.current(), 0);
  train("Adam");
  counter_.move_on();
  EXPECT_EQ(counter_.current(), 1);
}

TEST_F(Steps, OfInferenceAreCallsOfTheModel) {
  for (int i = 0; i < 3; ++i) counter_.root_module_begins();
  EXPECT_EQ(counter_.current(), 2) << "the third call is step 2";
}

TEST_F(Steps, GradientsMayBeSummedOverSeveralCalls) {
  for (int i = 0; i < 4; ++i) {
    counter_.root_module_begins();
    counter_.backward_ran();
  }
  counter_.optimizer_ends("SGD", nullptr);
  counter_.move_on();
  EXPECT_EQ(counter_.current(), 1);
}

TEST_F(Steps, EvaluationBetweenTrainingStepsIsNoStep) {
  train("Adam");
  for (int i = 0; i < 5; ++i) counter_.root_module_begins();
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
  counter_.root_module_begins();
  counter_.root_module_begins();
  EXPECT_EQ(counter_.current(), 1);
  counter_.program_steps();
  EXPECT_EQ(counter_.current(), 2);
}

}  // namespace
}  // namespace tensortap::pytorch
