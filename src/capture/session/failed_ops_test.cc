#include "session/failed_ops.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/json.h"
#include "session/fake_layout.h"

namespace tensortap {
namespace {

OpInfo op_info() {
  OpInfo op;
  op.name = "layer/matmul";
  op.type = "MatMul";
  op.attributes = R"({"transB": 1})";
  op.source_location = "train.py:7";
  return op;
}

Json report_of(ExceptionDetail detail) {
  FailedOps failed;
  FakeEvent event(0, {1, 2, 3});
  event.tensor.slot_kind = TENSORTAP_SLOT_INPUT;
  RecordRow row;
  row.step = 4;
  failed.add(event.event, row, op_info(), "shapes differ", detail);
  return failed.report();
}

TEST(FailedOps, SaysNothingOfAProgramThatWorks) {
  const Json report = FailedOps().report();
  EXPECT_TRUE(report["failed_op"].is_null());
  EXPECT_EQ(report["failed_ops"], 0);
}

void fail(FailedOps& failed, const char* error, const char* line = "train.py:7") {
  OpInfo op = op_info();
  op.source_location = line;
  const FakeEvent event(0, {1});
  failed.add(event.event, RecordRow{}, op, error, ExceptionDetail::kBrief);
}

TEST(FailedOps, DescribesTheFirstOfThoseThatWereCaughtAndCountsAll) {
  FailedOps failed;
  for (const char* error : {"first", "second", "third"}) {
    fail(failed, error);
    failed.caught();
  }
  EXPECT_EQ(failed.report()["failed_op"]["error"], "first");
  EXPECT_EQ(failed.report()["failed_op"]["caught"], true);
  EXPECT_EQ(failed.report()["failed_ops"], 3);
}

TEST(FailedOps, DescribesTheOneAfterWhichNothingMoreRan) {
  FailedOps failed;
  fail(failed, "probe");
  failed.caught();
  fail(failed, "last");
  EXPECT_EQ(failed.report()["failed_op"]["error"], "last");
  EXPECT_EQ(failed.report()["failed_op"]["caught"], false);
  std::thread([&failed] { failed.caught(); }).join();
  EXPECT_EQ(failed.report()["failed_op"]["caught"], false) << "another thread goes on in any case";
}

TEST(FailedOps, DescribesTheOneWhoseExceptionEndedTheProgram) {
  FailedOps failed;
  fail(failed, "ended", "train.py:7");
  failed.caught();
  fail(failed, "of the clean-up", "train.py:9");
  failed.caught();
  EXPECT_FALSE(failed.program_raised("ValueError: of no op", {"train.py:1"}));
  EXPECT_EQ(failed.report()["failed_op"]["caught"], true);
  EXPECT_TRUE(failed.program_raised("IndexError: index 5", {"train.py:7", "train.py:20"}));
  EXPECT_EQ(failed.report()["failed_op"]["error"], "ended");
  EXPECT_EQ(failed.report()["failed_op"]["caught"], false);
  EXPECT_EQ(failed.report()["failed_op"]["exception"], "IndexError: index 5");
}

TEST(FailedOps, SaysAsMuchAsWasAskedFor) {
  const Json brief = report_of(ExceptionDetail::kBrief)["failed_op"];
  EXPECT_EQ(brief["name"], "layer/matmul");
  EXPECT_EQ(brief["step"], 4);
  EXPECT_EQ(brief["source"], "train.py:7");
  EXPECT_TRUE(brief["module"].is_null());
  ASSERT_EQ(brief["inputs"].size(), 1U);
  EXPECT_FALSE(brief.contains("tensors"));

  const Json normal = report_of(ExceptionDetail::kNorm)["failed_op"];
  EXPECT_EQ(normal["attributes"], Json::parse(R"({"transB": 1})"));
  EXPECT_EQ(normal["tensors"], Json::parse(R"([{"slot": "in0", "dtype": "float32", "shape": [3]}])"));
  EXPECT_FALSE(normal.contains("stack"));

  const Json detail = report_of(ExceptionDetail::kDetail)["failed_op"];
  EXPECT_FALSE(detail["stack"].empty());
  EXPECT_FALSE(detail["registers"].empty());
}

TEST(FailedOps, KeepsNothingOfAttributesThatAreNotJson) {
  FailedOps failed;
  const FakeEvent event(0, {1});
  OpInfo op = op_info();
  op.attributes = "{broken";
  failed.add(event.event, RecordRow{}, op, "e", ExceptionDetail::kNorm);
  EXPECT_TRUE(failed.report()["failed_op"]["attributes"].is_null());
}

}  // namespace
}  // namespace tensortap
