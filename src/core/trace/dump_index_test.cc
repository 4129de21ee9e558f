#include "trace/dump_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensortap {
namespace {

using testing::HasSubstr;

class FakeDump;
void fill(FakeDump& dump);

class FakeDump : public DumpIndex {
 public:
  FakeDump() { fill(*this); }
  std::string_view layout() const override { return "fake"; }
  std::span<const RecordRow> rows() const override { return rows_; }
  std::span<const OpInfo> ops() const override { return ops_; }
  Result<RecordData> data(size_t /*row*/) const override { return not_found("none"); }
  std::string file(size_t /*row*/) const override { return ""; }
  std::string manifest() const override { return "{}"; }
  std::span<const std::string> problems() const override { return {}; }
  std::vector<uint64_t> histogram(size_t /*row*/) const override { return {}; }

  void add(OpId op, SlotKind kind, uint16_t slot, int64_t step, uint32_t call) {
    RecordRow row;
    row.op = op;
    row.slot_kind = static_cast<uint8_t>(kind);
    row.slot_index = slot;
    row.step = step;
    row.call = call;
    rows_.push_back(row);
  }

  std::vector<OpInfo> ops_;
  std::vector<RecordRow> rows_;
};

// x -> split -> (out0, out1) -> conv (with the weight w); `body` is in a nested graph and reads split's out0.
void fill(FakeDump& dump) {
  dump.ops_.resize(4);
  dump.ops_[0].name = "w";
  dump.ops_[0].type = kInitializerType;
  dump.ops_[0].outputs = {"conv1.weight"};
  dump.ops_[1].name = "split";
  dump.ops_[2].name = "conv";
  dump.ops_[2].inputs = {{"s1", 1, 1}, {"conv1.weight", 0, 0}, {"", kNoOp, 0}};
  dump.ops_[3].name = "body";
  dump.ops_[3].graph = "loop/body";
  dump.ops_[3].inputs = {{"s0", 1, 0}};
  dump.add(0, SlotKind::kOutput, 0, 0, 0);  // 0
  for (const int64_t step : {0, 1}) {       // 1..6
    dump.add(1, SlotKind::kOutput, 0, step, 0);
    dump.add(1, SlotKind::kOutput, 1, step, 0);
    dump.add(2, SlotKind::kOutput, 0, step, 0);
  }
}

size_t find(const DumpIndex& dump, std::string_view name) {
  RecordKey key;
  EXPECT_TRUE(parse_record_name(name, key));
  const Result<size_t> row = find_record(dump, key);
  EXPECT_TRUE(row.ok()) << row.status().message();
  return row.ok() ? *row : 999;
}

std::string failure(const DumpIndex& dump, std::string_view name) {
  RecordKey key;
  EXPECT_TRUE(parse_record_name(name, key));
  const Result<size_t> row = find_record(dump, key);
  EXPECT_EQ(row.status().code(), StatusCode::kNotFound);
  return row.status().message();
}

TEST(FindRecord, FindsOutputsByStep) {
  const FakeDump dump;
  EXPECT_EQ(find(dump, "conv"), 3U);
  EXPECT_EQ(find(dump, "split:out1@1"), 5U);
}

TEST(FindRecord, ResolvesAnInputToItsProducersOutput) {
  const FakeDump dump;
  EXPECT_EQ(find(dump, "conv:in0"), 2U);
  EXPECT_EQ(find(dump, "conv:in0@1"), 5U);
}

TEST(FindRecord, ResolvesWeightsOfAnyStep) {
  const FakeDump dump;
  EXPECT_EQ(find(dump, "conv:in1@1"), 0U);
  EXPECT_EQ(find(dump, "weight:conv1.weight"), 0U);
  EXPECT_EQ(find(dump, "conv:weight:w"), 0U);
}

TEST(FindRecord, ResolvesValuesFromAroundANestedGraphInAnyCall) {
  const FakeDump dump;
  EXPECT_EQ(find(dump, "body:in0@1#7"), 4U);
}

TEST(FindRecord, PrefersTheInputThatWasRecordedItself) {
  FakeDump dump;
  dump.add(2, SlotKind::kInput, 0, 0, 0);
  EXPECT_EQ(find(dump, "conv:in0"), 7U);
}

TEST(FindRecord, PrefersTheRecordMadeAfterTheOp) {
  FakeDump dump;
  dump.rows_[3].moment = static_cast<uint8_t>(Moment::kBefore);
  dump.add(2, SlotKind::kOutput, 0, 0, 0);
  EXPECT_EQ(find(dump, "conv"), 7U);
}

TEST(FindRecord, SaysWhatIsNearWhenThereIsNothing) {
  const FakeDump dump;
  EXPECT_THAT(failure(dump, "konv"), HasSubstr("Did you mean \"conv\"?"));
  EXPECT_THAT(failure(dump, "conv:out0@5"), HasSubstr("the op has \"conv:out0\", \"conv:out0@1\""));
  EXPECT_THAT(failure(dump, "conv:in2"), HasSubstr("conv:in2"));
  EXPECT_THAT(failure(dump, "weight:conv"), HasSubstr("no weight called \"conv\""));
  EXPECT_THAT(failure(dump, "body"), HasSubstr("nothing of this op was kept"));
}

TEST(OpOf, GivesAnEmptyOpForNumbersOutOfRange) {
  const FakeDump dump;
  RecordRow row;
  row.op = 77;
  EXPECT_EQ(op_of(dump, row).name, "");
  row.op = 2;
  EXPECT_EQ(op_of(dump, row).name, "conv");
}

}  // namespace
}  // namespace tensortap
