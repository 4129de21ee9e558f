#include "session/buffer_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

namespace tensortap {
namespace {

TEST(PoolAccount, NeverHandsOutMoreThanItsLimit) {
  PoolAccount pool(10240);
  PoolBuffer a = pool.acquire(4096, PoolAccount::WhenFull::kGiveUp);
  PoolBuffer b = pool.acquire(6000, PoolAccount::WhenFull::kGiveUp);
  ASSERT_FALSE(a.empty());
  ASSERT_FALSE(b.empty());
  EXPECT_TRUE(pool.acquire(1, PoolAccount::WhenFull::kGiveUp).empty());
  EXPECT_LE(pool.in_use(), 10240U);
  b.release();
  EXPECT_FALSE(pool.acquire(1, PoolAccount::WhenFull::kGiveUp).empty());
  EXPECT_FALSE(pool.can_hold(10241));
  EXPECT_TRUE(pool.acquire(10241, PoolAccount::WhenFull::kWait).empty()) << "would wait for ever";
}

TEST(PoolAccount, GivesTheSameMemoryAgain) {
  PoolAccount pool(1 << 20);
  const void* first = pool.acquire(5000, PoolAccount::WhenFull::kGiveUp).data();
  EXPECT_EQ(pool.acquire(5000, PoolAccount::WhenFull::kGiveUp).data(), first);
}

TEST(PoolAccount, MakesRoomFromBuffersOfOtherSizes) {
  PoolAccount pool(1 << 16);
  for (uint64_t size = 1; size <= 1 << 16; size = size * 5 / 4 + 1) {
    if (!pool.can_hold(size)) continue;
    PoolBuffer buffer = pool.acquire(size, PoolAccount::WhenFull::kGiveUp);
    ASSERT_FALSE(buffer.empty()) << size;
    std::memset(buffer.data(), 0xAB, size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0U);
  }
  EXPECT_EQ(pool.in_use(), 0U);
}

TEST(PoolAccount, WakesThoseWhoWait) {
  PoolAccount pool(4096);
  std::atomic<int> got{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&pool, &got] {
      for (int i = 0; i < 200; ++i) got += pool.acquire(3000, PoolAccount::WhenFull::kWait).empty() ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(got.load(), 800);
}

TEST(PoolAccount, SharesThePoolAndWaitsForItsOwnBuffersOnly) {
  PoolAccount large(8192);
  PoolAccount small(4096);
  EXPECT_FALSE(small.can_hold(8192)) << "the limit is the account's, not the pool's";
  PoolBuffer held = large.acquire(6000, PoolAccount::WhenFull::kWait);
  ASSERT_FALSE(held.empty());
  EXPECT_TRUE(small.acquire(4000, PoolAccount::WhenFull::kWait).empty()) << "it has no buffer that could come back: it must not wait";
  PoolBuffer own = small.acquire(1000, PoolAccount::WhenFull::kWait);
  ASSERT_FALSE(own.empty());
  EXPECT_EQ(small.in_use(), 1024U);
  std::atomic<bool> returned{false};
  std::thread program([&] {
    const PoolBuffer buffer = small.acquire(4000, PoolAccount::WhenFull::kWait);
    EXPECT_TRUE(buffer.empty()) << "its own buffer is back, and the other account still has its one";
    returned = true;
  });
  own.release();
  program.join();
  EXPECT_TRUE(returned);
  held.release();
  EXPECT_FALSE(small.acquire(4000, PoolAccount::WhenFull::kGiveUp).empty());
  EXPECT_EQ(large.peak(), 6144U);
}

TEST(PoolAccount, ALimitGoesWithItsAccount) {
  PoolAccount small(2048);
  PoolAccount other(2048);
  {
    PoolAccount large(1 << 20);
    EXPECT_FALSE(large.acquire(1 << 19, PoolAccount::WhenFull::kGiveUp).empty());
  }
  PoolBuffer all = small.acquire(2048, PoolAccount::WhenFull::kGiveUp);
  ASSERT_FALSE(all.empty());
  EXPECT_TRUE(other.acquire(1, PoolAccount::WhenFull::kWait).empty()) << "the pool is as large as the largest account that is left";
}

}  // namespace
}  // namespace tensortap
