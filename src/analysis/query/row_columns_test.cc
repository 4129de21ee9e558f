#include "query/row_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/json.h"
#include "query/query_dump.h"
#include "query/record_json.h"

namespace tensortap {
namespace {

TEST(RowColumns, NamesAreUniqueAndFound) {
  std::set<std::string_view> names;
  for (const RowColumn& column : row_columns()) {
    EXPECT_TRUE(names.insert(column.name).second) << column.name;
    EXPECT_EQ(find_column(column.name), &column);
    EXPECT_EQ((column.uses & kColumnIfSet) != 0, column.is_set != nullptr) << column.name;
  }
  EXPECT_EQ(find_column("nothing"), nullptr);
}

// The kind of a column determines which alternatives its values may have.
TEST(RowColumns, ValuesAreOfTheirKind) {
  const QueryDump dump;
  for (const RowColumn& column : row_columns()) {
    for (size_t row = 0; row < dump.all_rows.size(); ++row) {
      const RowValue value = column_value(column, dump, row);
      if (std::holds_alternative<std::monostate>(value)) continue;
      EXPECT_EQ(std::holds_alternative<std::string>(value), column.kind == ColumnKind::kText) << column.name;
      EXPECT_EQ(std::holds_alternative<bool>(value), column.kind == ColumnKind::kFlag) << column.name;
      EXPECT_EQ(std::holds_alternative<std::vector<int64_t>>(value), column.kind == ColumnKind::kSizes) << column.name;
    }
  }
}

TEST(RowColumns, WhatWasNotMeasuredHasNoValue) {
  QueryDump dump;
  EXPECT_EQ(number_of(column_value(*find_column("range"), dump, 0)), 2.5);
  dump.all_rows[0].stats.valid = kStatMax;
  EXPECT_TRUE(std::holds_alternative<std::monostate>(column_value(*find_column("range"), dump, 0)));
  EXPECT_TRUE(std::isnan(number_of(column_value(*find_column("range"), dump, 0))));
}

TEST(RecordJson, HasTheKeysAndIsStrict) {
  QueryDump dump;
  RecordRow& row = dump.all_rows[0];
  row.stats.max = std::numeric_limits<double>::infinity();
  row.stats.pos_inf = 1;
  row.stats.valid |= kStatNan | kStatPosInf;
  row.digest_kind = 1;
  row.digest[0] = 0xab;
  dump.set_data(0, std::vector<float>{-1.5F, 0});
  EXPECT_EQ(
      to_json_text(record_json(dump, 0)),
      R"({"row":0,"step":0,"call":0,"rank":0,"phase":"inference","op":"block.conv","type":"Conv","slot":"in0","dtype":"float32","shape":[1,2],)"
      R"("numel":2,"min":-1.5,"max":"inf","mean":null,"std":null,"l2":null,"absmax":null,"nan":0,"pos_inf":1,"neg_inf":null,"zero":null,)"
      R"("hash":"xxh3:ab000000000000000000000000000000","file":"tensors.npz","source":"train.py:41"})");
  row.digest_kind = 200;
  EXPECT_TRUE(record_json(dump, 0)["hash"].is_null());
}

TEST(RecordJson, TellsApartWhatNeedsIt) {
  QueryDump dump;
  RecordRow& row = dump.all_rows[6];
  row.set_desc({DType::kUInt64, {1}});
  row.stats.max_integer = -1;
  row.stats.count = 1;
  row.stats.valid = kStatMax;
  row.moment = static_cast<uint8_t>(Moment::kBefore);
  row.flags = kRecordUnwritten | kRecordFailedOp;
  row.storage = 7;
  const Json json = record_json(dump, 6);
  EXPECT_EQ(json["max"], 18446744073709551615U);
  EXPECT_EQ(json["element"], 2);
  EXPECT_EQ(json["moment"], "before");
  EXPECT_EQ(json["unwritten"], true);
  EXPECT_EQ(json["failed_op"], true);
  EXPECT_EQ(json["storage"], 7);
  EXPECT_EQ(json["version"], 0);
  EXPECT_TRUE(json["file"].is_null());
}

}  // namespace
}  // namespace tensortap
