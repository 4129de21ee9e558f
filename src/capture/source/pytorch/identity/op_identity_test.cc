#include "source/pytorch/identity/op_identity.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace tensortap::pytorch {
namespace {

TEST(RecentNames, AgreesWithTheTableHoweverManyNamesThereAre) {
  NameTable table;
  RecentNames recent;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 500; ++i) {
      const std::string name = "AddmmBackward" + std::to_string(i);
      const uint32_t number = recent.number_of(name, table);
      ASSERT_EQ(number, static_cast<uint32_t>(i + 1));
      ASSERT_EQ(table.name_of(number), name);
    }
  }
  EXPECT_EQ(recent.number_of("", table), 501U);
  EXPECT_EQ(recent.number_of("", table), 501U);
}

TEST(RecentNames, ThreadsGetTheSameNumbers) {
  NameTable table;
  std::vector<std::vector<uint32_t>> numbers(4);
  std::vector<std::thread> threads;
  for (std::vector<uint32_t>& own : numbers) {
    threads.emplace_back([&table, &own] {
      RecentNames recent;
      for (int i = 0; i < 2000; ++i) own.push_back(recent.number_of("MulBackward" + std::to_string(i % 100), table));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<uint32_t>& own : numbers) EXPECT_EQ(own, numbers[0]);
}

}  // namespace
}  // namespace tensortap::pytorch
