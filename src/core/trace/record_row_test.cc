#include "trace/record_row.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <set>
#include <vector>

namespace tensortap {
namespace {

uint32_t size_of(std::string_view numpy_type) { return static_cast<uint32_t>(numpy_type.back() - '0'); }

TEST(RecordRow, FieldsCoverEveryByteOnceInOrder) {
  uint32_t offset = 0;
  std::set<std::string_view> names;
  for (const RecordField& field : record_fields()) {
    EXPECT_EQ(field.offset, offset) << field.name;
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    const uint32_t size = size_of(field.numpy_type);
    EXPECT_EQ(field.offset % size, 0U) << field.name << " is not aligned";
    offset += size * field.count;
  }
  EXPECT_EQ(offset, sizeof(RecordRow));
}

TEST(RecordRow, KeepsADescription) {
  RecordRow row;
  row.set_desc({DType::kFloat16, Shape({2, 3, 5})});
  EXPECT_EQ(row.numel, 30U);
  EXPECT_EQ(row.bytes, 60U);
  EXPECT_EQ(row.desc().dtype, DType::kFloat16);
  EXPECT_EQ(row.desc().shape, Shape({2, 3, 5}));
  row.set_desc({DType::kInt4, Shape({3})});
  EXPECT_EQ(row.bytes, 2U);
  EXPECT_EQ(row.shape[1], 0);
}

TEST(RecordRow, KeepsThirtyTwoDimensions) {
  std::vector<int64_t> dims(32, 1);
  dims[0] = 3;
  dims[17] = 2;
  dims[31] = UINT32_MAX;
  RecordRow row;
  ASSERT_TRUE(RecordRow::holds(Shape(dims)));
  row.set_desc({DType::kInt8, Shape(dims)});
  EXPECT_EQ(row.desc().shape, Shape(dims));
  EXPECT_EQ(row.numel, uint64_t{6} * UINT32_MAX);
  dims[31] = int64_t{1} << 32;
  EXPECT_FALSE(RecordRow::holds(Shape(dims)));
  EXPECT_TRUE(RecordRow::holds(Shape(std::span(dims).last(16)))) << "sixteen may have any size";
  row.set_desc({DType::kInt8, Shape(dims)});
  EXPECT_EQ(row.desc().shape, Shape(std::span(dims).first(16)));
}

TEST(RecordRow, KeepsStridesOfWhatIsNotContiguous) {
  const std::vector<int64_t> transposed = {1, 0, -4};
  TensorView view{{DType::kFloat32, Shape({2, 3, 5})}, nullptr, transposed.data()};
  RecordRow row;
  row.set_desc(view.desc);
  row.set_strides(view);
  EXPECT_EQ(row.strided, static_cast<uint8_t>(Strided::kKept));
  EXPECT_EQ(std::vector<int64_t>(row.strides_of().begin(), row.strides_of().end()), transposed);
  const std::vector<int64_t> plain = {15, 5, 1};
  view.strides = plain.data();
  row.set_strides(view);
  EXPECT_EQ(row.strided, static_cast<uint8_t>(Strided::kNo));
  EXPECT_TRUE(row.strides_of().empty());
  EXPECT_EQ(row.strides[0], 0) << "nothing of an earlier tensor is left";
}

TEST(RecordRow, SaysWhatStridesItHasNoRoomFor) {
  const std::vector<int64_t> wide = {1, int64_t{1} << 31};
  RecordRow row;
  row.set_strides({{DType::kFloat32, Shape({2, 2})}, nullptr, wide.data()});
  EXPECT_EQ(row.strided, static_cast<uint8_t>(Strided::kNotKept));
  EXPECT_TRUE(row.strides_of().empty());
  const std::vector<int64_t> many(17, 3);
  const Shape shape(std::vector<int64_t>(17, 2));
  row.set_desc({DType::kInt8, shape});
  row.set_strides({{DType::kInt8, shape}, nullptr, many.data()});
  EXPECT_EQ(row.strided, static_cast<uint8_t>(Strided::kNotKept));
  row.strided = static_cast<uint8_t>(Strided::kKept);  // as in a file that claims it nevertheless
  EXPECT_TRUE(row.strides_of().empty());
}

TEST(RecordRow, HostileRowsGiveABoundedDescription) {
  RecordRow row;
  row.dims_count = 255;
  row.dtype = 200;
  EXPECT_EQ(row.desc().shape.rank(), kMaxRank);
  EXPECT_EQ(row.desc().dtype, DType::kUndefined);
}

TEST(SlotName, ReadsWhatItWrites) {
  for (const SlotKind kind : {SlotKind::kOutput, SlotKind::kInput, SlotKind::kWeight, SlotKind::kGradient}) {
    SlotKind found = SlotKind::kOutput;
    uint32_t index = 0;
    ASSERT_TRUE(parse_slot(slot_name(kind, 17), found, index));
    EXPECT_EQ(found, kind);
    EXPECT_EQ(index, 17U);
  }
  SlotKind kind{};
  uint32_t index = 0;
  for (const char* text : {"", "out", "out-1", "out01", "out+1", "out65536", "Out0", "inn0", "0", "weight:a"}) {
    EXPECT_FALSE(parse_slot(text, kind, index)) << text;
  }
}

TEST(RecordName, IsShortForTheFirstStepAndCall) {
  RecordRow row;
  EXPECT_EQ(record_name(row, "/conv/Conv"), "/conv/Conv:out0");
  row.step = 3;
  row.call = 2;
  row.element = 1;
  row.slot_kind = static_cast<uint8_t>(SlotKind::kInput);
  row.slot_index = 4;
  EXPECT_EQ(record_name(row, "/conv/Conv"), "/conv/Conv:in4@3#2[1]");
}

TEST(RecordName, SplitsFromTheRightAndOnlyAnExactSuffix) {
  RecordKey key;
  ASSERT_TRUE(parse_record_name("a:out0@1:out2@3", key));
  EXPECT_EQ(key.op, "a:out0@1");
  EXPECT_EQ(key.slot_index, 2U);
  EXPECT_EQ(key.step, 3);
  for (const char* text : {"conv", "conv@3", "conv#2", "conv[1]", "conv:zero0", "conv:out0@", "conv:out0@03", "conv:out0#1@2", "a:b:c"}) {
    key = {};
    ASSERT_TRUE(parse_record_name(text, key)) << text;
    EXPECT_EQ(key.op, text);
    EXPECT_EQ(key.step, 0);
  }
  EXPECT_FALSE(parse_record_name("", key));
  EXPECT_FALSE(parse_record_name(":out0", key));
}

TEST(RecordName, TakesAWeightByItsName) {
  RecordKey key;
  ASSERT_TRUE(parse_record_name("weight:conv1:w@x", key));
  EXPECT_EQ(key.weight, "conv1:w@x");
  key = {};
  ASSERT_TRUE(parse_record_name("/conv:weight:W", key));
  EXPECT_EQ(key.op, "/conv");
  EXPECT_EQ(key.weight, "W");
  EXPECT_FALSE(parse_record_name("weight:", key));
}

RC_GTEST_PROP(RecordName, AnyOpNameComesBack, (std::string name, uint16_t slot, int64_t step, uint32_t call)) {
  RC_PRE(!name.empty());
  RecordRow row;
  row.slot_kind = static_cast<uint8_t>(*rc::gen::inRange(0, 4));
  row.slot_index = slot;
  row.step = step;
  row.call = call;
  row.element = *rc::gen::inRange(-1, 100);
  RecordKey key;
  RC_ASSERT(parse_record_name(record_name(row, name), key));
  RC_ASSERT(key.op == name);
  RC_ASSERT(static_cast<uint8_t>(key.slot_kind) == row.slot_kind);
  RC_ASSERT(key.slot_index == slot);
  RC_ASSERT(key.step == step);
  RC_ASSERT(key.call == call);
  RC_ASSERT(key.element == row.element);
}

}  // namespace
}  // namespace tensortap
