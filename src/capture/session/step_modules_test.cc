#include "session/step_modules.h"

#include <gtest/gtest.h>

namespace tensortap {
namespace {

TEST(StepModules, AreFoundByPathOrClass) {
  StepModules modules("^Engine[.]model$|Sampler", true);
  EXPECT_TRUE(modules.are_asked_for());
  EXPECT_TRUE(modules.is_one("Engine.model", "Llama"));
  EXPECT_TRUE(modules.is_one("Engine.sample", "TopKSampler"));
  EXPECT_FALSE(modules.is_one("Engine.model.norm", "Norm"));
  modules.called();
  EXPECT_EQ(modules.problem(), "");
}

TEST(StepModules, SayWhyThereWasNoStep) {
  StepModules none("Llama", true);
  EXPECT_EQ(none.problem(), "\"step_at\" \"Llama\" began no step: the program called no module");
  none.is_one("Net", "Net");
  none.is_one("Net.fc", "Linear");
  EXPECT_EQ(none.problem(),
            "\"step_at\" \"Llama\" began no step: no module has such a path or class. There are, among others, Net (Net), Net.fc (Linear)");
  StepModules inside("fc", true);
  inside.is_one("Net.fc", "Linear");
  EXPECT_NE(inside.problem().find("Net.fc (Linear) matched, but no call of it was seen"), std::string::npos);
  StepModules other("fc", false);
  EXPECT_FALSE(other.are_asked_for());
  EXPECT_NE(other.problem().find("this source reports no calls of modules"), std::string::npos);
}

TEST(StepModules, AreNoneWithoutAnExpression) {
  StepModules modules("", true);
  EXPECT_FALSE(modules.are_asked_for());
  EXPECT_FALSE(modules.is_one("Net", "Net"));
  EXPECT_EQ(modules.problem(), "");
}

}  // namespace
}  // namespace tensortap
