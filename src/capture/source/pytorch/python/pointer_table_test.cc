#include "source/pytorch/python/pointer_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <thread>
#include <vector>

namespace tensortap::pytorch {
namespace {

const void* at(uintptr_t address) { return reinterpret_cast<const void*>(address); }

TEST(PointerTable, HoldsWhatAMapHoldsThroughManyChanges) {
  PointerTable table{1u << 20};
  std::map<uintptr_t, uint32_t> expected;
  std::mt19937 random(7);
  for (int i = 0; i < 200000; ++i) {
    const uintptr_t address = 4096 + 16 * (random() % 3000);
    if (random() % 3 == 0) {
      table.erase(at(address));
      expected.erase(address);
    } else {
      const auto number = static_cast<uint32_t>(1 + random() % 1000);
      ASSERT_TRUE(table.set(at(address), number));
      expected[address] = number;
    }
  }
  EXPECT_EQ(table.size(), expected.size());
  for (uintptr_t address = 4096; address < 4096 + 16 * 3000; address += 16) {
    const auto known = expected.find(address);
    EXPECT_EQ(table.find(at(address)), known == expected.end() ? 0 : known->second);
  }
}

TEST(PointerTable, StaysSmallWhenAddressesComeAndGo) {
  PointerTable table{100};
  for (uintptr_t i = 1; i < 1000000; ++i) {
    ASSERT_TRUE(table.set(at(i * 16), 5));
    if (i > 50) table.erase(at((i - 50) * 16));
  }
  EXPECT_EQ(table.size(), 50u);
  EXPECT_EQ(table.find(at(999999 * 16)), 5u);
}

TEST(PointerTable, RefusesMoreThanItMayHold) {
  PointerTable table{3};
  for (uintptr_t i = 1; i <= 3; ++i) EXPECT_TRUE(table.set(at(i * 16), 1));
  EXPECT_FALSE(table.set(at(64), 1));
  table.erase(at(16));
  EXPECT_TRUE(table.set(at(64), 1));
  EXPECT_EQ(table.find(nullptr), 0u);
}

TEST(PointerTable, ReadersSeeLastingEntriesWhileOthersChange) {
  PointerTable table{1u << 20};
  for (uintptr_t i = 1; i <= 100; ++i) ASSERT_TRUE(table.set(at(i * 64), static_cast<uint32_t>(i)));
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 3; ++reader) {
    readers.emplace_back([&] {
      while (!stop) {
        for (uintptr_t i = 1; i <= 100; ++i) wrong += table.find(at(i * 64)) == i ? 0 : 1;
      }
    });
  }
  for (uintptr_t i = 0; i < 300000; ++i) {
    table.set(at(1000000 + (i % 5000) * 16), 9);
    table.erase(at(1000000 + ((i * 7) % 5000) * 16));
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tensortap::pytorch
