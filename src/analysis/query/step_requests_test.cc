#include "query/step_requests.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "trace/vector_dump_index.h"

namespace tensortap {
namespace {

// A dump with this file, or without it.
class TellingDump : public VectorDumpIndex {
 public:
  explicit TellingDump(std::optional<std::string> requests) : requests_(std::move(requests)) {}
  [[nodiscard]] Result<std::string> document(std::string_view name) const override {
    return requests_ && name == "requests.jsonl" ? Result<std::string>(*requests_) : VectorDumpIndex::document(name);
  }

 private:
  std::optional<std::string> requests_;
};

StepRequests mixed() { return {4, ModelPhase::kPrefill, 8, {{"a", 0, 1, 9, 5, 0}, {"b", 1, 5, 0, 5, 0}}}; }

TEST(Requests, OfADumpWithoutThemAreNone) {
  const auto file = read_requests(TellingDump(std::nullopt));
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->steps.empty());
  EXPECT_EQ(file->unreadable, 0U);
}

TEST(Requests, AreReadLineByLine) {
  const TellingDump dump(
      "{\"step\":4,\"model_phase\":\"decode\",\"rows\":2,\"requests\":[{\"id\":\"a\",\"first_row\":0,\"rows\":1,\"position\":9,\"prompt\":"
      "5}]}\n"
      "[]\n{\"step\":\"x\"}\n{\"step\":5,\"requests\":[7]}\n{\"step\":6,\"requ");
  const auto file = read_requests(dump);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->unreadable, 3U);
  ASSERT_EQ(file->steps.size(), 2U);
  EXPECT_EQ(file->steps[0].step, 4);
  EXPECT_EQ(file->steps[0].phase, ModelPhase::kDecode);
  EXPECT_EQ(file->steps[0].rows, 2U);
  EXPECT_EQ(file->steps[0].requests[0].id, "a");
  EXPECT_EQ(file->steps[0].requests[0].position, 9U);
  EXPECT_EQ(file->steps[1].requests[0].id, "") << "what is no object says nothing";
}

TEST(Requests, HaveTheRowsOfTheirTokens) {
  const auto rows = rows_of_request(mixed(), "b", std::array<int64_t, 2>{8, 128});
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows->first, 1U);
  EXPECT_EQ(rows->count, 5U) << "the last two rows belong to none";
}

TEST(Requests, HaveARowOfWhatHasOneForEach) {
  const auto rows = rows_of_request(mixed(), "b", std::array<int64_t, 2>{2, 128});
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows->first, 1U);
  EXPECT_EQ(rows->count, 1U);
  StepRequests guessing = mixed();
  guessing.requests[0].drafts = 1;
  EXPECT_FALSE(rows_of_request(guessing, "b", std::array<int64_t, 2>{2, 128}).ok()) << "a request has several rows of logits then";
}

TEST(Requests, HaveNoRowsOfOtherTensors) {
  EXPECT_EQ(rows_of_request(mixed(), "b", std::array<int64_t, 1>{7}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(rows_of_request(mixed(), "b", {}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(rows_of_request(mixed(), "c", std::array<int64_t, 1>{8}).status().code(), StatusCode::kNotFound);
}

TEST(Requests, OfADamagedFileDoNotReachBeyondTheTensor) {
  StepRequests wrong = mixed();
  wrong.requests[1].rows = UINT64_MAX;
  EXPECT_FALSE(rows_of_request(wrong, "b", std::array<int64_t, 1>{8}).ok());
  wrong.requests[1] = {"b", 9, 1, 0, 0, 0};
  EXPECT_FALSE(rows_of_request(wrong, "b", std::array<int64_t, 1>{8}).ok());
}

}  // namespace
}  // namespace tensortap
