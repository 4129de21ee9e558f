#include "query/record_lookup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "query/query_dump.h"

namespace tensortap {
namespace {

using ::testing::ElementsAre;

// a -> b, both called once in each of two steps; the records of step 1 come first.
struct TwoSteps : VectorDumpIndex {
  TwoSteps() {
    add_op(QueryDump::op("a", "A"));
    add_op(QueryDump::op("b", "B"));
    all_ops[0].outputs = {"x"};
    all_ops[1].inputs = {{"x", kNoOp, 0}};
    for (const int64_t step : {1, 0}) {
      add(QueryDump::record(0, step, SlotKind::kOutput, 0));
      add(QueryDump::record(1, step, SlotKind::kOutput, 0));
    }
    const uint64_t in_time[] = {2, 3, 0, 1};
    for (size_t row = 0; row < 4; ++row) all_rows[row].sequence = in_time[row];
  }
};

TEST(RowsInTimeOrder, GoBySequence) { EXPECT_THAT(rows_in_time_order(TwoSteps()), ElementsAre(2, 3, 0, 1)); }

TEST(RecordLookup, FindsWhatAnOpReadInItsStep) {
  const TwoSteps dump;
  const OpFactsTable facts(dump);
  const RecordLookup lookup(dump, facts);
  ASSERT_EQ(lookup.reads_of(1).size(), 1U);
  EXPECT_EQ(lookup.reads_of(1)[0].value, "x");
  EXPECT_EQ(lookup.reads_of(1)[0].row, 0U);
  EXPECT_EQ(lookup.reads_of(3)[0].row, 2U);
  EXPECT_FALSE(lookup.knows_memory());
}

TEST(RecordLookup, FindsTheWriterOfAContentByItsMemory) {
  QueryDump dump;
  for (const size_t row : {1U, 4U}) {
    dump.all_rows[row].storage = 9;
    dump.all_rows[row].version = 3;
  }
  const OpFactsTable facts(dump);
  const RecordLookup lookup(dump, facts);
  EXPECT_TRUE(lookup.knows_memory());
  EXPECT_EQ(lookup.writer_of(4), 1U);
  EXPECT_EQ(lookup.writer_of(1), std::nullopt) << "what wrote it is not before itself";
  EXPECT_EQ(lookup.writer_of(0), std::nullopt) << "its memory is not known";
}

}  // namespace
}  // namespace tensortap
