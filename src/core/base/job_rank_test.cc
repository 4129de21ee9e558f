#include "base/job_rank.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tensortap {
namespace {

TEST(JobRank, ComesFromTheVariablesOfTorchrunWhenTheyMakeSense) {
  EXPECT_EQ(job_rank().world_size, 1);
  struct Case {
    const char* rank;
    const char* world_size;
    int expected_rank;
    int expected_size;
  };
  for (const Case& one : {Case{"3", "8", 3, 8}, Case{"0", "2", 0, 2}, Case{"0", "1", 0, 1}, Case{"8", "8", 0, 1}, Case{"-1", "8", 0, 1},
                          Case{"x", "8", 0, 1}, Case{"1", "", 0, 1}, Case{"1", "99999999999999999999", 0, 1}}) {
    setenv("RANK", one.rank, 1);
    setenv("WORLD_SIZE", one.world_size, 1);
    EXPECT_EQ(job_rank().rank, one.expected_rank) << one.rank << " of " << one.world_size;
    EXPECT_EQ(job_rank().world_size, one.expected_size) << one.rank << " of " << one.world_size;
  }
  unsetenv("RANK");
  unsetenv("WORLD_SIZE");
}

}  // namespace
}  // namespace tensortap
