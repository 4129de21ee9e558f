// What a portable build brings along for an old glibc answers as the young glibc of this machine does.

#include <gtest/gtest.h>
#include <pthread.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ctime>

extern "C" {
#define sigabbrev_np abbreviation_before
#define pthread_cond_clockwait clockwait_before
#define arc4random random_before
#define __libc_single_threaded single_threaded_before  // NOLINT: the name that is replaced
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#include "portable/glibc_before.c"
#pragma GCC diagnostic pop
#undef __libc_single_threaded
#undef arc4random
#undef pthread_cond_clockwait
#undef sigabbrev_np
}

namespace {

TEST(GlibcBefore, NamesTheSignalsThatHaveOne) {
  for (int number = -1; number < 80; ++number) EXPECT_STREQ(abbreviation_before(number), sigabbrev_np(number)) << number;
}

constexpr int64_t kSecond = 1000000000;

timespec from_now(clockid_t clock, int64_t nanoseconds) {
  timespec now{};
  clock_gettime(clock, &now);
  const int64_t until = now.tv_sec * kSecond + now.tv_nsec + nanoseconds;
  return {until / kSecond, until % kSecond};
}

class Waiting : public testing::Test {
 protected:
  int wait(clockid_t clock, const timespec& until) {
    pthread_mutex_lock(&mutex_);
    const int result = clockwait_before(&condition_, &mutex_, clock, &until);
    pthread_mutex_unlock(&mutex_);
    return result;
  }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition_ = PTHREAD_COND_INITIALIZER;
};

TEST_F(Waiting, EndsAtTheTimeOfEitherClock) {
  constexpr int64_t kMillisecond = 1000000;
  for (const clockid_t clock : {CLOCK_MONOTONIC, CLOCK_REALTIME}) {
    for (const int64_t left : {-5 * kSecond, int64_t{0}, 20 * kMillisecond, kSecond + 100 * kMillisecond}) {
      const timespec until = from_now(clock, left);
      EXPECT_EQ(wait(clock, until), ETIMEDOUT) << left;
      // The two clocks are read one after the other, so the end may be early by the time between.
      const timespec now = from_now(clock, 10 * kMillisecond);
      EXPECT_TRUE(now.tv_sec > until.tv_sec || (now.tv_sec == until.tv_sec && now.tv_nsec >= until.tv_nsec)) << left;
    }
  }
}

TEST_F(Waiting, OnAnotherClockIsRefusedAsTheYoungOneDoes) { EXPECT_EQ(wait(CLOCK_PROCESS_CPUTIME_ID, timespec{}), EINVAL); }

TEST(GlibcBefore, DrawsEveryBitAtRandom) {
  unsigned ever = 0;
  unsigned always = ~0U;
  for (int i = 0; i < 200; ++i) {  // a bit that never changes among 200 draws has a chance of 2 to the power of -199
    const unsigned drawn = random_before();
    ever |= drawn;
    always &= drawn;
  }
  EXPECT_EQ(ever, ~0U);
  EXPECT_EQ(always, 0U);
}

TEST(GlibcBefore, TakesAProcessToHaveThreads) { EXPECT_EQ(single_threaded_before, 0); }

}  // namespace
