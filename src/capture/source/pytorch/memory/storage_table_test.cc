#include "source/pytorch/memory/storage_table.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace tensortap::pytorch {
namespace {

// Stands for libtorch's counts of weak references.
struct FakeStorages {
  std::mutex mutex;
  std::map<const void*, int> held;
  std::set<const void*> expired;
  int looks = 0;
};
FakeStorages& fakes() {
  static FakeStorages storages;
  return storages;
}
void hold(const void* storage) {
  const std::lock_guard lock(fakes().mutex);
  ++fakes().held[storage];
}
void drop(const void* storage) {
  const std::lock_guard lock(fakes().mutex);
  if (--fakes().held[storage] == 0) fakes().held.erase(storage);
}
int is_expired(const void* storage) {
  const std::lock_guard lock(fakes().mutex);
  ++fakes().looks;
  return fakes().expired.contains(storage) ? 1 : 0;
}

class Storages : public testing::Test {
 protected:
  Storages() {
    fakes().held.clear();
    fakes().expired.clear();
    adapter_.hold_storage = hold;
    adapter_.drop_storage = drop;
    adapter_.storage_expired = is_expired;
  }
  static tensortap_torch_tensor in(const void* storage) {
    tensortap_torch_tensor tensor{};
    tensor.storage = storage;
    return tensor;
  }
  static const void* at(uintptr_t number) { return reinterpret_cast<const void*>(number * 96); }

