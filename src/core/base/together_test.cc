#include "base/together.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace tensortap {
namespace {

TEST(Together, RunsEachTaskOnce) {
  for (const size_t count : {0U, 1U, 2U, 1000U}) {
    std::vector<std::atomic<int>> ran(count);
    for_each_together(
        count, [&](size_t i) { ++ran[i]; }, 4);
    for (const std::atomic<int>& one : ran) EXPECT_EQ(one, 1);
  }
}

TEST(Together, OneAtATimeIsInOrderOnTheCallersThread) {
  std::vector<size_t> order;
  for_each_together(
      5,
      [&, caller = std::this_thread::get_id()](size_t i) {
        EXPECT_EQ(std::this_thread::get_id(), caller);
        order.push_back(i);
      },
      1);
  EXPECT_EQ(order, (std::vector<size_t>{0, 1, 2, 3, 4}));
}

TEST(Together, AnExceptionOfAnyTaskReachesTheCaller) {
  for (size_t thrown = 0; thrown < 4; ++thrown) {
    std::atomic<size_t> begun{0};
    const auto task = [&](size_t i) {
      ++begun;
      if (i == thrown) throw std::runtime_error("no memory");
    };
    EXPECT_THROW(for_each_together(100000, task, 4), std::runtime_error);
    EXPECT_LT(begun, 100000U) << "no further task begins";
  }
}

}  // namespace
}  // namespace tensortap
