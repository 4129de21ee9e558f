#include "session/session_problems.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "layout/dump_room.h"

namespace tensortap {
namespace {

TEST(SessionProblems, KeepsTheFirstErrorAndEachSentenceOnce) {
  SessionProblems problems;
  problems.note_failure(unsupported("no place"));
  EXPECT_TRUE(problems.first_error().ok()) << "a record without a place is no error";
  problems.note_failure(io_error("disk"));
  problems.note_error(io_error("disk"));
  problems.note_error(io_error("another"));
  problems.note_error(Status());
  EXPECT_EQ(problems.first_error().message(), "disk");
  EXPECT_EQ(problems.sentences(), (std::vector<std::string>{"no place", "disk", "another"}));
  EXPECT_TRUE(problems.is_on());
}

TEST(SessionProblems, KeepsAHundredSentences) {
  SessionProblems problems;
  for (int i = 0; i < 200; ++i) problems.note_problem(io_error(concat("problem ", i)));
  EXPECT_EQ(problems.sentences().size(), 100U);
}

TEST(SessionProblems, FailsOnceAndForGood) {
  SessionProblems problems;
  problems.switch_off(SessionProblems::kDisabled);
  EXPECT_FALSE(problems.is_on());
  problems.switch_on(SessionProblems::kDisabled);
  EXPECT_TRUE(problems.is_on());
  EXPECT_FALSE(problems.is_off_for(SessionProblems::kOffForGood));
  problems.fail("first");
  problems.fail("second");
  problems.switch_on(SessionProblems::kDisabled);
  EXPECT_FALSE(problems.is_on());
  EXPECT_TRUE(problems.is_off_for(SessionProblems::kOffForGood));
  EXPECT_EQ(problems.sentences(), std::vector<std::string>{"first"});
  EXPECT_EQ(problems.first_error().code(), StatusCode::kInternal);
}

}  // namespace
}  // namespace tensortap
