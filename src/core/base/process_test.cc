#include "base/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tensortap {
namespace {

TEST(Processes, KnowThemselvesAndTheirParents) {
  const ProcessIdentity own = own_process();
  EXPECT_EQ(own.number, static_cast<uint64_t>(getpid()));
  EXPECT_GT(own.start, 0U);
  EXPECT_TRUE(is_running(own));
  const auto facts = process_facts(own.number);
  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(facts->parent, static_cast<uint64_t>(getppid()));
  EXPECT_EQ(facts->owner, geteuid());
  EXPECT_FALSE(facts->ended);
}

TEST(Processes, OneThatGotTheNumberOfAnotherIsNotTakenForIt) {
  ProcessIdentity former = own_process();
  former.start -= 1;
  EXPECT_FALSE(is_running(former));
}

TEST(Processes, HaveEndedBeforeAnybodyWaitsForThem) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  ProcessIdentity ended{static_cast<uint64_t>(child), 0, own_process().space};
  EXPECT_FALSE(is_running(ended));
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(is_running(ended));
  EXPECT_FALSE(process_facts(ended.number).has_value());
}

TEST(Processes, OfAnotherContainerCountAsRunning) {
  EXPECT_TRUE(is_running({999'999'999, 1, "pid:[1]"}));
  EXPECT_FALSE(is_running({999'999'999, 1, own_process().space}));
}

}  // namespace
}  // namespace tensortap