  tensortap_torch_adapter adapter_{};
  MetStorages met_;
};

TEST_F(Storages, GivesEachBlockANumberOfItsOwnAndKeepsIt) {
  StorageTable table(adapter_);
  const StorageContent first = table.look(in(at(1)), met_);
  const StorageContent second = table.look(in(at(2)), met_);
  EXPECT_NE(first.storage, 0U);
  EXPECT_NE(first.storage, second.storage);
  EXPECT_EQ(table.look(in(at(1)), met_).storage, first.storage);
  EXPECT_EQ(table.look(in(at(1)), met_).version, first.version);
  EXPECT_EQ(table.look(in(nullptr), met_).storage, 0U);
}

TEST_F(Storages, AWriteIsAnotherContentOfTheSameBlock) {
  StorageTable table(adapter_);
  const StorageContent before = table.look(in(at(1)), met_);
  const StorageContent after = table.wrote(in(at(1)), met_);
  EXPECT_EQ(after.storage, before.storage);
  EXPECT_NE(after.version, before.version);
  EXPECT_EQ(table.look(in(at(1)), met_).version, after.version);
}

TEST_F(Storages, WhatTheProgramFilledIsWrittenWhateverItsBytesAre) {
  StorageTable table(adapter_);
  const StorageContent empty = table.allocated(in(at(1)), met_);
  EXPECT_TRUE(empty.unwritten);
  EXPECT_TRUE(table.look(in(at(1)), met_).unwritten) << "the same bytes as before";
  table.filled(in(at(1)), met_);
  const StorageContent filled = table.look(in(at(1)), met_);
  EXPECT_FALSE(filled.unwritten);
  EXPECT_NE(filled.version, empty.version);
  table.filled(in(at(1)), met_);
  EXPECT_EQ(table.look(in(at(1)), met_).version, filled.version);
}

TEST_F(Storages, KnowsTheStepOfTheLastWrite) {
  StorageTable table(adapter_);
  met_.now = {3, false};
  EXPECT_EQ(table.written_at(in(at(1))).step, -1) << "not met yet";
  static_cast<void>(table.look(in(at(1)), met_));
  EXPECT_EQ(table.written_at(in(at(1))).step, -1) << "who made it is not known";
  static_cast<void>(table.made(in(at(2)), met_));
  EXPECT_EQ(table.written_at(in(at(2))).step, 3);
  met_.now = {4, true};
  static_cast<void>(table.made(in(at(2)), met_));
  EXPECT_EQ(table.written_at(in(at(2))).step, 3) << "a view of it";
  static_cast<void>(table.wrote(in(at(2)), met_));
  EXPECT_EQ(table.written_at(in(at(2))).step, 4);
  EXPECT_TRUE(table.written_at(in(at(2))).by_optimizer);
}

TEST_F(Storages, AnExpiredBlockIsDroppedAndItsAddressIsAnotherBlockThen) {
  StorageTable table(adapter_);
  const uint64_t old = table.look(in(at(1)), met_).storage;
  fakes().expired.insert(at(1));
  for (uintptr_t i = 2; i < 5000; ++i) static_cast<void>(table.look(in(at(i)), met_));
  EXPECT_FALSE(fakes().held.contains(at(1)));
  fakes().expired.clear();
  EXPECT_NE(table.look(in(at(1)), met_).storage, old);
}

TEST_F(Storages, ManyShortLivesLeaveNothingBehind) {
  StorageTable table(adapter_);
  for (uintptr_t i = 1; i < 200000; ++i) {
    static_cast<void>(table.look(in(at(i)), met_));
    fakes().expired.insert(at(i));
  }
  EXPECT_LT(table.size(), 5000U);
  EXPECT_EQ(table.size(), fakes().held.size());
}

TEST_F(Storages, KeepsEveryBlockThatLives) {
  StorageTable table(adapter_);
  std::map<uintptr_t, uint64_t> numbers;
  for (uintptr_t i = 1; i < 20000; ++i) {
    numbers[i] = table.look(in(at(i)), met_).storage;
    if (i % 3 != 0) fakes().expired.insert(at(i));
  }
  for (uintptr_t i = 3; i < 20000; i += 3) ASSERT_EQ(table.look(in(at(i)), met_).storage, numbers[i]) << i;
}

TEST_F(Storages, WhatExpiredIsLetGoBeforeTheNextOperator) {
  StorageTable table(adapter_);
  for (uintptr_t i = 1; i <= 100; ++i) static_cast<void>(table.look(in(at(i)), met_));
  for (uintptr_t i = 1; i <= 90; ++i) fakes().expired.insert(at(i));
  table.let_go(met_);
  EXPECT_EQ(table.size(), 10U);
  EXPECT_EQ(fakes().held.size(), 10U);
}

TEST_F(Storages, WhatLivesOnForSomeOperatorsIsLetGoSoonAfter) {
  StorageTable table(adapter_);
  uintptr_t made = 0;
  for (int op = 0; op < 1000; ++op) {
    table.let_go(met_);
    static_cast<void>(table.look(in(at(++made)), met_));
    if (made > 20) fakes().expired.insert(at(made - 20));
    ASSERT_LT(table.size(), 100U) << op;
  }
}

TEST_F(Storages, WhatLivesLongIsFollowedForGood) {
  StorageTable table(adapter_);
  static_cast<void>(table.look(in(at(1)), met_));
  for (int op = 0; op < 5000; ++op) table.let_go(met_);
  EXPECT_EQ(table.size(), 1U);
  fakes().expired.insert(at(1));
  for (int op = 0; op < 600; ++op) table.let_go(met_);
  EXPECT_EQ(table.size(), 0U);
}

TEST_F(Storages, WhatIsMetAgainIsFollowedAsIfItWereNew) {
  StorageTable table(adapter_);
  static_cast<void>(table.look(in(at(1)), met_));
  for (int op = 0; op < 5000; ++op) table.let_go(met_);
  static_cast<void>(table.look(in(at(1)), met_));
  fakes().expired.insert(at(1));
  table.let_go(met_);
  EXPECT_EQ(table.size(), 0U);
}

// A parameter is met in every step and never expires.
TEST_F(Storages, WhatComesBackStepByStepIsLookedAtRarely) {
  constexpr int kOperators = 200;  // of a step
  StorageTable table(adapter_);
  for (int step = 0; step < 12; ++step) {
    if (step == 4) fakes().looks = 0;
    for (int op = 0; op < kOperators; ++op) {
      table.let_go(met_);
      if (op == 0) static_cast<void>(table.look(in(at(1)), met_));
    }
  }
  EXPECT_GT(fakes().looks, 0);
  EXPECT_LE(fakes().looks, 3 * 8) << "as if it were new, it would be looked at 8 times in each of 8 steps";
  fakes().expired.insert(at(1));
  for (int op = 0; op < 2 * kOperators; ++op) table.let_go(met_);
  EXPECT_EQ(table.size(), 0U);
}

TEST_F(Storages, EverythingThatExpiredCanBeLetGoAtOnce) {
  StorageTable table(adapter_);
  for (uintptr_t i = 1; i <= 5000; ++i) static_cast<void>(table.look(in(at(i)), met_));
  for (uintptr_t i = 1; i <= 5000; ++i) {
    if (i % 10 != 0) fakes().expired.insert(at(i));
  }
  table.let_go_of_all();
  EXPECT_EQ(table.size(), 500U);
  EXPECT_EQ(fakes().held.size(), 500U);
}

TEST_F(Storages, LetsAllGoAtTheEnd) {
  {
    StorageTable table(adapter_);
    for (uintptr_t i = 1; i < 100; ++i) static_cast<void>(table.look(in(at(i)), met_));
    EXPECT_EQ(fakes().held.size(), 99U);
  }
  EXPECT_TRUE(fakes().held.empty());
}

TEST_F(Storages, MemoryIsUnwrittenUntilSomebodyFillsIt) {
  StorageTable table(adapter_);
  std::array<char, 256> memory{};
  tensortap_torch_tensor tensor = in(at(1));
  tensor.storage_data = memory.data();
  tensor.storage_bytes = memory.size();
  EXPECT_TRUE(table.allocated(tensor, met_).unwritten);
  EXPECT_TRUE(table.look(tensor, met_).unwritten);
  memory.back() = 1;  // not by an operator
  EXPECT_FALSE(table.look(tensor, met_).unwritten);
}

TEST_F(Storages, AWrittenBlockDoesNotBecomeUnwrittenAgain) {
  StorageTable table(adapter_);
  EXPECT_TRUE(table.allocated(in(at(1)), met_).unwritten);
  EXPECT_FALSE(table.wrote(in(at(1)), met_).unwritten);
  EXPECT_FALSE(table.allocated(in(at(1)), met_).unwritten) << "resize_ keeps the contents";
}

TEST_F(Storages, AfterATimeUnseenEveryContentIsAnother) {
  StorageTable table(adapter_);
  const StorageContent before = table.look(in(at(1)), met_);
  table.lose_sight();
  EXPECT_EQ(table.look(in(at(1)), met_).storage, before.storage);
  EXPECT_NE(table.look(in(at(1)), met_).version, before.version);
}

TEST_F(Storages, ThreadsMayShareIt) {
  StorageTable table(adapter_);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&table] {
      MetStorages met;
      for (uintptr_t i = 1; i < 3000; ++i) {
        table.let_go(met);
        static_cast<void>(table.wrote(in(at(i % 500 + 1)), met));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(table.size(), 500U);
}

TEST_F(Storages, NeverReadsTheMemoryOfADevice) {
  StorageTable table(adapter_);
  tensortap_torch_tensor tensor = in(at(1));
  tensor.kind = TENSORTAP_TORCH_DEVICE;
  tensor.storage_data = at(7);  // of which a read would fault
  tensor.storage_bytes = 4096;
  EXPECT_TRUE(table.allocated(tensor, met_).unwritten);
  EXPECT_TRUE(table.look(tensor, met_).unwritten);
  table.filled(tensor, met_);
  EXPECT_FALSE(table.look(tensor, met_).unwritten);
}

TEST_F(Storages, KnowsWhatACopyMayStillFill) {
  StorageTable table(adapter_);
  EXPECT_FALSE(table.has_unfilled());
  table.left_unfilled(in(at(1)), met_);
  EXPECT_TRUE(table.has_unfilled());
  EXPECT_TRUE(table.look(in(at(1)), met_).unfilled);
  EXPECT_FALSE(table.look(in(at(2)), met_).unfilled);
  table.used_on_host(in(at(1)), met_);
  EXPECT_FALSE(table.look(in(at(1)), met_).unfilled);
  table.left_unfilled(in(at(1)), met_);
  EXPECT_FALSE(table.wrote(in(at(1)), met_).unfilled);
}

}  // namespace
}  // namespace tensortap::pytorch
