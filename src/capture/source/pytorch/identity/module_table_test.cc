#include "source/pytorch/identity/module_table.h"

#include <gtest/gtest.h>

#include <thread>

#include "source/pytorch/identity/module_stack.h"

namespace tensortap::pytorch {
namespace {

TEST(ModuleTable, GivesAPathOneNumberForGood) {
  const int first = 0;
  const int second = 0;
  const ModuleId number = bind_module(&first, "Net.norm");
  EXPECT_NE(number, 0u);
  EXPECT_EQ(module_at(&first), number);
  unbind_module(&first);
  EXPECT_EQ(module_at(&first), 0u);
  EXPECT_EQ(module_path(number), "Net.norm");
  EXPECT_EQ(bind_module(&second, "Net.norm"), number);
  EXPECT_NE(bind_module(&first, "Net.other"), number);
}

TEST(ModuleTable, KnowsNoPathOfNumbersThatItNeverGave) {
  EXPECT_EQ(module_path(0), "");
  EXPECT_EQ(module_path(4000000000u), "");
}

TEST(ModuleTable, NamesParametersUntilTheyMove) {
  const int storage = 0;
  name_parameter(&storage, "blocks.0.weight");
  EXPECT_EQ(parameter_name(&storage), "blocks.0.weight");
  name_parameter(&storage, "blocks.1.weight");
  EXPECT_EQ(parameter_name(&storage), "blocks.1.weight");
  forget_parameter(&storage);
  EXPECT_EQ(parameter_name(&storage), "");
  name_parameter(nullptr, "meta");
  EXPECT_EQ(parameter_name(nullptr), "");
}

TEST(ModuleStack, ComesBackToTheDepthThatPushReturned) {
  EXPECT_EQ(current_module(), 0u);
  const uint32_t outside = push_module(11);
  const uint32_t inside = push_module(12);
  push_module(13);  // its pop never comes
  EXPECT_EQ(current_module(), 13u);
  pop_modules(inside);
  EXPECT_EQ(current_module(), 11u);
  pop_modules(outside);
  pop_modules(outside);
  EXPECT_EQ(current_module(), 0u);
}

TEST(ModuleStack, BelongsToItsThread) {
  push_module(5);
  ModuleId elsewhere = 1;
  std::thread([&] { elsewhere = current_module(); }).join();
  EXPECT_EQ(elsewhere, 0u);
  pop_modules(0);
}

TEST(ModuleStack, KeepsTheLastOneItHasRoomFor) {
  for (uint32_t i = 0; i < 100000; ++i) push_module(i + 1);
  EXPECT_EQ(current_module(), 256u);
  pop_modules(10);
  EXPECT_EQ(current_module(), 10u);
  pop_modules(0);
}

}  // namespace
}  // namespace tensortap::pytorch
