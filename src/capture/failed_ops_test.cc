#include "capture/failed_ops.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "capture/fake_layout.h"

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

TEST(FailedOps, DescribesTheFirstAndCountsAll) {
  FailedOps failed;
  const FakeEvent event(0, {1});
  for (const char* error : {"first", "second", "third"}) failed.add(event.event, RecordRow{}, op_info(), error, ExceptionDetail::kBrief);
  EXPECT_EQ(failed.report()["failed_op"]["error"], "first");
  EXPECT_EQ(failed.report()["failed_ops"], 3);
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
